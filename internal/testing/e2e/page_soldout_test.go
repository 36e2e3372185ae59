package e2e_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
)

func TestPage_SoldOutWithUnpaidOrders_OffersUnit(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	for n, l := range testservers.Sample(t, 1, allWidths) {
		t.Run(l.String(), func(t *testing.T) {
			id := shop.saleFrom(t, "Tea", 2, -time.Minute)
			first := shop.as(t, int64(2000+10*n))
			one := first.buy(id, "").sold(t, http.StatusCreated)
			other := shop.as(t, int64(2001+10*n))
			two := other.buy(id, "").sold(t, http.StatusCreated)
			require.Equal(t, http.StatusOK, other.do(http.MethodPost, "/api/v1/orders/"+two.ID+"/payment", "").status)

			late := shop.as(t, int64(2002+10*n))
			var p struct {
				Code         string     `json:"code"`
				UnpaidOrders *int64     `json:"unpaid_orders"`
				UnpaidUntil  *time.Time `json:"unpaid_until"`
			}
			within(t, busy, func() error { // the first are told before they are counted
				require.NoError(t, json.Unmarshal([]byte(late.buy(id, "").body), &p))
				if p.UnpaidOrders == nil {
					return assert.AnError
				}
				return nil
			})
			require.Equal(t, "sold_out", p.Code)
			require.Equal(t, int64(1), *p.UnpaidOrders)
			require.WithinDuration(t, one.ExpiresAt, *p.UnpaidUntil, time.Millisecond)

			v := b.open(t, shop.url, l)
			v.choose(id)
			v.login(itoa(2003 + 10*n))
			v.means("#stage-state", "gone")
			v.means("#countdown", "gone_for_now")
			v.taps()
			v.means("#outcome", "sold_out_for_now")
			require.LessOrEqual(t, js[int](v, overhang), 0)
			v.picture("sold-out-for-now-" + l.String())
			require.Equal(t, http.StatusOK, first.do(http.MethodPost, "/api/v1/orders/"+one.ID+"/cancellation", "").status)
			v.means("#outcome", "came_back")
			v.click("#buy")
			v.means("#outcome", "bought")
		})
	}
}
