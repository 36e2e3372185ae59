package e2e_test

import (
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
)

// A buyer sees the way of the order that was just bought, on embedded stores and without a
// collector, and is told that nothing is kept of another.
func TestPage_Trace_ShowsStepsOfTheOrder(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	one, two := shop.saleFrom(t, "Tea", 9, -time.Minute), shop.saleFrom(t, "Plum", 9, -time.Minute)
	for n, l := range testservers.Sample(t, 1, visitors) {
		t.Run(l.String(), func(t *testing.T) {
			v := b.open(t, shop.url, l)
			user := int64(700 + n)
			shop.as(t, user).buyInTheEnd(two) // it has not asked for a trace
			v.choose(one)
			v.login(itoa(int(user)))
			v.click("#buy")
			v.means("#outcome", "bought")
			v.until(`document.querySelectorAll("#orders .trace button").length === 2`)
			v.click("#orders li:nth-child(1) .trace button")
			v.until(`document.querySelectorAll("#orders .lanes li").length === 6`)
			require.Equal(t, []string{"admission", "reserve", "lock", "transaction", "unlock", "confirm"},
				js[[]string](v, `[...document.querySelectorAll("#orders .lanes li")].map((e) => e.dataset.step)`))
			// What the order was locked for is over when its unlock begins.
			require.True(t, js[bool](v, `((of) => of(".unlock").left >= of(".transaction").right - 2.5 && of(".held").right >= of(".transaction").right - 2.5)(
				(bar) => document.querySelector("#orders .lanes i" + bar).getBoundingClientRect())`))
			v.means(".trace p", "t_note")
			v.click("#orders li:nth-child(2) .trace button")
			v.means("#orders li:nth-child(2) .trace p", "t_none")
			for _, width := range []int64{390, 768, 1440} {
				v.do(emulation.SetDeviceMetricsOverride(width, 900, 1, width == 390))
				assert.LessOrEqual(t, js[int](v, overhang), 0, "%d", width)
				assert.Empty(t, js[[]string](v, `[...document.querySelectorAll(".lanes span, .lanes small, .trace p")]
					.filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== "inline").map((e) => e.textContent)`), "cut off at %d", width)
				v.picture("trace-" + l.String() + "-" + itoa(int(width)))
			}
			// What took no time, at the end of the order, is seen as well.
			js[bool](v, `((fetched) => { window.fetch = async (url, ...how) => String(url).includes("/trace")
				? Response.json({ steps: [{ step: "reserve", begin_us: 0, took_us: 9999 }, { step: "confirm", begin_us: 9999, took_us: 0 }] })
				: fetched(url, ...how); return true; })(window.fetch)`)
			v.click("#orders li:nth-child(2) .trace button")
			v.click("#orders li:nth-child(2) .trace button")
			v.until(`document.querySelectorAll("#orders li:nth-child(2) .lanes li").length === 2`)
			require.GreaterOrEqual(t, js[float64](v, `((bar) => bar.parentElement.getBoundingClientRect().right - bar.getBoundingClientRect().left)(
				document.querySelector("#orders li:nth-child(2) .lanes i.confirm"))`), 1.9, "pixels")
		})
	}
}
