package chaos

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/testing/faultnet"
	"example.com/seckill/internal/tools/servers"
)

// kind names the stores of an environment.
type kind string

const (
	plain    kind = "plain"    // a MariaDB, and a Redis that keeps its data
	expiring kind = "expiring" // the same, and orders must be paid within a moment
	patient  kind = "patient"  // the same as plain, and a transaction may wait for longer than the server lets it
	cluster  kind = "cluster"  // a MariaDB and a Redis Cluster
	proxied  kind = "proxied"  // both behind a fault proxy, and a replica of the Redis
	semiSync kind = "semisync" // a MariaDB with a semi-synchronous replica, behind an address that moves, and a Redis
	upgraded kind = "upgraded" // as plain, with an earlier build of the program
	galera   kind = "galera"   // a Galera cluster with one writer, behind an address that moves, and a Redis
)

// environment is a fleet on stores of its own. It is used for one round after the other.
type environment struct {
	*servers.Env // MariaDB is the one that the fleet is led to, and Redis too

	kind    kind
	program string
	before  string // an earlier build, or the same
	mode    string // one of Modes
	lock    string // lock.backend
	tokens  bool   // buying needs a purchase token
	secret  string

	repl  *servers.Replicas // semiSync, galera: MariaDB and the others
	dbase string
	db    *sql.DB        // direct, also if a proxy stands between the fleet and the database
	spare *servers.Redis // proxied: the replica
	nodes *servers.Cluster
	rdb   redis.UniversalClient // direct
	toDB  *faultnet.Proxy
	toR   *faultnet.Proxy
	fleet []*instance

	mu    sync.Mutex // of db and rdb where buyers read them while a fault replaces them
	turn  atomic.Int64
	users atomic.Int64 // the last user id that was given out
	spent bool         // a server was lost for good: no other round is played on it
}

const (
	unlocked  = "none" // the backend without exclusion
	instances = 2
	shards    = 4
	places    = 100 // for requests in an instance: fewer than a flood has attackers there
)

// openEnvironment starts the stores and the fleet. On an error nothing is left running.
func openEnvironment(ctx context.Context, o Options, k kind) (*environment, error) {
	var err error
	b := &environment{
		kind: k, program: o.Program, before: cmp.Or(o.Before, o.Program), mode: o.Mode, lock: o.Lock, tokens: o.Tokens,
		secret: rand.Text() + rand.Text(),
	}
	if b.Env, err = servers.NewEnv("seckill-chaos"); err != nil {
		return nil, err
	}
	if err := b.open(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (b *environment) open(ctx context.Context) error {
	program := b.program
	if b.kind == upgraded {
		program = b.before
	}
	if err := b.openStores(ctx); err != nil {
		return err
	}
	env, err := b.environ()
	if err != nil {
		return err
	}
	root, err := withDatabase(env, b.MariaDB.DSN(b.dbase))
	if err != nil {
		return err
	}
	if _, err := migrate(ctx, program, b.Dir, root); err != nil {
		return err
	}
	if err := b.grant(ctx); err != nil {
		return err
	}
	b.OnClose(b.endFleet)
	for n := range instances {
		b.fleet = append(b.fleet, &instance{name: fmt.Sprintf("instance %d", n+1), program: program, env: env, dir: b.Dir})
	}
	return b.together(func(i *instance) error { return i.start(ctx) })
}

func (b *environment) openStores(ctx context.Context) (err error) {
	if err := b.startDatabase(ctx); err != nil {
		return err
	}
	if b.dbase, err = b.MariaDB.CreateDatabase(ctx); err != nil {
		return err
	}
	if err := b.openDatabase(b.MariaDB); err != nil {
		return err
	}
	b.OnClose(func() error { return b.db.Close() }) // what it is by then
	if b.kind == cluster {
		return b.openCluster(ctx)
	}
	if _, err = b.StartRedis(ctx, servers.AppendOnly(), redisUser()); err != nil {
		return err
	}
	b.use(redisClient(b.Redis.Addr()))
	switch b.kind {
	case proxied:
		if b.spare, err = b.StartRedis(ctx, servers.AppendOnly(), redisUser(), servers.ReplicaOf(b.Redis.Addr())); err != nil {
			return err
		}
		if b.toR, err = b.startProxy(b.Redis.Addr()); err != nil {
			return err
		}
		b.toDB, err = b.startProxy(b.MariaDB.Addr())
	case semiSync, galera:
		b.toDB, err = b.startProxy(b.MariaDB.Addr())
	case plain, expiring, patient, upgraded, cluster:
	}
	return err
}

func (b *environment) startDatabase(ctx context.Context) (err error) {
	switch b.kind {
	case semiSync:
		b.repl, err = b.StartReplicas(ctx, servers.StartSemiSync)
	case galera:
		b.repl, err = b.StartReplicas(ctx, servers.StartGalera)
	case plain, expiring, patient, cluster, proxied, upgraded:
		err = b.StartMariaDB(ctx)
	}
	return err
}

func (b *environment) openCluster(ctx context.Context) (err error) {
	if b.nodes, err = b.StartCluster(ctx, servers.AppendOnly()); err != nil {
		return err
	}
	b.use(redis.NewClusterClient(&redis.ClusterOptions{
		Addrs: b.nodes.Addrs(), ClusterStateReloadInterval: time.Second, ContextTimeoutEnabled: true,
	}))
	return nil
}

// use makes a client the environment's own.
func (b *environment) use(by redis.UniversalClient) {
	b.lead(by)
	b.OnClose(func() error { return b.rdb.Close() }) // what it is by then
}

// lead makes a client that of the Redis which the fleet is led to.
func (b *environment) lead(by redis.UniversalClient) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rdb = by
}

func (b *environment) startProxy(addr string) (*faultnet.Proxy, error) {
	p, err := faultnet.New(addr)
	if err != nil {
		return nil, err
	}
	b.OnClose(func() error { p.Close(); return nil })
	return p, nil
}

// endFleet ends all instances, in order if they can.
func (b *environment) endFleet() error { return b.together((*instance).end) }

// together does something with all instances at once.
func (b *environment) together(do func(i *instance) error) error {
	errs := make([]error, len(b.fleet))
	var all sync.WaitGroup
	for n, i := range b.fleet {
		all.Go(func() { errs[n] = do(i) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// pick is the instance that the next request goes to: one after the other, but for
// those that take none.
func (b *environment) pick() string {
	turn := b.turn.Add(1) // once: another buyer may take the turns between
	for next := range int64(len(b.fleet)) {
		if url := b.fleet[(turn+next)%int64(len(b.fleet))].url(); url != "" {
			return url
		}
	}
	return b.fleet[0].now().URL
}

// pickOther is pick, but for the instance at the URL if another one takes requests.
func (b *environment) pickOther(url string) string {
	other := b.pick()
	for range b.fleet {
		if other != url {
			break
		}
		other = b.pick()
	}
	return other
}

// stores returns the database and the Redis that the fleet is led to at this moment.
func (b *environment) stores() (*sql.DB, redis.UniversalClient) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.db, b.rdb
}

// redisClient returns a client whose calls end with their contexts.
func redisClient(addr string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true})
}

// quietly keeps the Redis client's own log, which is one for the process, from telling
// of connections that were broken on purpose.
var quietly = sync.OnceFunc(func() { redis.SetLogger(silent{}) })

type silent struct{}

// Printf says nothing.
func (silent) Printf(context.Context, string, ...any) {}
