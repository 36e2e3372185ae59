package chaos

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"seckill/internal/testbed/faultnet"
	"seckill/internal/testbed/servers"
)

// kind says what an environment is made of.
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
	kind    kind
	program string
	before  string // an earlier build, or the same
	mode    string // one of Modes
	tokens  bool   // buying needs a purchase token
	dir     string
	secret  string

	maria *servers.MariaDB
	repl  *servers.Replicas // semiSync, galera: maria and the others
	dbase string
	db    *sql.DB // direct, whatever stands between the fleet and the database
	redis *servers.Redis
	spare *servers.Redis // proxied: the replica
	nodes *servers.Cluster
	rdb   redis.UniversalClient // direct
	toDB  *faultnet.Proxy
	toR   *faultnet.Proxy
	fleet []*instance

	turn   atomic.Int64
	users  int64 // the last user id that was given out
	copies int   // of the database
	spent  bool  // a server was lost for good: no other round is played on it
}

const (
	instances = 2
	shards    = 4
	places    = 100 // for requests in an instance: fewer than a flood has attackers there
)

// openEnvironment starts the stores and the fleet. On an error nothing is left running.
func openEnvironment(ctx context.Context, o Options, k kind) (*environment, error) {
	var err error
	b := &environment{
		kind: k, program: o.Program, before: cmp.Or(o.Before, o.Program), mode: o.Mode, tokens: o.Tokens,
		secret: rand.Text() + rand.Text(),
	}
	if b.dir, err = os.MkdirTemp("", "seckill-chaos-"); err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	if err := b.open(ctx, o.Lock); err != nil {
		return nil, errors.Join(err, b.close())
	}
	return b, nil
}

func (b *environment) open(ctx context.Context, lock string) error {
	program := b.program
	if b.kind == upgraded {
		program = b.before
	}
	if err := b.openStores(ctx); err != nil {
		return err
	}
	env, err := b.environ(lock)
	if err != nil {
		return err
	}
	root, err := withDatabase(env, b.maria.DSN(b.dbase))
	if err != nil {
		return err
	}
	if _, err := migrate(ctx, program, b.dir, root); err != nil {
		return err
	}
	if err := b.grant(ctx); err != nil {
		return err
	}
	errs := make([]error, instances)
	var all sync.WaitGroup
	for n := range instances {
		i := &instance{name: fmt.Sprintf("instance %d", n+1), program: program, env: env, dir: b.dir}
		b.fleet = append(b.fleet, i)
		all.Go(func() { errs[n] = i.start(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func (b *environment) openStores(ctx context.Context) (err error) {
	if err := b.startDatabase(ctx); err != nil {
		return err
	}
	if b.dbase, err = b.maria.CreateDatabase(ctx); err != nil {
		return err
	}
	if err := b.openDatabase(b.maria); err != nil {
		return err
	}
	if b.kind == cluster {
		return b.openCluster(ctx)
	}
	if b.redis, err = servers.StartRedis(ctx, b.redisDir(), servers.AppendOnly(), redisUser()); err != nil {
		return err
	}
	b.rdb = redis.NewClient(&redis.Options{Addr: b.redis.Addr()})
	if b.kind == proxied {
		return b.openProxies(ctx)
	}
	if b.repl != nil {
		b.toDB, err = faultnet.New(b.maria.Addr())
	}
	return err
}

func (b *environment) startDatabase(ctx context.Context) (err error) {
	dir := filepath.Join(b.dir, "db")
	switch b.kind {
	case semiSync:
		b.repl, err = servers.StartSemiSync(ctx, dir)
	case galera:
		b.repl, err = servers.StartGalera(ctx, dir)
	case plain, expiring, patient, cluster, proxied, upgraded:
		b.maria, err = servers.StartMariaDB(ctx, dir)
		return err
	}
	if err == nil {
		b.maria = b.repl.Primary()
	}
	return err
}

func (b *environment) redisDir() string { return filepath.Join(b.dir, "redis") }

func (b *environment) openCluster(ctx context.Context) (err error) {
	if b.nodes, err = servers.StartCluster(ctx, b.redisDir(), servers.AppendOnly()); err != nil {
		return err
	}
	b.rdb = redis.NewClusterClient(&redis.ClusterOptions{Addrs: b.nodes.Addrs(), ClusterStateReloadInterval: time.Second})
	return nil
}

func (b *environment) openProxies(ctx context.Context) (err error) {
	b.spare, err = servers.StartRedis(ctx, b.redisDir()+"2", servers.AppendOnly(), redisUser(), servers.ReplicaOf(b.redis.Addr()))
	if err != nil {
		return err
	}
	if b.toR, err = faultnet.New(b.redis.Addr()); err != nil {
		return err
	}
	b.toDB, err = faultnet.New(b.maria.Addr())
	return err
}

// close stops whatever was started, the fleet first, and removes the files.
func (b *environment) close() error {
	errs := make([]error, len(b.fleet))
	var all sync.WaitGroup
	for n, i := range b.fleet {
		all.Go(func() { errs[n] = i.end() })
	}
	all.Wait()
	err := errors.Join(errs...)
	for _, p := range []*faultnet.Proxy{b.toR, b.toDB} {
		if p != nil {
			p.Close()
		}
	}
	if b.rdb != nil {
		err = errors.Join(err, b.rdb.Close())
	}
	if b.db != nil {
		err = errors.Join(err, b.db.Close())
	}
	if b.nodes != nil {
		err = errors.Join(err, b.nodes.Stop())
	}
	for _, r := range []*servers.Redis{b.redis, b.spare} {
		if r != nil {
			err = errors.Join(err, r.Kill())
		}
	}
	if b.repl != nil {
		err = errors.Join(err, b.repl.Stop())
	}
	if b.maria != nil {
		err = errors.Join(err, b.maria.Kill())
	}
	return errors.Join(err, os.RemoveAll(b.dir))
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

// quietly keeps the Redis client's own log, which is one for the process, from telling
// of connections that were broken on purpose.
var quietly = sync.OnceFunc(func() { redis.SetLogger(silent{}) })

type silent struct{}

// Printf says nothing.
func (silent) Printf(context.Context, string, ...any) {}
