package bench

import (
	"context"

	"github.com/go-sql-driver/mysql"
)

// Shop is where the whole program may be run: a database and a Redis in which nothing
// else is.
type Shop struct {
	DSN   string
	Redis string
}

// Shop starts one, once for all cases of a run.
func (b *Bench) Shop() Shop {
	shop, err := b.places.openShop(b.ctx)
	b.Must(err)
	return shop
}

func (p *Places) openShop(ctx context.Context) (Shop, error) {
	at, err := p.Database(ctx)
	if err != nil {
		return Shop{}, err
	}
	p.mu.Lock()
	shop := p.shop
	p.mu.Unlock()
	if shop != (Shop{}) {
		return shop, nil
	}
	r, err := p.PrivateRedis(ctx)
	if err != nil {
		return Shop{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stops = append(p.stops, r.Stop)
	dsn, err := mysql.ParseDSN(at)
	if err != nil {
		return Shop{}, err //nolint:wrapcheck // it was formatted by the same package
	}
	name, drop, err := createDatabase(ctx, dsn)
	if err != nil {
		return Shop{}, err
	}
	p.stops = append(p.stops, drop)
	dsn.DBName = name
	p.shop = Shop{DSN: dsn.FormatDSN(), Redis: r.Addr()}
	return p.shop, nil
}
