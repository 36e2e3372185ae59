package scale

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	_ "github.com/go-sql-driver/mysql" // fills in
	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/tools/rush"
	"example.com/seckill/internal/tools/servers"
)

// shards is how many the coupons have.
const shards = 8

// sale is the servers of one sale, the program on them, and how far the sale has come.
type sale struct {
	*workspace
	*servers.Env

	buyers   int64
	client   *redis.Client // its calls are not the program's, and known by its name
	raw      *sql.DB       // fills in
	settings []string
	program  *servers.Program
	drawer   *servers.Program // an instance of order.queue_order lottery; nil before the draw
	admin    string           // token
	coupon   string
	drawn    string                 // the coupon of the draw
	watched  atomic.Pointer[string] // the coupon, once it is there, for the watch of a phase
	other    string                 // the coupon that sells on,
	otherURL string                 // at this instance
	sold     bool                   // the sale was played or filled in
	ended    bool
	first    int64 // the next buyer of the other coupon
	many     many
}

// client names of the generator, in Redis.
const clientName = "scale"

func (h *workspace) open(ctx context.Context, buyers int64) (_ *sale, err error) {
	s := &sale{workspace: h, buyers: buyers, first: 1 << 40}
	if s.Env, err = h.Servers(ctx); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	s.client = redis.NewClient(&redis.Options{Addr: s.Redis.Addr(), ClientName: clientName, ReadTimeout: time.Minute})
	s.OnClose(s.client.Close)
	if err := s.client.FlushAll(ctx).Err(); err != nil {
		return nil, fmt.Errorf("empty Redis: %w", err)
	}
	name, err := s.MariaDB.CreateDatabase(ctx)
	if err != nil {
		return nil, err
	}
	s.OnClose(func() error { return s.MariaDB.DropDatabase(context.WithoutCancel(ctx), name) })
	dsn := "root@tcp(" + s.MariaDB.Addr() + ")/" + name + "?timeout=2s"
	if s.raw, err = sql.Open("mysql", dsn+"&multiStatements=true&interpolateParams=true"); err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	s.OnClose(s.raw.Close)
	s.settings = []string{
		"SECKILL_MYSQL__DSN=" + dsn + "&readTimeout=2s&writeTimeout=2s", // as README.md recommends
		"SECKILL_REDIS__ADDRS=" + s.Redis.Addr(), "SECKILL_AUTH__SECRET=" + h.secret,
		"SECKILL_AUTH__TOKEN_TTL=24h", "SECKILL_HTTP__ADDR=127.0.0.1:0", "SECKILL_ADMIN__ADDR=127.0.0.1:0",
		"SECKILL_LOG__FORMAT=json", "SECKILL_HTTP__DRAIN_DELAY=1s", "SECKILL_RATE_LIMIT__PER_USER=0", "SECKILL_ORDER__PAYMENT_TIMEOUT=24h",
		"SECKILL_STOCK__SHARDS=" + strconv.Itoa(shards), "SECKILL_ORDER__BACKGROUND_INTERVAL=" + h.Tick.String(),
	}
	return s, s.serve(ctx)
}

// serve makes the schema and starts the program, with the other coupon on sale.
func (s *sale) serve(ctx context.Context) (err error) {
	for _, args := range [][]string{{"migrate"}, {"token", "--user", "1", "--role", "admin"}} {
		out, err := s.run(ctx, nil, args...)
		if err != nil {
			return err
		}
		s.admin = strings.TrimSpace(out)
	}
	if s.program, err = servers.Serve(ctx, servers.Command(context.WithoutCancel(ctx), s.dir, s.Program, s.settings, "serve")); err != nil {
		return err
	}
	s.OnClose(s.program.Stop)
	s.otherURL = s.program.URL
	s.other, err = s.publish(ctx, 10_000_000)
	return err
}

// announce makes a coupon, one to a user.
func (s *sale) announce(ctx context.Context, units int64) (string, error) {
	var made struct {
		ID string `json:"id"`
	}
	now := time.Now().UTC()
	err := s.call(ctx, http.MethodPost, "", map[string]any{
		"title": "Half price", "stock": units, "limit_per_user": 1, "price_cents": 199,
		"begins_at": now.Add(-time.Hour), "ends_at": now.Add(24 * time.Hour),
	}, &made)
	return made.ID, err
}

// publish announces a coupon and puts it on sale.
func (s *sale) publish(ctx context.Context, units int64) (string, error) {
	id, err := s.announce(ctx, units)
	if err == nil {
		err = s.load(ctx, id)
	}
	return id, err
}

// load publishes a coupon and waits until it is on sale, also if that takes longer than a
// request may: some instance goes on with it.
func (s *sale) load(ctx context.Context, id string) error {
	err := s.call(ctx, http.MethodPost, "/"+id+"/publication", nil, nil)
	refused, ok := errors.AsType[*servers.RefusedError](err)
	if later := ok && refused.Status >= http.StatusInternalServerError; err != nil && !later {
		return err
	}
	return s.await(ctx, func(ctx context.Context) (bool, error) {
		is, err := s.row(ctx, id)
		return is.state == "on_sale" && !is.loading, err
	})
}

// row is a coupon's row.
type row struct {
	epoch, stock int64
	shards       int
	loading      bool
	state        string
}

func (s *sale) row(ctx context.Context, id string) (is row, err error) {
	err = s.raw.QueryRowContext(ctx, "SELECT epoch, stock, shards, loading <> 0, state FROM coupons WHERE id = ?", id).
		Scan(&is.epoch, &is.stock, &is.shards, &is.loading, &is.state)
	if err != nil {
		return is, fmt.Errorf("read coupon %s: %w", id, err)
	}
	return is, nil
}

// await asks until it is so. It repeats a question that is dear only seldom.
func (s *sale) await(ctx context.Context, is func(context.Context) (bool, error)) error {
	for {
		began := time.Now()
		if done, err := is(ctx); done || err != nil {
			return err
		}
		if s.program.Ended() {
			return errors.New("the program has ended: " + s.program.Tail())
		}
		select {
		case <-time.After(min(time.Second, max(2*time.Millisecond, 10*time.Since(began)))):
		case <-ctx.Done():
			return fmt.Errorf("%w while it was waited for; the program says: %s", context.Cause(ctx), s.program.Tail())
		}
	}
}

// admins is patient: loading a large sale is one answer.
var admins = &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}

// call asks the program as its administrator.
func (s *sale) call(ctx context.Context, method, path string, body, into any) error {
	return servers.AskJSON(ctx, admins, method, s.program.URL+"/api/v1/admin/coupons"+path, s.admin, body, into)
}

// rushSize is how many buyers one crowd has: the generator keeps a record of each.
const rushSize = 50_000

// rush sends all buyers, in crowds one after the other, and tells how long they took.
func (s *sale) rush(ctx context.Context, r *Row) error {
	for first := int64(1); first <= s.buyers; first += rushSize {
		rep, err := rush.Run(ctx, rush.Options{
			URL: s.program.URL, Coupon: s.coupon, FirstUser: first, Users: int(min(rushSize, s.buyers+1-first)), Keys: true,
			Token: rush.Signed(s.secret),
		})
		if err != nil {
			return fmt.Errorf("buyers from %d on: %w", first, err)
		}
		if rep.GaveUp != "" {
			return fmt.Errorf("buyers from %d on: %s; the program says: %s", first, rep.GaveUp, s.program.Tail())
		}
		if rep.Stopped {
			return context.Cause(ctx)
		}
		r.Took += time.Duration(rep.Seconds * float64(time.Second))
		r.Items += int64(rep.Accepted)
		r.Violated = append(r.Violated, rep.Violations...)
		if missing := rep.Asked - rep.Accepted; missing > 0 {
			r.note("%d buyers from %d on got nothing: %v %v", missing, first, rep.Refused, rep.Failures)
		}
	}
	return nil
}
