package stock

import (
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/coupon"
)

// What a shard keeps has a layout, whose number its meta has (lua/layout.lua). During an upgrade
// programs of two versions share the shards. A newer one works with what an older one has loaded
// as long as it knows that layout; one that knows it no more loads the shards again. An
// older one must not touch what it does not know: each script that could refuses it.

// The layouts that clear.lua writes. In layoutStockRows the shard is as in layoutPlain, and the database
// keeps the coupon's stock in a row a shard, which programs that know layoutPlain alone do not.
const (
	layoutPlain     = 1
	layoutStockRows = 2
)

func layoutOf(l coupon.Load) int {
	if l.StockRows > 0 {
		return layoutStockRows
	}
	return layoutPlain
}

// newerLayout is that a shard of a newer program was seen.
type newerLayout struct {
	at  time.Time
	err error
}

// newerFor is how long an instance counts as too old after it has seen a shard of a newer program.
// The loaded shards are looked at once a second.
const newerFor = 5 * time.Second

// IsNewerLayout reports whether a script has refused a shard of a newer program.
func IsNewerLayout(err error) bool { return redis.HasErrorPrefix(err, "NEWERLAYOUT") }

func (s *Stock) noteLayout(shard int, couponID int64, err error) {
	if IsNewerLayout(err) {
		text := strings.TrimPrefix(err.Error(), "NEWERLAYOUT ")
		s.newer.Store(&newerLayout{time.Now(), fmt.Errorf("shard %d of coupon %d in Redis: %s", shard, couponID, text)})
	}
}

// CheckLayout returns an error while a loaded shard is of a newer program: this one is too old to
// sell.
func (s *Stock) CheckLayout() error {
	if seen := s.newer.Load(); seen != nil && time.Since(seen.at) < newerFor {
		return seen.err
	}
	return nil
}
