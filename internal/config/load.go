package config

import (
	"reflect"
	"strings"
)

// Load reads the defaults, then the file at path if there is a path, then the
// SECKILL_ variables among environ (in the form of os.Environ), and validates
// the result.
//
// The error joins everything that is wrong, each a *KeyError of one line. The
// Config returned with an error is not to be used.
func Load(path string, environ []string) (Config, error) {
	return load(path, environ, Config.problems)
}

// LoadDatabase reads what Load reads, for a program that uses only the database. It validates no key of Redis, of the
// API or of the order path, except for its range.
func LoadDatabase(path string, environ []string) (Config, error) {
	return load(path, environ, Config.databaseProblems)
}

func load(path string, environ []string, validate func(Config) problems) (Config, error) {
	c := Default()
	var wrong problems
	if path != "" {
		content, err := readFile(path)
		if err != nil {
			return Config{}, err
		}
		if err := (file{path: path, into: &c, wrong: &wrong}).read(content); err != nil {
			return Config{}, err
		}
	}
	v := variables{into: &c, wrong: &wrong}
	v.read(environ)

	// A key that could not be read kept its default. A complaint
	// about that default would only confuse.
	for _, p := range validate(c) {
		if !wrong.about(p.Keys) {
			if name := variable(p.Keys[0]); v.set[name] && isLimit(p) {
				p.Text = name + ": " + p.Text
			}
			wrong = append(wrong, p)
		}
	}
	return c, wrong.err()
}

// isLimit reports whether p is about the words or the range of one key.
func isLimit(p *KeyError) bool {
	return strings.HasPrefix(p.Text, p.Keys[0]+" must be one of ") || strings.HasPrefix(p.Text, p.Keys[0]+" must be from ")
}

// set sets the key's field of c to a value that convert returned.
func (k Key) set(c *Config, value any) {
	reflect.ValueOf(c).Elem().FieldByIndex(k.index).Set(reflect.ValueOf(value))
}
