package config

import "reflect"

// Load reads the defaults, then the file at path if there is a path, then the
// SECKILL_ variables among environ (in the form of os.Environ), and validates
// the result.
//
// The error joins everything that is wrong, each a *KeyError of one line. The
// Config returned with an error is not to be used.
func Load(path string, environ []string) (Config, error) {
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
	(&variables{into: &c, wrong: &wrong}).read(environ)

	// A key that could not be read kept its default. What Validate would report
	// about that default would only confuse.
	for _, p := range c.problems() {
		if !wrong.about(p.Keys) {
			wrong = append(wrong, p)
		}
	}
	return c, wrong.err()
}

// set sets the key's field of c to a value that convert returned.
func (k Key) set(c *Config, value any) {
	reflect.ValueOf(c).Elem().FieldByIndex(k.index).Set(reflect.ValueOf(value))
}
