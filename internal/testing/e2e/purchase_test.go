package e2e_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/rush"
)

// A sale where every order needs a purchase token, which the generator asks for by itself.
func TestPurchaseTokens_Sale_SellsExactly(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"sync", "queue"} {
		t.Run(mode, func(t *testing.T) {
			s := newShop(t, "SECKILL_ORDER__PURCHASE_TOKEN=required", "SECKILL_ORDER__MODE="+mode)
			in := s.instance(t)
			id := in.sale(t, 100, 2)

			bot := in.as(t, 500_000)
			assert.Equal(t, "purchase_token_required", bot.buy(id, "").code())
			var permit struct{ Token string }
			require.NoError(t, json.Unmarshal([]byte(bot.do(http.MethodPost, "/api/v1/coupons/"+id+"/purchase-tokens", "").body), &permit))
			thief := in.as(t, 500_001)
			assert.Equal(t, "purchase_token_invalid", thief.do(http.MethodPost, "/api/v1/coupons/"+id+"/orders", "", "Purchase-Token", permit.Token).code())
			ids := map[string]bool{}
			for range 3 {
				got := bot.do(http.MethodPost, "/api/v1/coupons/"+id+"/orders", "", "Purchase-Token", permit.Token)
				var o orderJSON
				require.NoError(t, json.Unmarshal([]byte(got.body), &o), got.body)
				ids[o.ID] = true
			}
			assert.Len(t, ids, 1, "a token is of one order")

			report := rushEach(t, []*instance{in}, rush.Options{
				Users: 300, Coupon: id, AdminToken: token(t, 1, "admin"), Concurrency: 16,
			})[0]
			assert.Equal(t, 99, report.Accepted)
			assert.Zero(t, report.Failed)
			assert.Equal(t, rush.AuditClean, report.Audit)
		})
	}
}

func TestPage_PurchaseTokens_RequestsOne(t *testing.T) {
	t.Parallel()
	b := theBrowser(t)
	i := embeddedShop(t, "SECKILL_ORDER__PURCHASE_TOKEN=required")
	for n, l := range testservers.Sample(t, 1, visitors) {
		t.Run(l.String(), func(t *testing.T) {
			id := i.sale(t, 10, 2)
			v := b.open(t, i.url, l)
			v.choose(id)
			v.login(itoa(7 + n))
			for range 2 { // each with a token of its own
				v.click("#buy")
				v.means("#outcome", "bought")
			}
			v.until(`document.querySelectorAll("#orders .badge").length === 2`)
		})
	}
}
