package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Prefix begins the name of every variable that this program reads.
const Prefix = "SECKILL_"

// The variables that are no keys.
const (
	unsafeLockVariable  = Prefix + "ALLOW_UNSAFE_LOCK"
	WrongDesignVariable = Prefix + "ALLOW_WRONG_DESIGN" // permits a design that is wrong on purpose
)

// Key describes one thing that can be set.
type Key struct {
	Path     string   // as in the file, levels separated by dots: http.addr
	Variable string   // as in the environment: SECKILL_HTTP__ADDR
	Kind     string   // text, secret, number, ratio, switch, duration or list
	Default  string   // as it would be written in the file
	Values   []string // the words it may be, if they are few
	Min, Max string   // the limits of a number, ratio or duration

	index []int // of the field in Config
}

// keys is the schema, read once from the struct and its defaults.
var keys = readKeys()

var byPath = func() map[string]Key {
	m := make(map[string]Key, len(keys))
	for _, k := range keys {
		m[k.Path] = k
	}
	return m
}()

// sections are the names of the upper level.
var sections = func() []string {
	var out []string
	for _, k := range keys {
		name, _, _ := strings.Cut(k.Path, ".")
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}()

// Keys returns every key in the order of the file.
func Keys() []Key { return append([]Key(nil), keys...) }

func paths() []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = k.Path
	}
	return out
}

func readKeys() []Key {
	var out []Key
	defaults := reflect.ValueOf(Default())
	for i := range defaults.NumField() {
		section := defaults.Type().Field(i)
		name := section.Tag.Get("key")
		if name == "-" {
			continue
		}
		for _, field := range reflect.VisibleFields(section.Type) {
			if field.Anonymous {
				continue // its fields follow
			}
			path := name + "." + field.Tag.Get("key")
			out = append(out, Key{
				Path:     path,
				Variable: variable(path),
				Kind:     kindOf(field.Type),
				Default:  written(defaults.Field(i).FieldByIndex(field.Index)),
				Values:   strings.Fields(field.Tag.Get("oneof")),
				Min:      field.Tag.Get("min"),
				Max:      field.Tag.Get("max"),
				index:    append([]int{i}, field.Index...),
			})
		}
	}
	return out
}

// variable returns the environment's name of a key: capitals, levels separated by two
// underscores.
func variable(path string) string {
	return Prefix + strings.ToUpper(strings.ReplaceAll(path, ".", "__"))
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	secretType   = reflect.TypeFor[Secret]()
	listType     = reflect.TypeFor[[]string]()
)

func kindOf(t reflect.Type) string {
	switch t {
	case durationType:
		return "duration"
	case secretType:
		return "secret"
	case listType:
		return "list"
	}
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Int:
		return "number"
	case reflect.Float64:
		return "ratio"
	case reflect.Bool:
		return "switch"
	default:
		panic("config: no kind for a field of type " + t.String())
	}
}

// written returns a default as it is written in the file.
func written(v reflect.Value) string {
	switch v.Type() {
	case durationType:
		return short(time.Duration(v.Int()))
	case listType:
		return "[" + strings.Join(v.Interface().([]string), ", ") + "]"
	}
	if v.Kind() == reflect.String {
		if v.Len() == 0 {
			return `""`
		}
		return v.String()
	}
	return fmt.Sprint(v.Interface())
}

// short returns 15m where Go would write 15m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
