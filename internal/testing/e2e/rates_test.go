package e2e_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestRateLimit_UserOfAllInstances_IsShared(t *testing.T) {
	t.Parallel()
	const perSecond, burst, seconds = 20, 8, 4
	s := newShop(t, "SECKILL_RATE_LIMIT__PER_USER=20", "SECKILL_RATE_LIMIT__BURST=8")
	fleet := s.fleet(t)
	var served atomic.Int64
	var asking sync.WaitGroup
	began := time.Now()
	for _, in := range fleet {
		c := in.as(t, 7)
		asking.Go(func() {
			for time.Since(began) < seconds*time.Second {
				got, err := c.try(http.MethodGet, "/api/v1/orders", "")
				if err == nil && got.status == http.StatusOK {
					served.Add(1)
				}
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	asking.Wait()
	t.Logf("%d served by %d instances, and the limit is %d", served.Load(), len(fleet), burst+perSecond*seconds)
	// Each by itself would be 88; a pass that comes a second late costs 20 of each.
	assert.Less(t, served.Load(), int64(len(fleet)*(burst+perSecond*seconds)*2/3))
	assert.Greater(t, served.Load(), int64(perSecond*seconds/2))
}
