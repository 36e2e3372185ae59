package e2e_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/rush"
)

// drawOf is a draw as it is shown.
type drawOf struct {
	SeedHash string    `json:"seed_hash"`
	Seed     string    `json:"seed"`
	DrawsAt  time.Time `json:"draws_at"`
	EndedAt  time.Time `json:"ended_at"`
	Entrants int       `json:"entrants"`
	Winners  int       `json:"winners"`
}

func (i *instance) draw(t testing.TB, coupon string) (d drawOf) {
	t.Helper()
	r := i.as(t, 1).do(http.MethodGet, "/api/v1/coupons/"+coupon+"/draw", "")
	require.Equal(t, http.StatusOK, r.status, r.body)
	require.NoError(t, json.Unmarshal([]byte(r.body), &d))
	return d
}

// Two of three instances are killed while the tickets are drawn, whichever does it: the draw is gone on
// with, by the same ranks.
func TestLottery_InstancesDie_DrawFinishes(t *testing.T) {
	testservers.OneOf(t, 2)
	t.Parallel()
	s := newShop(t, "SECKILL_ORDER__MODE=queue", "SECKILL_ORDER__QUEUE_ORDER=lottery", "SECKILL_ORDER__LOTTERY_WINDOW=8s", "SECKILL_RATE_LIMIT__PER_USER=0")
	fleet := s.fleet(t)
	const stock, users = 60, 240
	id := fleet[0].saleFrom(t, "Lottery", stock, 0)
	before := fleet[0].draw(t, id)
	require.Empty(t, before.Seed)
	done := make(chan rush.Report, 1)
	go func() {
		r, err := rush.Run(t.Context(), rush.Options{
			URL: fleet[0].url, Keys: true, Token: rush.Signed(secret), FirstUser: 1, Users: users, Coupon: id, DoubleTapEvery: 4, Concurrency: 16,
		})
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	time.Sleep(time.Until(before.DrawsAt))
	for _, i := range fleet[1:] {
		time.Sleep(50 * time.Millisecond)
		i.kill(t)
	}
	var after drawOf
	within(t, busy, func() error {
		if after = fleet[0].draw(t, id); after.EndedAt.IsZero() {
			return errors.New("the draw has not ended")
		}
		return nil
	})
	assert.Equal(t, before.SeedHash, after.SeedHash)
	assert.NotEmpty(t, after.Seed)
	assert.Equal(t, stock, after.Winners)
	sum := <-done
	assert.Empty(t, sum.Violations)
	assert.Zero(t, sum.Failed, "%v", sum.Failures)
	assert.Positive(t, sum.Refused["not_drawn"])
	fleet[1].restart(t)
	fleet[2].restart(t)
	got := s.auditedTwice(t, fleet[1], id)
	assert.Equal(t, stock, got.Live)
	assert.Equal(t, "ok", got.status("I12"))
}
