// Package redisconn opens the connection to Redis, in the same way for every package that uses it.
//
// It retries nothing: a command whose reply was lost may have been executed, and only its sender knows
// whether to send it again. If a command was certainly not executed, the rule is different. The client
// follows redirections inside a cluster, and finds a new master by itself. The breaker of an unavailable
// server rejects its callers at once, without a call.
//
//	Options ─▶ single    one server
//	           sentinel  the master that the sentinels name now
//	           cluster   the master of the key's slot now
//	                 └─▶ redis.UniversalClient, seen to answer once
//
// The package exists because stock, lock, idworker and the limits share one client. The settings that keep
// a unit from being taken four times belong to none of them. The package offers no Ring: a Ring sends the
// keys of a dead server to another server, and doubles the stock.
package redisconn

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"example.com/seckill/internal/platform/certs"
)

// The modes in which Redis runs.
const (
	Single   = "single"
	Sentinel = "sentinel"
	Cluster  = "cluster"
)

// Options locate Redis, and bound the time of its calls.
type Options struct {
	Mode             string        // Single, Sentinel or Cluster; empty is Single
	Addrs            []string      // host:port of the server, the sentinels, or some nodes
	MasterName       string        // Sentinel: the name of the master
	Username         string        // empty: the default user
	Password         string        // empty: none
	SentinelUsername string        // of the sentinels themselves; empty: the default user
	SentinelPassword string        // empty: none
	DB               int           // 0 in a cluster
	TLS              *tls.Config   // how every server is verified; nil: no TLS
	PoolSize         int           // connections per server; 0: ten per processor
	Timeout          time.Duration // of one call, writing and reading each; 0: 500 ms
	DialTimeout      time.Duration // of one connection attempt; 0: 1 s
	Logger           *slog.Logger  // where the client's own messages go, as debug; nil: the default one
	// OnBreakerChange receives the first state of each server's breaker, and every change. It may be nil.
	OnBreakerChange func(server string, away bool)
}

// Open returns a client that has answered once. The error names the addresses and the remedy, and never the
// password. The caller closes the client.
//
// The client's own log is one for the whole process, so the last Logger receives it.
func Open(ctx context.Context, o Options) (redis.UniversalClient, error) {
	o = o.withDefaults()
	client, err := Dial(o)
	if err != nil {
		return nil, err
	}
	// The client queries the sentinels or the slots first, so the PING takes two calls.
	ctx, cancel := context.WithTimeout(ctx, 2*(o.DialTimeout+o.Timeout))
	defer cancel()
	if err := client.Ping(ctx).Err(); err != nil {
		away := &awayError{o: o, err: err}
		away.addr, away.tls = o.wrongTLS(context.WithoutCancel(ctx), err)
		return nil, errors.Join(away, client.Close())
	}
	return client, nil
}

// Dial is Open without waiting for an answer. Use it for one of several servers, of which some may be
// unavailable.
func Dial(o Options) (redis.UniversalClient, error) {
	o = o.withDefaults()
	redis.SetLogger(toSlog{o.Logger})
	return o.client()
}

func (o Options) withDefaults() Options {
	o.Mode = cmp.Or(o.Mode, Single)
	o.Timeout = cmp.Or(o.Timeout, 500*time.Millisecond)
	o.DialTimeout = cmp.Or(o.DialTimeout, time.Second)
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return o
}

func (o Options) client() (redis.UniversalClient, error) {
	switch {
	case len(o.Addrs) == 0:
		return nil, errors.New("redis has no address: set redis.addrs")
	case o.Mode == Single && len(o.Addrs) == 1:
		return o.withBreaker(redis.NewClient(o.common().Simple()), o.Addrs[0]), nil
	case o.Mode == Single:
		return nil, errors.New("redis.addrs has several addresses: set redis.mode to sentinel or cluster")
	case o.Mode == Sentinel:
		return o.withBreaker(redis.NewFailoverClient(o.common().Failover()), "master "+o.MasterName), nil
	case o.Mode == Cluster:
		return redis.NewClusterClient(o.cluster()), nil
	default:
		return nil, errors.New("redis.mode must be single, sentinel or cluster")
	}
}

// The settings that all three modes share:
//   - the client never repeats a command by itself, which -1 sets;
//   - resp2 has no push messages. The program reads none, and resp2 spares a check for them
//     before every reply;
//   - the identity and the maintenance notifications are off. They cost round trips on every
//     new connection, and old servers reject them.
const (
	never = -1
	once  = 1
	resp2 = 2
)

// common returns the options of all modes. Each mode takes the options that it knows.
func (o Options) common() *redis.UniversalOptions {
	return &redis.UniversalOptions{
		Addrs: o.Addrs, Username: o.Username, Password: o.Password, DB: o.DB, TLSConfig: o.TLS,
		MasterName: o.MasterName, SentinelUsername: o.SentinelUsername, SentinelPassword: o.SentinelPassword,
		MaxRetries: never, DialerRetries: once, ContextTimeoutEnabled: true, Protocol: resp2,
		DialTimeout: o.DialTimeout, ReadTimeout: o.Timeout, WriteTimeout: o.Timeout, PoolTimeout: o.Timeout,
		PoolSize: o.PoolSize, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

// cluster leaves MaxRedirects at its default, so that the client follows MOVED and ASK. Its dialer keeps
// the same loop from repeating a lost command. The client reads the slots again every second: with the
// default of a minute, clients go on failing long after a dead master has a successor.
func (o Options) cluster() *redis.ClusterOptions {
	c := o.common().Cluster()
	c.Dialer, c.NewClient = o.dialOnceAnswered(), o.node
	c.ClusterStateReloadInterval = time.Second
	c.MaxRetryBackoff = 100 * time.Millisecond
	return c
}

// node returns the client of one node of a Cluster.
func (o Options) node(node *redis.Options) *redis.Client {
	c := o.withBreaker(redis.NewClient(node), node.Addr)
	c.AddHook(onceHook{})
	return c
}

// awayError explains in one line why Redis cannot be used.
type awayError struct {
	o         Options
	err       error
	addr, tls string // the server with a TLS fault, and the fault
}

// wrongTLS returns the server with a TLS fault, and the fault. The client's error shows the fault of a
// single server. The client tries all sentinels and nodes, and its error does not show their faults.
func (o Options) wrongTLS(ctx context.Context, err error) (addr, why string) {
	if _, answered := errors.AsType[redis.Error](err); answered {
		return "", ""
	}
	ctx, cancel := context.WithTimeout(ctx, o.DialTimeout)
	defer cancel()
	if addr, why = certs.Probe(ctx, o.Addrs, o.TLS); why == "" {
		addr, why = strings.Join(o.Addrs, ", "), certs.Why(err)
	}
	return addr, why
}

// Error returns the addresses, the cause and the remedy, in one line.
func (e *awayError) Error() string {
	what, remedy := "does not answer", "start it, or mend redis.addrs"
	if e.tls != "" {
		return fmt.Sprintf("redis (%s) at %s %s; mend redis.tls and the keys beside it", e.o.Mode, e.addr, e.tls)
	}
	if _, said := errors.AsType[redis.Error](e.err); said {
		what, remedy = "refuses", "mend redis.mode, redis.username or redis.password"
	}
	cause := strings.Join(strings.Fields(e.err.Error()), " ")
	return fmt.Sprintf("redis (%s) at %s %s: %s; %s", e.o.Mode, strings.Join(e.o.Addrs, ", "), what, cause, remedy)
}

// Unwrap returns the client's error.
func (e *awayError) Unwrap() error { return e.err }

// toSlog logs the messages that the client would print on standard error. An error that matters reaches the
// caller anyway, so the log has it as a detail.
type toSlog struct{ log *slog.Logger }

// Printf logs at debug level.
func (l toSlog) Printf(ctx context.Context, format string, v ...any) {
	if l.log.Enabled(ctx, slog.LevelDebug) {
		l.log.DebugContext(ctx, fmt.Sprintf(format, v...), "from", "redis client")
	}
}
