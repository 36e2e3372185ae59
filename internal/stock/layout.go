package stock

import (
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// The data of a shard has a layout, and its meta has the layout's number (lua/layout.lua). During an upgrade
// programs of two versions share the shards. A newer program works with the data of an older one
// if it knows that layout; otherwise it loads the shards again. An
// older program must not touch a layout that it does not know: each script refuses it.

// layout is the number that clear.lua writes.
const layout = 1

// newerLayout records that this instance met a shard of a newer program.
type newerLayout struct {
	at  time.Time
	err error
}

// newerFor is how long an instance counts as too old after it met a shard of a newer program.
// It reads the loaded shards once a second.
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
