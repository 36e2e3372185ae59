package config

import "strings"

// variables reads the environment. A name that begins with SECKILL_ and is not
// known is refused: it is nearly always a key with a single underscore.
type variables struct {
	wrong           *problems
	allowUnsafeLock bool
}

// take turns one variable into a key and a value of the key's type. An empty
// key tells koanf to leave it out.
func (v *variables) take(name, value string) (string, any) {
	if name == unsafeLockVariable {
		v.takeUnsafeLock(value)
		return "", nil
	}
	for _, k := range keys {
		if k.Variable != name {
			continue
		}
		converted, instead := k.convert(given{text: value})
		if instead != "" {
			v.wrong.add(name+": "+k.Path+" "+instead, k.Path)
			return "", nil
		}
		return k.Path, converted
	}
	for old, now := range renamed {
		if variable(old) == name {
			v.wrong.add(name+" is called "+variable(now)+" now", now)
			return "", nil
		}
	}
	text := "unknown variable " + shown(name) + ": "
	if near, ok := nearest(strings.TrimPrefix(name, Prefix), paths()); ok {
		v.wrong.add(text+"did you mean "+variable(near)+"?", near)
	} else {
		v.wrong.add(text + "unset it, or see configs/seckill.yaml for the names")
	}
	return "", nil
}

func (v *variables) takeUnsafeLock(value string) {
	switch value {
	case "1":
		v.allowUnsafeLock = true
	case "", "0":
		v.allowUnsafeLock = false
	default:
		v.wrong.add(unsafeLockVariable+" must be 1, or not be set", "lock.backend")
	}
}
