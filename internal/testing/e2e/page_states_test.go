package e2e_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
)

// TestPage_EverySaleState_Fits looks at each state of the stage, and at what comes of a tap, on a
// phone, a tablet and a large screen.
func TestPage_EverySaleState_Fits(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	for n, l := range testservers.Sample(t, 1, allWidths) {
		t.Run(l.String(), func(t *testing.T) {
			link := newUplink(t, shop.url)
			v := b.open(t, link.url+"?lang="+l.language, l)
			buyer := int64(1500 + 10*n)
			v.fill("#user", itoa(int(buyer)))
			v.choose(shop.saleFrom(t, "Soon", 5, time.Hour))
			v.means("#stage-state", "soon")
			v.fits("soon", l)

			id := shop.saleFrom(t, "Tea", 2, -time.Minute)
			v.choose(id)
			v.means("#stage-state", "on_sale")
			v.fits("on-sale", l)
			v.click("#buy") // and is logged in by it
			v.means("#outcome", "bought")
			v.says("#who-name", itoa(int(buyer)))
			v.means("#orders .badge", "pending")
			v.fits("bought", l)
			v.click(".trace button")
			v.until(`document.querySelectorAll("#orders .lanes li").length >= 6`) // a unit of a sibling is a step more
			v.fits("traced", l)

			shop.as(t, buyer+1).buyInTheEnd(id)
			v.means("#stage-state", "gone")
			v.until(`document.querySelector("#moment").checkVisibility()`)
			v.fits("gone", l)

			paused := shop.saleFrom(t, "Pause", 5, -time.Minute)
			r := shop.asAdmin(t).do(http.MethodDelete, "/api/v1/admin/coupons/"+paused+"/publication", "")
			require.Equal(t, http.StatusOK, r.status, r.body)
			v.choose(paused)
			v.means("#stage-state", "paused")
			v.fits("paused", l)

			over := shop.saleFrom(t, "Over", 5, -time.Minute)
			r = shop.asAdmin(t).do(http.MethodPatch, "/api/v1/admin/coupons/"+over, `{"state":"ended"}`)
			require.Equal(t, http.StatusOK, r.status, r.body)
			v.choose(over)
			v.means("#stage-state", "ended")
			v.fits("over", l)

			v.choose(shop.saleFrom(t, "Away", 5, -time.Minute))
			link.down(v)
			v.click("#buy")
			v.means("#outcome", "offline")
			v.fits("offline", l)
			link.up(v)
			v.means("#outcome", "bought")
		})
	}
}

// A demonstration shows its audit to a visitor who is no administrator, in words and, on demand, in letters.
func TestPage_DemonstrationVisitor_SeesAudit(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	for _, l := range testservers.Sample(t, 1, allWidths) {
		t.Run(l.String(), func(t *testing.T) {
			v := b.open(t, shop.url+"?lang="+l.language, l)
			v.view("engine")
			v.until("document.querySelectorAll('#lamps .lamp.ok').length === 10")
			assert.False(t, js[bool](v, `import("/server.js").then((m) => m.isAdmin())`), "to look makes no administrator")
			assert.False(t, js[bool](v, `document.querySelector("#audit-admin").checkVisibility()`))
			v.says("#lamps li", "1,000")
			v.click("#letters summary")
			v.says("#letters p", "D + A = T")
			v.fits("lamps", l)
		})
	}
}
