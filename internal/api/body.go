package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// maxBody is the largest body, in bytes.
const maxBody = 4 << 10

// fields maps the name of a field to its reader.
type fields map[string]func(json.RawMessage) error

// body reads a JSON object. Each field may appear once or not at all.
func (in *input) body(f fields) {
	text, err := readBody(in.c.Request)
	if err == nil {
		err = decode(text, f)
	}
	if err != nil {
		in.refuse(err)
	}
}

// noBody rejects a body that is neither empty nor {}.
func (in *input) noBody() {
	if in.c.Request.ContentLength == 0 {
		return
	}
	text, err := readBody(in.c.Request)
	if err == nil && len(text) > 0 {
		err = decode(text, nil)
	}
	if err != nil {
		in.refuse(err)
	}
}

// readBody reads the body and checks that it may be JSON.
func readBody(r *http.Request) ([]byte, error) {
	if r.ContentLength > maxBody {
		return nil, errTooLarge
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, malformed("the body ended too early")
	case len(text) > maxBody:
		return nil, errTooLarge
	case len(text) > 0 && !saysJSON(r.Header):
		return nil, errMediaType
	case !utf8.Valid(text):
		return nil, malformed("the body is not UTF-8")
	}
	return text, nil
}

// saysJSON reports whether the headers allow the body to be JSON.
func saysJSON(h http.Header) bool {
	all := h["Content-Type"]
	if len(all) != 1 || len(h["Content-Encoding"]) > 0 {
		return false
	}
	if all[0] == "application/json" {
		return true
	}
	kind, params, err := mime.ParseMediaType(all[0])
	charset, named := params["charset"]
	return err == nil && kind == "application/json" && (!named || strings.EqualFold(charset, "utf-8"))
}

// decode reads one JSON object and nothing else. It compares names exactly. It rejects a repeated name, because two
// readers could take two different values.
func decode(text []byte, f fields) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return malformed("the body must be a JSON object")
	}
	seen := make(map[string]bool, len(f))
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return malformed("the body is not valid JSON")
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return malformed("the body is not valid JSON at %q", name)
		}
		read, known := f[name]
		switch {
		case !known:
			return malformed("unknown field %q", name)
		case seen[name]:
			return malformed("field %q is there twice", name)
		}
		seen[name] = true
		if err := read(value); err != nil {
			return malformed("field %q must be %s", name, err)
		}
	}
	if _, err := d.Token(); err != nil {
		return malformed("the body is not valid JSON")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return malformed("something follows the JSON object")
	}
	return nil
}

// The error of each reader below describes the expected value.

func asText(into **string) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		var s *string
		if json.Unmarshal(raw, &s) != nil || s == nil {
			return errors.New("a string")
		}
		*into = s
		return nil
	}
}

func asNumber[T int | int64](into **T) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		var n *T
		if json.Unmarshal(raw, &n) != nil || n == nil {
			return errors.New("a whole number")
		}
		*into = n
		return nil
	}
}

func asID(into *int64) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		var s string
		id, ok := int64(0), json.Unmarshal(raw, &s) == nil
		if ok {
			id, ok = parseID(s)
		}
		if !ok {
			return errors.New(`a string with a decimal number from 1 to 9223372036854775807`)
		}
		*into = id
		return nil
	}
}

// asTime reads RFC 3339 in any zone, and keeps milliseconds, as the stores do.
func asTime(into **time.Time) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		var t *time.Time
		if json.Unmarshal(raw, &t) != nil || t == nil {
			return errors.New("a time like 2030-01-31T18:00:00Z")
		}
		*t = t.UTC().Truncate(time.Millisecond)
		*into = t
		return nil
	}
}
