package servers

// Setting is a setting of a server, by the name in its manual.
type Setting struct {
	Name, Value string

	clock *Clock    // instead of both: see ByClock
	tls   *TLSFiles // instead of both: see WithTLS
}

// Set returns a setting: `Set("innodb-flush-log-at-trx-commit", "2")` for MariaDB,
// `Set("maxmemory", "10mb")` for Redis. It overrides what this package sets.
func Set(name, value string) Setting { return Setting{Name: name, Value: value} }

// AppendOnly makes a Redis keep its data: every acknowledged write is still there after Stop or
// Kill and Restart. Without it a Redis starts empty each time.
func AppendOnly() Setting { return Set("appendonly", "yes") }

// ReplicaOf makes a Redis a replica of the one at addr, host:port.
func ReplicaOf(addr string) Setting { return Set("replicaof", spaced(addr)) }
