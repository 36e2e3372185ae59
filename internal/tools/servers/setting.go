package servers

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Setting is a setting of a server, by the name in its manual.
type Setting struct {
	Name, Value string

	clock *Clock    // instead of both: see ByClock
	tls   *TLSFiles // instead of both: see WithTLS
}

// Set returns a setting: `Set("innodb-flush-log-at-trx-commit", "2")` for MariaDB,
// `Set("maxmemory", "10mb")` for Redis. It overrides the settings of this package.
func Set(name, value string) Setting { return Setting{Name: name, Value: value} }

// AppendOnly makes a Redis keep its data: every acknowledged write is still there after Stop or
// Kill and Restart. Without it a Redis starts empty each time.
func AppendOnly() Setting { return Set("appendonly", "yes") }

// ReplicaOf makes a Redis a replica of the one at addr, host:port.
func ReplicaOf(addr string) Setting { return Set("replicaof", spaced(addr)) }

// split returns the settings of the server itself, those that it reads from its environment, and the files of WithTLS,
// or nil.
func split(settings []Setting) (own []Setting, env []string, secure *TLSFiles) {
	for _, s := range settings {
		switch {
		case s.clock != nil:
			// A space ends a name in LD_PRELOAD, and not in the list of folders.
			folder, library := filepath.Split(s.clock.library)
			env = append(env, "LD_LIBRARY_PATH="+folder, "LD_PRELOAD="+library, "SERVER_CLOCK="+s.clock.file)
		case s.tls != nil:
			secure = s.tls
		default:
			own = append(own, s)
		}
	}
	return own, env, secure
}

// folder makes the folder of a server and returns its absolute path: to the server, a relative one may be another.
func folder(dir, of string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return "", fmt.Errorf("make the folder of %s: %w", of, err)
	}
	return dir, nil
}

// flags returns settings as they are given on a command line.
func flags(settings []Setting) (args []string) {
	for _, s := range settings {
		args = append(args, "--"+s.Name+"="+s.Value)
	}
	return args
}

// writeSettings writes a file with one setting per line. The text between stands between name and value.
func writeSettings(file, between string, settings []Setting) error {
	var text strings.Builder
	for _, s := range settings {
		text.WriteString(s.Name + between + s.Value + "\n")
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		return fmt.Errorf("write the settings of a server: %w", err)
	}
	return nil
}
