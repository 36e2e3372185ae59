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

// historyFaults are databases with another past than Redis. They are the instances' own database, rolled back
// to a copy or replaced by a copy, and databases of other deployments that use the same Redis.
func historyFaults() []Fault {
	return []Fault{
		{Name: "database:set-back", kind: plain, harm: databaseSetBack},
		{Name: "database:promoted", kind: proxied, harm: databasePromoted},
		{Name: "deployment:second", kind: plain, harm: another},
		{Name: "deployment:cloned", kind: plain, harm: cloned},
	}
}

// databaseSetBack replaces the database with a copy from earlier in the round. The orders in between are lost
// with the database, but Redis has them.
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

// databasePromoted kills the database and leads the instances to another server, which lacks the last writes.
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

// copyDatabase copies the database during the workload. It returns when more units are sold and the instances
// have written a heartbeat since. The heartbeat matters: if the database comes back within a second without a
// heartbeat in between, no instance could distinguish the copy from a restarted database.
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

// mark returns the mark of the last heartbeat in Redis.
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

// another starts a deployment with a separate database on the Redis of the instances.
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

// cloned runs a copy of the database on another server with the same Redis. It starts a second deployment on
// the copy, and a repair that reads the copy.
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

// refused starts an instance of another deployment. The instance must not serve, and must log the reason.
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

// withDatabase returns the environment of a program that uses another database.
func withDatabase(env []string, dsn string) ([]string, error) {
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("read the DSN: %w", err)
	}
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = time.Second, time.Second, time.Second
	return append(slices.Clip(env), "SECKILL_MYSQL__DSN="+cfg.FormatDSN()), nil
}
