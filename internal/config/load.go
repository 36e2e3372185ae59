package config

import (
	"fmt"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/rawbytes"
	"github.com/knadh/koanf/providers/structs"
	"github.com/knadh/koanf/v2"
)

// Load reads the defaults, then the file at path if there is a path, then the
// SECKILL_ variables among environ (in the form of os.Environ), and validates
// the result.
//
// The error joins everything that is wrong, each a *KeyError of one line. The
// Config returned with an error is not to be used.
func Load(path string, environ []string) (Config, error) {
	var wrong problems
	k := koanf.New(".")
	if err := k.Load(structs.Provider(Default(), "koanf"), nil); err != nil {
		return Config{}, fmt.Errorf("read the defaults: %w", err)
	}
	if path != "" {
		content, err := readFile(path)
		if err != nil {
			return Config{}, err
		}
		if err := k.Load(rawbytes.Provider(content), fileParser{path: path, wrong: &wrong}); err != nil {
			return Config{}, err //nolint:wrapcheck // it is our own parser's, and whole
		}
	}
	vars := &variables{wrong: &wrong}
	provider := env.Provider(".", env.Opt{
		Prefix:        Prefix,
		TransformFunc: vars.take,
		EnvironFunc:   func() []string { return environ },
	})
	if err := k.Load(provider, nil); err != nil {
		return Config{}, fmt.Errorf("read the environment: %w", err)
	}

	var c Config
	// Every value has its field's type by now, so nothing is bent to fit.
	strict := &mapstructure.DecoderConfig{ErrorUnused: true}
	if err := k.UnmarshalWithConf("", &c, koanf.UnmarshalConf{DecoderConfig: strict}); err != nil {
		return Config{}, fmt.Errorf("decode the configuration: %w", err)
	}
	c.AllowUnsafeLock = vars.allowUnsafeLock

	// A key that could not be read kept its default. What Validate would say
	// about that would only confuse.
	for _, p := range c.problems() {
		if !wrong.about(p.Keys) {
			wrong = append(wrong, p)
		}
	}
	return c, wrong.err()
}
