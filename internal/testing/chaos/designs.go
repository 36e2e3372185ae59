package chaos

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"example.com/seckill/internal/tools/designs"
	"example.com/seckill/internal/tools/servers"
)

// The victims of a killing.
const (
	killProgram = "program"
	killRedis   = "Redis" // it keeps nothing on disk, and so comes back empty
)

// DesignOptions configure the killings.
type DesignOptions struct {
	Program string // a seckill
	Designs []string
	Units   int                // of each sale; default 1500
	Each    func(DesignResult) // called with each result; may be nil
	Wait    time.Duration      // for acknowledged orders to become rows; default 15 s
}

// DesignResult is what became of a sale whose program or Redis was killed by SIGKILL and started again.
type DesignResult struct {
	Design       string  `json:"design"`
	Killed       string  `json:"killed"`
	Acknowledged int     `json:"acknowledged"` // orders that were answered with 201
	Lost         int     `json:"lost"`         // of them, those without a row
	Oversold     int     `json:"oversold"`
	SoldTwice    int     `json:"sold_twice"` // orders above the limit of their users
	Undersold    int     `json:"undersold"`  // units that are left, although buyers wanted them
	AgainMS      float64 `json:"again_ms"`   // from the kill to the first 201 that was asked for after it
}

// RightDesigns are this program and the right designs.
func RightDesigns() []string {
	names := []string{designs.Own}
	for _, d := range designs.All() {
		if !d.Wrong() {
			names = append(names, d.Name)
		}
	}
	return names
}

// PlayDesigns kills the program in the midst of a sale of each design, and Redis in the midst of another. There is one
// instance, so the sale stands still until it serves again. The faults of chaos are for the program's own order path,
// and this function does not play them.
func PlayDesigns(ctx context.Context, o DesignOptions) (all []DesignResult, err error) {
	if o.Units == 0 {
		o.Units = 1500
	}
	if o.Wait == 0 {
		o.Wait = 15 * time.Second
	}
	env, err := servers.NewEnv("seckill-designs")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, env.Close()) }()
	if err := env.StartMariaDB(ctx); err != nil {
		return nil, err
	}
	for _, design := range o.Designs {
		for _, victim := range []string{killProgram, killRedis} {
			k := &killing{env: env, o: o, result: DesignResult{Design: design, Killed: victim}}
			if err := k.play(ctx); err != nil {
				return all, fmt.Errorf("%s, %s killed: %w", design, victim, err)
			}
			all = append(all, k.result)
			if o.Each != nil {
				o.Each(k.result)
			}
		}
	}
	return all, nil
}

// killing is one sale.
type killing struct {
	env    *servers.Env
	o      DesignOptions
	result DesignResult

	redis    *servers.Redis
	db       *sql.DB
	client   *client
	settings []string
	program  atomic.Pointer[servers.Program]

	mu     sync.Mutex
	acked  map[string]bool // by order id
	killed time.Time       // when the signal was sent
	dead   time.Time       // when the victim had ended
	again  time.Time
}

func (k *killing) play(ctx context.Context) (err error) {
	name, err := k.env.MariaDB.CreateDatabase(ctx)
	if err != nil {
		return err
	}
	dsn := k.env.MariaDB.DSN(name)
	if k.redis, err = servers.StartRedis(ctx, k.env.Folder("redis")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.redis.Kill()) }()
	if k.db, err = sql.Open("mysql", dsn); err != nil {
		return fmt.Errorf("open the database: %w", err)
	}
	defer func() { err = errors.Join(err, k.db.Close()) }()
	k.client = newClient(&environment{secret: "a secret of thirty-two characters"})
	defer k.client.http.CloseIdleConnections()
	k.acked = map[string]bool{}
	k.settings = []string{
		"SECKILL_MYSQL__DSN=" + dsn, "SECKILL_REDIS__ADDRS=" + k.redis.Addr(), "SECKILL_AUTH__SECRET=" + k.client.env.secret,
		"SECKILL_RATE_LIMIT__PER_USER=0", "SECKILL_HTTP__ADDR=127.0.0.1:0", "SECKILL_ADMIN__ADDR=127.0.0.1:0", "SECKILL_LOG__FORMAT=json",
		"SECKILL_HTTP__DRAIN_DELAY=0s", "SECKILL_ALLOW_WRONG_DESIGN=1",
	}
	if out, err := servers.Command(ctx, k.env.Dir, k.o.Program, k.settings, "migrate").CombinedOutput(); err != nil {
		return fmt.Errorf("seckill migrate: %w: %s", err, out)
	}
	if err := k.serve(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.program.Load().Stop()) }()
	coupon, err := k.sell(ctx)
	if err != nil {
		return err
	}
	var crowd sync.WaitGroup
	crowd.Go(func() { k.crowd(ctx, coupon) })
	err = k.strike(ctx)
	crowd.Wait()
	if err != nil {
		return err
	}
	return k.judge(ctx, coupon)
}

// serve starts the program, and lets the buyers go to it.
func (k *killing) serve(ctx context.Context) error {
	cmd := servers.Command(context.WithoutCancel(ctx), k.env.Dir, k.o.Program, k.settings, "serve", "--design", k.result.Design)
	p, err := servers.Serve(ctx, cmd)
	if err != nil {
		return err
	}
	k.program.Store(p)
	return nil
}

// sell puts the coupon on sale.
func (k *killing) sell(ctx context.Context) (id string, err error) {
	var made struct {
		ID string `json:"id"`
	}
	now, at, token := time.Now().UTC(), k.program.Load().URL+"/api/v1/admin/coupons", k.client.token(1, "admin")
	err = servers.AskJSON(ctx, tells, http.MethodPost, at, token, map[string]any{
		"title": "Chaos", "stock": k.o.Units, "limit_per_user": 1, "begins_at": now.Add(-time.Minute), "ends_at": now.Add(time.Hour),
	}, &made)
	if err == nil {
		err = servers.AskJSON(ctx, tells, http.MethodPost, at+"/"+made.ID+"/publication", token, nil, &made)
	}
	return made.ID, err
}

// crowd sends two buyers for each unit. Each buyer repeats the request with its key until there is an answer.
func (k *killing) crowd(ctx context.Context, coupon string) {
	var next atomic.Int64
	var buyers sync.WaitGroup
	for range buyersAtOnce {
		buyers.Go(func() {
			for user := next.Add(1); user <= int64(2*k.o.Units) && ctx.Err() == nil; user = next.Add(1) {
				k.buy(ctx, coupon, user)
			}
		})
	}
	buyers.Wait()
}

func (k *killing) buy(ctx context.Context, coupon string, user int64) {
	token, key := k.client.token(user, "user"), fmt.Sprintf("kill-%d", user)
	for until := time.Now().Add(insistFor); time.Now().Before(until); {
		asked := time.Now()
		a := k.client.ask(ctx, k.program.Load().URL, http.MethodPost, "/api/v1/coupons/"+coupon+"/orders", token, key, "")
		if a.status == http.StatusCreated {
			k.note(a.order.ID, asked)
			return
		}
		if a.status != http.StatusAccepted && !a.again() || !sleep(ctx, 20*time.Millisecond) {
			return
		}
	}
}

// note records an acknowledged order.
func (k *killing) note(id string, asked time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.acked[id] = true
	if !k.dead.IsZero() && asked.After(k.dead) && k.again.IsZero() {
		k.again = time.Now()
	}
}

func (k *killing) sold() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.acked)
}

// strike kills the victim when a third of the units are sold, and starts it again at once, as a supervisor does.
func (k *killing) strike(ctx context.Context) error {
	for k.sold() < k.o.Units/3 {
		if !sleep(ctx, time.Millisecond) {
			return ctx.Err()
		}
	}
	killed := time.Now()
	if k.result.Killed == killRedis {
		if err := k.redis.Kill(); err != nil {
			return err
		}
		k.noteDeath(killed)
		return k.redis.Restart(ctx)
	}
	old := k.program.Load()
	old.Signal(syscall.SIGKILL)
	for !old.Ended() {
		if !sleep(ctx, time.Millisecond) {
			return ctx.Err()
		}
	}
	k.noteDeath(killed)
	return k.serve(ctx)
}

// noteDeath records that the victim has ended. An order that was asked for before may be of its last moment.
func (k *killing) noteDeath(killed time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.killed, k.dead = killed, time.Now()
}

// judge compares the answers with the rows, when every acknowledged order has had time to become one.
func (k *killing) judge(ctx context.Context, coupon string) error {
	r := &k.result
	for until := time.Now().Add(k.o.Wait); ; {
		live, lost, err := k.compare(ctx, coupon)
		if err != nil {
			return err
		}
		r.Acknowledged, r.Lost = len(k.acked), lost
		r.Oversold, r.Undersold = max(0, live-k.o.Units), max(0, k.o.Units-live)
		if lost == 0 || time.Now().After(until) || !sleep(ctx, 250*time.Millisecond) {
			break
		}
	}
	err := k.db.QueryRowContext(ctx, "SELECT COALESCE(SUM(n - 1), 0) FROM (SELECT COUNT(*) AS n FROM orders "+
		"WHERE coupon_id = ? AND slot IS NOT NULL GROUP BY user_id) AS of_user", coupon).Scan(&r.SoldTwice)
	if err != nil {
		return fmt.Errorf("count the orders of each user: %w", err)
	}
	if !k.again.IsZero() {
		r.AgainMS = float64(k.again.Sub(k.killed).Microseconds()) / 1000
	}
	return ctx.Err()
}

// compare counts the live orders, and the acknowledged orders without a row.
func (k *killing) compare(ctx context.Context, coupon string) (live, lost int, err error) {
	rows, err := k.db.QueryContext(ctx, "SELECT id FROM orders WHERE coupon_id = ? AND slot IS NOT NULL", coupon)
	if err != nil {
		return 0, 0, fmt.Errorf("read the orders: %w", err)
	}
	defer func() { _ = rows.Close() }() // Err below returns the same error
	found := map[string]bool{}
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return 0, 0, fmt.Errorf("read an order: %w", err)
		}
		found[id] = true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for id := range k.acked {
		if !found[id] {
			lost++
		}
	}
	return len(found), lost, rows.Err()
}

// WriteDesigns writes the results as a table.
func WriteDesigns(w io.Writer, all []DesignResult) error {
	_, err := fmt.Fprintf(w, "%-19s %-8s %12s %5s %8s %10s %9s %s\n",
		"design", "killed", "acknowledged", "lost", "oversold", "sold twice", "undersold", "again after")
	for _, r := range all {
		again := "–"
		if r.AgainMS > 0 {
			again = time.Duration(r.AgainMS * float64(time.Millisecond)).Round(10 * time.Millisecond).String()
		}
		if err == nil {
			_, err = fmt.Fprintf(w, "%-19s %-8s %12d %5d %8d %10d %9d %s\n",
				r.Design, r.Killed, r.Acknowledged, r.Lost, r.Oversold, r.SoldTwice, r.Undersold, again)
		}
	}
	return err //nolint:wrapcheck // the caller's writer failed
}
