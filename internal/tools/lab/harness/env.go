package harness

import (
	"context"

	"github.com/go-sql-driver/mysql"
)

// Env is what a whole program can run on: an empty database and an empty Redis.
type Env struct {
	DSN   string
	Redis string
}

// Env returns the Env that all cases share, and starts it on first use.
func (run *Run) Env() Env {
	shop, err := run.servers.openEnv(run.ctx)
	run.Must(err)
	return shop
}

func (p *Servers) openEnv(ctx context.Context) (Env, error) {
	at, err := p.Database(ctx)
	if err != nil {
		return Env{}, err
	}
	p.mu.Lock()
	shop := p.env
	p.mu.Unlock()
	if shop != (Env{}) {
		return shop, nil
	}
	r, err := p.PrivateRedis(ctx)
	if err != nil {
		return Env{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bed.OnClose(r.Kill)
	dsn, err := mysql.ParseDSN(at)
	if err != nil {
		return Env{}, err //nolint:wrapcheck // the same package formatted it
	}
	name, drop, err := createDatabase(ctx, dsn)
	if err != nil {
		return Env{}, err
	}
	p.bed.OnClose(drop)
	dsn.DBName = name
	p.env = Env{DSN: dsn.FormatDSN(), Redis: r.Addr()}
	return p.env, nil
}
