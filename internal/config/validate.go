package config

import (
	"fmt"
	"math"
	"net"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Validate returns all mistakes in c, or nil. Each mistake is a *KeyError of one line, which names the key and not the
// value.
func (c Config) Validate() error { return c.problems().err() }

func (c Config) problems() problems {
	var wrong problems
	c.checkLimits(&wrong)
	c.checkListeners(&wrong)
	checkProxies(&wrong, c.HTTP.TrustedProxies)
	c.checkStores(&wrong)
	c.checkRedis(&wrong)
	c.checkMySQL(&wrong)
	c.checkAuth(&wrong)
	c.checkLock(&wrong)
	c.checkOrder(&wrong)
	c.checkOtel(&wrong)
	c.checkPurchaseTokens(&wrong)
	c.checkTLS(&wrong)
	return wrong
}

// databaseProblems returns the mistakes that concern a program which uses only the database.
func (c Config) databaseProblems() problems {
	var wrong problems
	c.checkLimits(&wrong)
	c.checkMySQL(&wrong)
	checkPair(&wrong, "mysql", c.MySQL.TLSCert, c.MySQL.TLSKey)
	c.checkMySQLTLS(&wrong)
	return wrong
}

// checkLimits checks every field against the min, max and oneof of its tag.
func (c Config) checkLimits(wrong *problems) {
	v := reflect.ValueOf(c)
	for _, k := range keys {
		field := v.FieldByIndex(k.index)
		if len(k.Values) > 0 && !slices.Contains(k.Values, field.String()) {
			wrong.add(k.Path+" must be one of "+strings.Join(k.Values, ", "), k.Path)
		}
		if k.Min != "" && outside(field, k.Min, k.Max) {
			wrong.add(fmt.Sprintf("%s must be from %s to %s", k.Path, k.Min, k.Max), k.Path)
		}
	}
}

// outside reports whether a number, a ratio or a duration is below the lowest or above the highest value.
func outside(field reflect.Value, lowest, highest string) bool {
	if !field.CanFloat() {
		return field.Int() < limit(lowest) || field.Int() > limit(highest)
	}
	x := field.Float()
	return math.IsNaN(x) || x < float64(limit(lowest)) || x > float64(limit(highest))
}

// limit returns the value of a min or max tag. A tag is a number or a duration.
func limit(tag string) int64 {
	if n, err := strconv.ParseInt(tag, 10, 64); err == nil {
		return n
	}
	d, err := time.ParseDuration(tag)
	if err != nil {
		panic("config: a limit that is neither number nor duration: " + tag)
	}
	return int64(d)
}

func (c Config) checkListeners(wrong *problems) {
	for _, l := range []struct{ key, addr string }{{"http.addr", c.HTTP.Addr}, {"admin.addr", c.Admin.Addr}} {
		if !isHostPort(l.addr, 0) {
			wrong.add(l.key+" must be host:port, such as 127.0.0.1:8080", l.key)
		}
	}
	if c.HTTP.Addr == c.Admin.Addr && !strings.HasSuffix(c.HTTP.Addr, ":0") {
		wrong.add("admin.addr must differ from http.addr: the admin pages are not for the public", "admin.addr", "http.addr")
	}
	if !c.Embedded() && c.Auth.DemoPublic {
		wrong.add("auth.demo_public is for embedded stores: leave it out", "auth.demo_public")
	}
	for i, host := range c.HTTP.Hosts {
		if !isWord(host, ".-") {
			wrong.add(fmt.Sprintf("http.hosts: entry %d must be a name without a port, such as shop.example", i+1), "http.hosts")
		}
	}
	if c.HTTP.RequestTimeout > c.HTTP.WriteTimeout {
		wrong.add("http.request_timeout must not exceed http.write_timeout: the answer would be cut off",
			"http.request_timeout", "http.write_timeout")
	}
	if c.HTTP.RequestTimeout > c.HTTP.ShutdownTimeout {
		wrong.add("http.shutdown_timeout must be at least http.request_timeout: requests in flight may finish",
			"http.shutdown_timeout", "http.request_timeout")
	}
}

// checkOtel rejects an endpoint that is not a URL. It also rejects a URL with a user, because errors would show the
// password.
func (c Config) checkOtel(wrong *problems) {
	if c.Otel.Endpoint == "" {
		return
	}
	u, err := url.Parse(c.Otel.Endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		wrong.add("otel.endpoint must be a URL such as http://127.0.0.1:4318, without a user", "otel.endpoint")
	}
}

// isHostPort reports whether addr is host:port with a port of at least lowest. For port 0 the system chooses a free
// port.
func isHostPort(addr string, lowest int) bool {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r == '/' || r == '@' || r == 0x7f }) {
		return false
	}
	n, err := strconv.Atoi(port)
	return err == nil && n >= lowest && n <= 65535 && port[0] != '+' && port[0] != '-'
}

// isLoopback reports whether only clients on this machine can reach a listener.
func isLoopback(addr string) bool {
	host, _, _ := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (c Config) checkLock(wrong *problems) {
	if c.Lock.Backend == "none" && !c.AllowUnsafeLock {
		wrong.add("lock.backend none lets everybody in at once and is for the lab and tests only: use redis, or set "+
			unsafeLockVariable+"=1 if this is one", "lock.backend")
	}
	if c.Lock.Fair && c.Lock.Backend != "redis" {
		wrong.add("lock.fair is for lock.backend redis: leave it out", "lock.fair", "lock.backend")
	}
	c.checkLockServers(wrong)
	c.checkNodeTimeout(wrong)
	c.checkLockPrefix(wrong)
	if c.Lock.TTL < 2*c.Order.TxTimeout {
		wrong.add("lock.ttl must be at least twice order.tx_timeout: a commit may outlast the lock otherwise",
			"lock.ttl", "order.tx_timeout")
	}
	if c.Lock.WaitTimeout > c.HTTP.RequestTimeout {
		wrong.add("lock.wait_timeout must not exceed http.request_timeout, which ends the wait anyway",
			"lock.wait_timeout", "http.request_timeout")
	}
}

// fewestMasters is the smallest number of masters of which one may be down.
const fewestMasters = 3

// longestRedlockLease bounds the drift between the clocks of independent masters. A holder leaves a margin before the
// end of its lease, and up to this lease the drift stays within the margin.
const longestRedlockLease = 99 * time.Second

// checkLockServers checks lock.addrs. A backend either needs addresses or takes none.
func (c Config) checkLockServers(wrong *problems) {
	for i, addr := range c.Lock.Addrs {
		if !isHostPort(addr, 1) || strings.HasPrefix(addr, ":") {
			wrong.add(fmt.Sprintf("lock.addrs: entry %d must be host:port, such as 10.0.0.5:2379", i+1), "lock.addrs")
		}
	}
	switch c.Lock.Backend {
	case "redlock":
		if len(c.Lock.Addrs) < fewestMasters {
			wrong.add("lock.addrs must list at least three independent Redis servers for lock.backend redlock, five rather than three",
				"lock.addrs", "lock.backend")
		}
		if c.Lock.TTL > longestRedlockLease {
			wrong.add("lock.ttl must not exceed 99s with lock.backend redlock: the masters' clocks drift", "lock.ttl", "lock.backend")
		}
	case "etcd", "zookeeper":
		if len(c.Lock.Addrs) == 0 {
			wrong.add("lock.addrs is empty while lock.backend asks for servers of its own: list them", "lock.addrs", "lock.backend")
		}
	default:
		if len(c.Lock.Addrs) > 0 {
			wrong.add("lock.addrs is for lock.backend redlock, etcd or zookeeper: leave it out", "lock.addrs", "lock.backend")
		}
	}
	if c.Lock.Backend == "mysql" && c.MySQL.DSN == "" {
		wrong.add("lock.backend mysql needs row locks, which the embedded database does not have: set mysql.dsn, or use redis",
			"lock.backend", "mysql.dsn")
	}
}

// usualNodeTimeout is the default of lock.node_timeout.
const usualNodeTimeout = 100 * time.Millisecond

// checkNodeTimeout leaves a call time for the fence after the call has waited for a silent server. Without this time
// one silent server would end every call, although redlock promises to continue with a majority.
func (c Config) checkNodeTimeout(wrong *problems) {
	if c.Lock.Backend != "redlock" {
		if c.Lock.NodeTimeout != usualNodeTimeout {
			wrong.add("lock.node_timeout is for lock.backend redlock: leave it out", "lock.node_timeout", "lock.backend")
		}
		return
	}
	if c.Lock.NodeTimeout > c.Redis.Timeout/2 || c.Lock.NodeTimeout > c.Lock.TTL/3 {
		wrong.add("lock.node_timeout must not exceed half of redis.timeout, nor a third of lock.ttl: "+
			"a silent server would use up the time of a call", "lock.node_timeout", "redis.timeout", "lock.ttl")
	}
}

// checkLockPrefix rejects lock.prefix for the backends with other names. The names of locks in Redis start with
// redis.prefix. The locks in the database are in tables of the deployment.
func (c Config) checkLockPrefix(wrong *problems) {
	switch p := c.Lock.Prefix; {
	case p == "":
	case c.Lock.Backend != "etcd" && c.Lock.Backend != "zookeeper":
		wrong.add("lock.prefix is for lock.backend etcd or zookeeper: leave it out, the others go by redis.prefix or mysql.dsn",
			"lock.prefix", "lock.backend")
	case !isPrefix(p) || !isWord(p[:1], ""): // "." and ".." are not names in ZooKeeper
		wrong.add("lock.prefix must be 1 to 64 letters, digits, dots, dashes, underscores and colons, "+
			"the first a letter or a digit, such as seckill-staging", "lock.prefix")
	}
}

func (c Config) checkOrder(wrong *problems) {
	if c.Order.TxTimeout > c.HTTP.RequestTimeout {
		wrong.add("order.tx_timeout must not exceed http.request_timeout: it is a part of it",
			"order.tx_timeout", "http.request_timeout")
	}
	if c.Order.ReconcileAfter < c.Order.TxTimeout {
		wrong.add("order.reconcile_after must be at least order.tx_timeout: it would reconcile orders that are still being placed",
			"order.reconcile_after", "order.tx_timeout")
	}
	if c.Order.Mode == "queue" && c.Order.QueueMaxAge+c.Order.ReconcileAfter > longestQueue {
		wrong.add("order.queue_max_age and order.reconcile_after must not exceed 28s together: a 202 has to end within 30s",
			"order.queue_max_age", "order.reconcile_after")
	}
	if c.Order.QueueOrder == "lottery" && c.Order.Mode != "queue" {
		wrong.add("order.queue_order is lottery: it needs order.mode queue, because a ticket is answered before it is drawn",
			"order.queue_order", "order.mode")
	}
}

// longestQueue leaves time for one background pass over the entries that a queue has not ended.
const longestQueue = 28 * time.Second
