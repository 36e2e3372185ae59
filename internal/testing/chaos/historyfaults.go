package chaos

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"example.com/seckill/internal/tools/servers"
)

// historyFaults are databases of another past than Redis: the fleet's own, set back to a copy
// or replaced by one, and those of other deployments, which want the same Redis.
func historyFaults() []Fault {
	return []Fault{
		{Name: "database:set-back", kind: plain, harm: databaseSetBack},
		{Name: "database:promoted", kind: proxied, harm: databasePromoted},
		{Name: "deployment:second", kind: plain, harm: another},
		{Name: "deployment:cloned", kind: plain, harm: cloned},
	}
}

// databaseSetBack puts a copy of the database, made earlier in the round, in its place: what
// was sold in between is lost with it, and Redis knows of it.
func databaseSetBack(ctx context.Context, r *round) (bool, error) {
	copied, err := r.copyDatabase(ctx)
	if err != nil {
		return false, err
	}
	if err := r.env.MariaDB.Kill(); err != nil {
		return false, err
	}
	kept, err := r.ordersIn(ctx, copied)
	if err != nil {
		return false, err
	}
	r.rec.setBack(&history{at: time.Now(), orders: kept})
	return true, r.env.MariaDB.SetBack(ctx, copied)
}

// databasePromoted kills the database and leads the fleet to another server, which lacks what
// was written last.
func databasePromoted(ctx context.Context, r *round) (bool, error) {
	copied, err := r.copyDatabase(ctx)
	if err != nil {
		return false, err
	}
	b := r.env
	if err := b.MariaDB.Kill(); err != nil {
		return false, err
	}
	promoted, err := servers.StartMariaDB(ctx, copied)
	if err != nil {
		return false, err
	}
	b.OnClose(promoted.Kill)
	if err := errors.Join(b.db.Close(), b.openDatabase(promoted)); err != nil {
		return false, err
	}
	state, err := b.readState(ctx, r.coupon)
	if err != nil {
		return false, err
	}
	r.rec.setBack(&history{at: time.Now(), orders: state.orders})
	return true, b.toDB.Point(promoted.Addr())
}

// copyDatabase copies the database while the crowd comes, and returns when more was sold and
// the fleet has noted a heartbeat since. One that comes back without a heartbeat between, within
// a second, no instance could tell from one that was only restarted.
func (r *round) copyDatabase(ctx context.Context) (dir string, err error) {
	at := 10 + r.rng.IntN(40)
	r.onTheWay(ctx, at)
	dir = r.env.Folder("copy")
	if err := r.env.MariaDB.Copy(dir); err != nil {
		return "", err
	}
	began, err := r.env.mark(ctx)
	if err != nil {
		return "", err
	}
	r.onTheWay(ctx, at+5+r.rng.IntN(30))
	for sleep(ctx, 20*time.Millisecond) {
		if now, err := r.env.mark(ctx); err != nil || now > began {
			return dir, err
		}
	}
	return "", ctx.Err()
}

// mark is that of the last heartbeat which Redis knows of.
func (b *environment) mark(ctx context.Context) (int64, error) {
	mark, err := b.rdb.HGet(ctx, "seckill:{fleet}:owner", "mark").Int64()
	if err != nil {
		return 0, fmt.Errorf("read the mark: %w", err)
	}
	return mark, nil
}

// ordersIn reads the round's orders from a copy of the database.
func (r *round) ordersIn(ctx context.Context, copied string) (_ map[int64]row, err error) {
	m, err := servers.StartMariaDB(ctx, copied)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Stop()) }()
	db, err := servers.OpenDatabase(m.DSN(r.env.dbase))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("read the copy: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // it has written nothing
	kept := storeState{orders: map[int64]row{}}
	return kept.orders, kept.readOrders(ctx, tx, r.coupon)
}

// another lets a deployment with a database of its own come to the Redis of the fleet.
func another(ctx context.Context, r *round) (bool, error) {
	dbase, err := r.env.MariaDB.CreateDatabase(ctx)
	if err != nil {
		return false, err
	}
	env, err := withDatabase(r.env.fleet[0].env, r.env.MariaDB.DSN(dbase))
	if err != nil {
		return false, err
	}
	if _, err := migrate(ctx, r.env.program, r.env.Dir, env); err != nil {
		return false, err
	}
	r.onTheWay(ctx, 10+r.rng.IntN(40))
	r.refused(ctx, env)
	return true, ctx.Err()
}

// cloned lets a copy of the fleet's database, on a server of its own, come to the same Redis:
// as another fleet, and as a repair that goes by it.
func cloned(ctx context.Context, r *round) (_ bool, err error) {
	r.onTheWay(ctx, 10+r.rng.IntN(40))
	dir := r.env.Folder("copy")
	if err := r.env.MariaDB.Copy(dir); err != nil {
		return false, err
	}
	m, err := servers.StartMariaDB(ctx, dir)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, m.Kill(), os.RemoveAll(dir)) }()
	env, err := withDatabase(r.env.fleet[0].env, m.DSN(r.env.dbase))
	if err != nil {
		return false, err
	}
	repair := servers.Command(ctx, r.env.Dir, r.env.program, env, "audit", "--coupon", r.coupon, "--repair")
	repair.Args[0] = "seckill"
	if out, err := repair.CombinedOutput(); err == nil || !strings.Contains(string(out), "redis.prefix") {
		r.rec.problem("a repair by a copy of the database was not refused: %v: %s", err, out)
	}
	r.refused(ctx, env)
	return true, ctx.Err()
}

// refused starts an instance of another deployment, which must not serve, and say why.
func (r *round) refused(ctx context.Context, env []string) {
	i := &instance{name: "another deployment", program: r.env.program, env: env, dir: r.env.Dir}
	err := i.start(ctx)
	if err == nil {
		r.rec.problem("another deployment serves with the same Redis and prefix")
		err = i.end()
	} else if strings.Contains(err.Error(), "redis.prefix") {
		return
	}
	if err != nil && ctx.Err() == nil {
		r.rec.problem("another deployment was not refused by name: %v", err)
	}
}

// withDatabase is the environment of a program whose database is another one.
func withDatabase(env []string, dsn string) ([]string, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("read the DSN: %w", err)
	}
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = time.Second, time.Second, time.Second
	return append(slices.Clip(env), "SECKILL_MYSQL__DSN="+cfg.FormatDSN()), nil
}
