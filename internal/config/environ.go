package config

import "strings"

// variables reads the environment into a Config. A secret may also come from a file, which its variable with the suffix
// _FILE names. The reader refuses a name that begins with
// SECKILL_ and is not known: it is nearly always a key with a single underscore. It ignores a
// name that is not a key and that an orchestrator has set.
type variables struct {
	into  *Config
	wrong *problems
	links links
	files map[string]string // paths by the variable of a secret
	set   map[string]bool   // variables of keys that are set
}

// read sets the keys whose variables are in environ; of two with one name the last wins.
func (v *variables) read(environ []string) {
	v.links, v.files, v.set = linksIn(environ), map[string]string{}, map[string]bool{}
	for _, entry := range environ {
		if name, value, ok := strings.Cut(entry, "="); ok && strings.HasPrefix(name, Prefix) {
			v.take(name, value)
		}
	}
	v.readSecrets()
}

// take sets the key that one variable names.
func (v *variables) take(name, value string) {
	switch name {
	case unsafeLockVariable:
		v.takeSwitch(name, value, &v.into.AllowUnsafeLock, "lock.backend")
		return
	case WrongDesignVariable:
		v.takeSwitch(name, value, &v.into.AllowWrongDesign)
		return
	}
	if v.takeFile(name, value) {
		return
	}
	for _, k := range keys {
		if k.Variable != name {
			continue
		}
		v.set[name] = true
		converted, instead := k.convert(given{text: value})
		if instead != "" {
			v.wrong.add(name+": "+k.Path+" "+instead, k.Path)
			return
		}
		k.set(v.into, converted)
		return
	}
	if advice, ok := adviceForVariable(name); ok {
		v.wrong.add(name + " is gone: " + advice)
		return
	}
	if v.links.has(name, value) {
		return
	}
	text := "unknown variable " + shown(name) + ": "
	permissions := []string{strings.TrimPrefix(unsafeLockVariable, Prefix), strings.TrimPrefix(WrongDesignVariable, Prefix)}
	if near, ok := Nearest(strings.TrimPrefix(name, Prefix), permissions); ok {
		v.wrong.add(text + "did you mean " + Prefix + near + "?")
		return
	}
	if near, ok := Nearest(strings.TrimPrefix(name, Prefix), paths()); ok {
		v.wrong.add(text+"did you mean "+variable(near)+"?", near)
		return
	}
	v.wrong.add(text + "unset it, or see configs/seckill.yaml for the names")
}

// takeSwitch sets a permission, which is no key and so is in no file. A wrong value concerns these keys.
func (v *variables) takeSwitch(name, value string, into *bool, keys ...string) {
	switch value {
	case "1":
		*into = true
	case "", "0":
		*into = false
	default:
		v.wrong.add(name+" must be 1, or not be set", keys...)
	}
}

// Settings returns the names in environ that begin with Prefix. It leaves out permissions and the variables of an
// orchestrator.
func Settings(environ []string) (names []string) {
	links := linksIn(environ)
	for _, entry := range environ {
		name, value, ok := strings.Cut(entry, "=")
		if ok && strings.HasPrefix(name, Prefix) && name != unsafeLockVariable && name != WrongDesignVariable && !links.has(name, value) {
			names = append(names, name)
		}
	}
	return names
}
