package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"github.com/go-sql-driver/mysql"

	"seckill/internal/embedded"
	"seckill/internal/servers"
)

// Config says where the servers are. What is empty is started, privately, if its
// program is installed.
type Config struct {
	MySQL    string // a DSN of go-sql-driver/mysql whose user may create databases
	Redis    string // host:port of one server
	Embedded bool   // no servers: the embedded Redis, for what it can show
}

// Places are the servers of a run. They are had when the first experiment asks.
type Places struct {
	config Config

	mu      sync.Mutex
	dir     string
	private int
	redis   string
	dsn     string
	shop    Shop
	stops   []func() error
	used    []string
}

// NewPlaces promises servers; Close stops what was started.
func NewPlaces(c Config) *Places { return &Places{config: c} }

// ErrNoServer says that an experiment has no server to run on.
var ErrNoServer = errors.New("no server")

// folder is a new folder for a server's data. Called with the mutex.
func (p *Places) folder(name string) (string, error) {
	if p.dir == "" {
		dir, err := os.MkdirTemp("", "seckill-lab-")
		if err != nil {
			return "", fmt.Errorf("make a folder for the servers: %w", err)
		}
		p.dir = dir
	}
	p.private++
	return filepath.Join(p.dir, name+strconv.Itoa(p.private)), nil
}

// Redis is the address of a Redis. A real one is not the embedded one.
func (p *Places) Redis(ctx context.Context, isReal bool) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.config.Embedded && isReal {
		return "", fmt.Errorf("%w: the embedded Redis cannot show it", ErrNoServer)
	}
	if p.redis != "" {
		return p.redis, p.isReal(isReal)
	}
	if p.config.Redis != "" {
		p.redis = p.config.Redis
		p.used = append(p.used, "Redis at "+p.redis)
		return p.redis, nil
	}
	if !p.config.Embedded {
		addr, err := p.startRedis(ctx)
		if missing := (*servers.MissingError)(nil); err == nil || !errors.As(err, &missing) {
			return addr, err
		} else if isReal {
			return "", fmt.Errorf("%w: %w", ErrNoServer, err)
		}
	}
	e, err := embedded.Start(ctx)
	if err != nil {
		return "", fmt.Errorf("start the embedded Redis: %w", err)
	}
	p.config.Embedded = true
	p.stops = append(p.stops, e.Close)
	p.redis = e.RedisAddr()
	p.used = append(p.used, "the embedded Redis (miniredis)")
	return p.redis, nil
}

func (p *Places) isReal(wanted bool) error {
	if wanted && p.config.Embedded {
		return fmt.Errorf("%w: the embedded Redis cannot show it", ErrNoServer)
	}
	return nil
}

func (p *Places) startRedis(ctx context.Context) (string, error) {
	dir, err := p.folder("redis")
	if err != nil {
		return "", err
	}
	r, err := servers.StartRedis(ctx, dir)
	if err != nil {
		return "", fmt.Errorf("start a Redis: %w", err)
	}
	p.stops = append(p.stops, r.Stop)
	p.redis = r.Addr()
	p.used = append(p.used, "a private Redis")
	return p.redis, nil
}

// PrivateRedis starts a Redis that the caller may harm, and stops.
func (p *Places) PrivateRedis(ctx context.Context, settings ...servers.Setting) (*servers.Redis, error) {
	p.mu.Lock()
	dir, err := p.folder("redis")
	p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if p.config.Embedded {
		return nil, fmt.Errorf("%w: the embedded Redis cannot show it", ErrNoServer)
	}
	r, err := servers.StartRedis(ctx, dir, settings...)
	if missing := (*servers.MissingError)(nil); errors.As(err, &missing) {
		return nil, fmt.Errorf("%w: %w", ErrNoServer, err)
	}
	if err != nil {
		return nil, fmt.Errorf("start a private Redis: %w", err)
	}
	return r, nil
}

// Database is the DSN of a MariaDB or MySQL, with a database that is thrown away by
// Close.
func (p *Places) Database(ctx context.Context) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dsn != "" {
		return p.dsn, nil
	}
	if p.config.MySQL == "" {
		return p.startMariaDB(ctx)
	}
	dsn, err := mysql.ParseDSN(p.config.MySQL)
	if err != nil {
		return "", errors.New("mysql.dsn cannot be parsed") // the driver's error may quote the password
	}
	name, drop, err := createDatabase(ctx, dsn)
	if err != nil {
		return "", err
	}
	p.stops = append(p.stops, drop)
	p.used = append(p.used, "the database at "+dsn.Addr)
	dsn.DBName = name
	p.dsn = dsn.FormatDSN()
	return p.dsn, nil
}

func (p *Places) startMariaDB(ctx context.Context) (string, error) {
	if p.config.Embedded {
		return "", fmt.Errorf("%w: SQLite has no row locks and one writer", ErrNoServer)
	}
	dir, err := p.folder("mariadb")
	if err != nil {
		return "", err
	}
	db, err := servers.StartMariaDB(ctx, dir)
	if missing := (*servers.MissingError)(nil); errors.As(err, &missing) {
		return "", fmt.Errorf("%w: %w; or set mysql.dsn", ErrNoServer, err)
	}
	if err != nil {
		return "", fmt.Errorf("start a MariaDB: %w", err)
	}
	p.stops = append(p.stops, db.Stop)
	name, err := db.CreateDatabase(ctx)
	if err != nil {
		return "", fmt.Errorf("make a database: %w", err)
	}
	p.used = append(p.used, "a private MariaDB")
	p.dsn = db.DSN(name)
	return p.dsn, nil
}

// Used tells what the experiments ran on.
func (p *Places) Used() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.used...)
}

// Close stops what was started and throws away what was made.
func (p *Places) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var err error
	for _, stop := range slices.Backward(p.stops) {
		err = errors.Join(err, stop())
	}
	p.stops = nil
	if p.dir != "" {
		err = errors.Join(err, os.RemoveAll(p.dir))
	}
	return err
}

// Check refuses a Config that cannot be meant.
func (c Config) Check() error {
	if c.Redis != "" {
		if _, _, err := net.SplitHostPort(c.Redis); err != nil {
			return fmt.Errorf("redis.addrs: %w", err)
		}
	}
	if c.MySQL != "" {
		if _, err := mysql.ParseDSN(c.MySQL); err != nil {
			return errors.New("mysql.dsn cannot be parsed") // the driver's error may quote the password
		}
	}
	return nil
}
