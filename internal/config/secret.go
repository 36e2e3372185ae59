package config

import (
	"fmt"
	"log/slog"
)

// hidden is what a Secret shows of itself, whether it is empty or not.
const hidden = "[hidden]"

// Secret is a string that does not print: not with any verb of fmt, not as
// JSON or YAML, not through slog. Only Reveal gives it away.
//
// It cannot hide inside an unexported field of a struct that is printed whole,
// because fmt may not call methods there; keep it in exported fields.
type Secret string

// Reveal returns the value, for the one line that hands it to a driver.
func (s Secret) Reveal() string { return string(s) }

// String returns "[hidden]".
func (Secret) String() string { return hidden }

// GoString returns "[hidden]", for %#v.
func (Secret) GoString() string { return hidden }

// Format writes "[hidden]" for every verb, %x and %d too.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hidden)) }

// LogValue makes slog write "[hidden]".
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText makes JSON, YAML and map keys show "[hidden]".
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }
