package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-sql-driver/mysql"

	"seckill/internal/embedded"
	"seckill/internal/testbed/servers"
)

// Config locates the servers. An empty one is started, privately, if its program is installed.
type Config struct {
	MySQL    string // a DSN of go-sql-driver/mysql whose user may create databases
	Redis    string // host:port of one server
	Embedded bool   // no servers: the embedded Redis, for what it can show
}

// Servers are the servers of a run. Each is started when the first experiment needs it.
type Servers struct {
	config Config

	mu           sync.Mutex
	dir          string
	dirs         int
	redis        string
	redisHost    Text
	dsn          string
	databaseHost Text
	env          Env
	stops        []func() error
}

// NewServers returns servers that are not started yet. Close stops those that were.
func NewServers(c Config) *Servers { return &Servers{config: c} }

var errBadDSN = errors.New("mysql.dsn cannot be parsed") // the driver's error may quote the password

// newDir returns a new directory for a server's data. The caller must hold mu.
func (p *Servers) newDir(name string) (string, error) {
	if p.dir == "" {
		dir, err := os.MkdirTemp("", "seckill-lab-")
		if err != nil {
			return "", fmt.Errorf("make a folder for the servers: %w", err)
		}
		p.dir = dir
	}
	p.dirs++
	return filepath.Join(p.dir, name+strconv.Itoa(p.dirs)), nil
}

// Redis returns the address of a Redis; with isReal, never of the embedded one.
func (p *Servers) Redis(ctx context.Context, isReal bool) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	host, err := p.config.redisHost(isReal)
	if err != nil {
		return "", err
	}
	if p.redis != "" {
		return p.redis, nil
	}
	p.redisHost = host
	switch host {
	case EmbeddedRedis:
		return p.startEmbedded(ctx)
	case privateRedis:
		return p.startRedis(ctx)
	}
	p.redis = p.config.Redis
	return p.redis, nil
}

func (p *Servers) startEmbedded(ctx context.Context) (string, error) {
	e, err := embedded.Start(ctx)
	if err != nil {
		return "", fmt.Errorf("start the embedded Redis: %w", err)
	}
	p.stops = append(p.stops, e.Close)
	p.redis = e.RedisAddr()
	return p.redis, nil
}

func (p *Servers) startRedis(ctx context.Context) (string, error) {
	dir, err := p.newDir("redis")
	if err != nil {
		return "", err
	}
	r, err := servers.StartRedis(ctx, dir)
	if err != nil {
		return "", fmt.Errorf("start a Redis: %w", err)
	}
	p.stops = append(p.stops, r.Stop)
	p.redis = r.Addr()
	return p.redis, nil
}

// PrivateRedis starts a Redis that the caller may break and must stop.
func (p *Servers) PrivateRedis(ctx context.Context, settings ...servers.Setting) (*servers.Redis, error) {
	if p.config.Embedded {
		return nil, errNotEmbedded
	}
	p.mu.Lock()
	dir, err := p.newDir("redis")
	p.mu.Unlock()
	if err != nil {
		return nil, err
	}
	r, err := servers.StartRedis(ctx, dir, settings...)
	if err != nil {
		return nil, fmt.Errorf("start a Redis for this experiment alone: %w", missing(err))
	}
	return r, nil
}

// Database returns the DSN of a MariaDB or MySQL, with a temporary database that Close drops.
func (p *Servers) Database(ctx context.Context) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dsn != "" {
		return p.dsn, nil
	}
	host, err := p.config.databaseHost()
	if err != nil {
		return "", err
	}
	p.databaseHost = host
	if host == privateMariaDB {
		return p.startMariaDB(ctx)
	}
	dsn, err := mysql.ParseDSN(p.config.MySQL)
	if err != nil {
		return "", errBadDSN
	}
	name, drop, err := createDatabase(ctx, dsn)
	if err != nil {
		return "", err
	}
	p.stops = append(p.stops, drop)
	dsn.DBName = name
	p.dsn = dsn.FormatDSN()
	return p.dsn, nil
}

func (p *Servers) startMariaDB(ctx context.Context) (string, error) {
	dir, err := p.newDir("mariadb")
	if err != nil {
		return "", err
	}
	db, err := servers.StartMariaDB(ctx, dir)
	if err != nil {
		return "", fmt.Errorf("start a MariaDB: %w", err)
	}
	p.stops = append(p.stops, db.Stop)
	name, err := db.CreateDatabase(ctx)
	if err != nil {
		return "", fmt.Errorf("make a database: %w", err)
	}
	p.dsn = db.DSN(name)
	return p.dsn, nil
}

// used returns the servers that the experiment ran on.
func (p *Servers) used(needs []Server) []Text {
	p.mu.Lock()
	defer p.mu.Unlock()
	on := []Text{}
	if slices.Contains(needs, Redis) || slices.Contains(needs, RealRedis) {
		on = append(on, p.redisHost)
	}
	if slices.Contains(needs, Database) {
		on = append(on, p.databaseHost)
	}
	if slices.Contains(needs, OwnRedis) {
		on = append(on, ownRedis)
	}
	return on
}

// Close stops the servers that were started and drops what was created.
func (p *Servers) Close() error {
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

// ConfigOf returns the servers that SECKILL_ variables of the environment name.
func ConfigOf(environ []string) (c Config) {
	for _, one := range environ {
		switch name, value, _ := strings.Cut(one, "="); name {
		case "SECKILL_MYSQL__DSN":
			c.MySQL = value
		case "SECKILL_REDIS__ADDRS":
			first, _, _ := strings.Cut(value, ",")
			c.Redis = strings.TrimSpace(first)
		}
	}
	return c
}

// Or returns c with the servers of other where c has none.
func (c Config) Or(other Config) Config {
	c.MySQL, c.Redis = cmp.Or(c.MySQL, other.MySQL), cmp.Or(c.Redis, other.Redis)
	return c
}

// Check returns an error if c cannot be right.
func (c Config) Check() error {
	if c.Redis != "" {
		if _, _, err := net.SplitHostPort(c.Redis); err != nil {
			return fmt.Errorf("redis.addrs: %w", err)
		}
	}
	if c.MySQL != "" {
		if _, err := mysql.ParseDSN(c.MySQL); err != nil {
			return errBadDSN
		}
	}
	return nil
}
