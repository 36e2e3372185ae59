package config

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// given is a value as it was written: one text or several. Its type is decided
// by the key and not by the form of the text, so that a password of digits
// stays a password.
type given struct {
	text string
	list []string
	many bool
}

// convert returns what was written as a value of the key's type. The second result is
// empty, or what to write instead; it never repeats what was written.
func (k Key) convert(g given) (any, string) {
	if k.Kind == "list" {
		return g.asList(), ""
	}
	if g.many {
		return nil, "takes one value and not a list"
	}
	switch k.Kind {
	case "secret":
		return Secret(g.text), ""
	case "switch":
		if b, err := strconv.ParseBool(g.text); err == nil {
			return b, ""
		}
		return nil, "must be true or false"
	case "number":
		if n, err := strconv.Atoi(g.text); err == nil {
			return n, ""
		}
		return nil, "must be a whole number from " + k.Min + " to " + k.Max
	case "ratio":
		if x, err := strconv.ParseFloat(g.text, 64); err == nil && !math.IsNaN(x) {
			return x, ""
		}
		return nil, "must be a ratio from " + k.Min + " to " + k.Max + ", such as 0.01"
	case "duration":
		if d, err := time.ParseDuration(g.text); err == nil {
			return d, ""
		}
		return nil, "must be a duration with its unit, such as 500ms, 5s or 15m"
	default:
		return g.text, ""
	}
}

// asList accepts a list, or one text with commas.
func (g given) asList() []string {
	if g.many {
		return g.list
	}
	if strings.TrimSpace(g.text) == "" {
		return []string{}
	}
	parts := strings.Split(g.text, ",")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}
