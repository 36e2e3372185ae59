package config

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// KeyError is one thing that is wrong, in one line that says what to do. It
// holds no value of any key.
type KeyError struct {
	Keys []string // the keys that take part in it, the guilty one first
	Text string   // the line
}

// Error returns the line.
func (p *KeyError) Error() string { return p.Text }

// problems collects what is wrong, so that they can be corrected at once.
type problems []*KeyError

// add adds a problem of the given keys.
func (ps *problems) add(text string, keys ...string) {
	*ps = append(*ps, &KeyError{Keys: keys, Text: text})
}

// about reports whether any problem so far touches one of the keys.
func (ps problems) about(keys []string) bool {
	return slices.ContainsFunc(ps, func(p *KeyError) bool {
		return slices.ContainsFunc(p.Keys, func(k string) bool { return slices.Contains(keys, k) })
	})
}

// err joins the problems, one a line, or returns nil if there are none.
func (ps problems) err() error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = p
	}
	return errors.Join(errs...)
}

// shown returns a name from a file or the environment as it is safe to print on a
// terminal: quoted, without control characters, cut when it is long.
func shown(name string) string {
	const longest = 60
	if utf8.RuneCountInString(name) > longest {
		name = string([]rune(name)[:longest]) + "…"
	}
	return strconv.Quote(strings.ToValidUTF8(name, "?"))
}
