package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	_ "github.com/go-sql-driver/mysql" // the database's counters
	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/tools/rush"
	"example.com/seckill/internal/tools/servers"
)

// deployment is one process or several, with stores in which nothing has happened yet.
type deployment struct {
	process *servers.Program // the first, which serves the administrator
	fleet   []*servers.Program
	watched statsSource
	admin   string // token; "" for the bare route
	token   func(ctx context.Context, userID int64) (string, error)
	stops   []func() error
}

// open starts the program with the path's settings, or the bare route.
func (h *env) open(ctx context.Context, p path) (*deployment, error) {
	return h.openFleet(ctx, p, h.alone())
}

// alone returns one instance on the one Redis.
func (h *env) alone() cluster { return cluster{instances: 1, nodes: []*servers.Redis{h.Redis}} }

// openFleet is open for several instances, on any Redis.
func (h *env) openFleet(ctx context.Context, p path, f cluster) (_ *deployment, err error) {
	s := &deployment{token: rush.Signed(h.secret)}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if p.sale == bareRoute {
		for range f.instances {
			if err := s.serve(ctx, h, h.bare, nil); err != nil {
				return nil, err
			}
		}
		return s, nil
	}
	for _, node := range f.nodes {
		rdb := redis.NewClient(&redis.Options{Addr: node.Addr()})
		s.stops = append(s.stops, rdb.Close)
		if err := rdb.FlushAll(ctx).Err(); err != nil {
			return nil, fmt.Errorf("empty Redis: %w", err)
		}
		s.watched.rdb, s.watched.nodes = append(s.watched.rdb, rdb), append(s.watched.nodes, node.PID())
	}
	name, err := h.MariaDB.CreateDatabase(ctx)
	if err != nil {
		return nil, err
	}
	s.stops = append(s.stops, func() error { return h.MariaDB.DropDatabase(context.WithoutCancel(ctx), name) })
	env := slices.Concat(h.settings(h.MariaDB.DSN(name)), f.settings(), p.env)
	if out, err := servers.Command(ctx, h.Dir, h.program, env, "migrate").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("seckill migrate: %w: %s", err, out)
	}
	if s.admin, err = h.adminToken(ctx, env); err != nil {
		return nil, err
	}
	if s.watched.db, err = sql.Open("mysql", h.MariaDB.DSN("")); err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	s.stops = append(s.stops, s.watched.db.Close)
	s.watched.database = h.MariaDB.PID()
	for range f.instances {
		if err := s.serve(ctx, h, h.program, env, f.serveArgs()...); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// serve starts one more process.
func (s *deployment) serve(ctx context.Context, h *env, program string, env []string, args ...string) error {
	p, err := servers.Serve(ctx, servers.Command(context.WithoutCancel(ctx), h.Dir, program, env, args...))
	if err != nil {
		return err
	}
	s.stops = append(s.stops, p.Stop)
	s.fleet = append(s.fleet, p)
	s.process = s.fleet[0]
	s.watched.programs = append(s.watched.programs, p.PID())
	return nil
}

func (s *deployment) close() (err error) {
	for _, stop := range slices.Backward(s.stops) {
		err = errors.Join(err, stop())
	}
	return err
}

// sell puts a coupon on sale, one unit to a user, and returns its id.
func (s *deployment) sell(ctx context.Context, stock int, begins time.Time) (id string, err error) {
	if s.admin == "" {
		return "1", nil // the bare route has every coupon
	}
	var made struct {
		ID string `json:"id"`
	}
	err = s.post(ctx, "/api/v1/admin/coupons", map[string]any{
		"title": "Bench", "stock": stock, "limit_per_user": 1, "begins_at": begins.UTC(), "ends_at": begins.UTC().Add(24 * time.Hour),
	}, &made)
	if err == nil {
		err = s.post(ctx, "/api/v1/admin/coupons/"+made.ID+"/publication", nil, &made)
	}
	return made.ID, err
}

// admins has a long timeout: loading a large sale is one request.
var admins = &http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}

func (s *deployment) post(ctx context.Context, path string, body, into any) error {
	return servers.AskJSON(ctx, admins, http.MethodPost, s.process.URL+path, s.admin, body, into)
}
