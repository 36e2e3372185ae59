package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/go-sql-driver/mysql"

	"example.com/seckill/internal/platform/embedded"
	"example.com/seckill/internal/tools/servers"
)

// Config locates the servers. If an address is empty, the lab starts a private server, provided that its
// program is installed.
type Config struct {
	MySQL    string // a DSN of go-sql-driver/mysql whose user may create databases
	Redis    string // host:port of one server
	Embedded bool   // no servers: only the embedded Redis
}

// Servers are the servers of a run. Each is started when the first experiment needs it.
type Servers struct {
	config Config

	mu           sync.Mutex
	bed          *servers.Env // nil before the first use
	redis        string
	redisHost    Text
	dsn          string
	databaseHost Text
	env          Env
}

// NewServers returns servers that are not started yet. Close stops the servers that were started since.
func NewServers(c Config) *Servers { return &Servers{config: c} }

var errBadDSN = errors.New("mysql.dsn cannot be parsed") // the driver's error may quote the password

// open returns the Env of the servers, and makes it if there is none. The caller must hold mu.
func (p *Servers) open() (*servers.Env, error) {
	if p.bed == nil {
		bed, err := servers.NewEnv("seckill-lab")
		if err != nil {
			return nil, err
		}
		p.bed = bed
	}
	return p.bed, nil
}

// Redis returns the address of a Redis. With isReal it never returns the embedded Redis.
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
	if host != EmbeddedRedis && host != privateRedis {
		p.redis = p.config.Redis
		return p.redis, nil
	}
	bed, err := p.open()
	if err != nil {
		return "", err
	}
	if host == privateRedis {
		r, err := bed.StartRedis(ctx)
		if err != nil {
			return "", fmt.Errorf("start a Redis: %w", err)
		}
		p.redis = r.Addr()
		return p.redis, nil
	}
	e, err := embedded.Start(ctx)
	if err != nil {
		return "", fmt.Errorf("start the embedded Redis: %w", err)
	}
	bed.OnClose(e.Close)
	p.redis = e.RedisAddr()
	return p.redis, nil
}

// PrivateRedis starts a Redis that the caller may break and must stop.
func (p *Servers) PrivateRedis(ctx context.Context, settings ...servers.Setting) (*servers.Redis, error) {
	if p.config.Embedded {
		return nil, errNotEmbedded
	}
	p.mu.Lock()
	bed, err := p.open()
	if err != nil {
		p.mu.Unlock()
		return nil, err
	}
	dir := bed.Folder("redis")
	p.mu.Unlock()
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
	bed, err := p.open()
	if err != nil {
		return "", err
	}
	if host == privateMariaDB {
		return p.startMariaDB(ctx, bed)
	}
	dsn, err := mysql.ParseDSN(p.config.MySQL)
	if err != nil {
		return "", errBadDSN
	}
	name, drop, err := createDatabase(ctx, dsn)
	if err != nil {
		return "", err
	}
	bed.OnClose(drop)
	dsn.DBName = name
	p.dsn = dsn.FormatDSN()
	return p.dsn, nil
}

func (p *Servers) startMariaDB(ctx context.Context, bed *servers.Env) (string, error) {
	if err := bed.StartMariaDB(ctx); err != nil {
		return "", fmt.Errorf("start a MariaDB: %w", err)
	}
	name, err := bed.MariaDB.CreateDatabase(ctx)
	if err != nil {
		return "", fmt.Errorf("make a database: %w", err)
	}
	p.dsn = bed.MariaDB.DSN(name)
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

// Close stops the servers that were started, and drops the database that was created.
func (p *Servers) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bed == nil {
		return nil
	}
	return p.bed.Close()
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

// Check returns an error if an address in c cannot be right.
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
