package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
)

// clocks replaces the two clocks of a device: what Date tells is off by clockOff, and performance.now() by
// upOff, each in milliseconds. A test moves them while the page is open.
func clocks(off time.Duration) string {
	return fmt.Sprintf(`(() => {
		const Real = Date, up = performance.now.bind(performance);
		window.clockOff = %d;
		window.upOff = 0;
		window.Date = class extends Real {
			constructor(...args) { args.length ? super(...args) : super(Real.now() + window.clockOff); }
			static now() { return Real.now() + window.clockOff; }
		};
		performance.now = () => up() + window.upOff;
		window.trueTime = () => Real.now();
	})()`, off.Milliseconds())
}

// takeStream holds a stream of a shop until it is left.
func takeStream(t *testing.T, shop *instance) {
	t.Helper()
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, shop.url+"/api/v1/coupons/1/live", http.NoBody)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() {
		leave()
		_ = resp.Body.Close()
	})
	require.Equal(t, http.StatusOK, resp.StatusCode)
}

// onTime waits until the page's clock is the server's, which is this machine's.
func (v *tab) onTime() {
	v.t.Helper()
	v.until(`import("/core.js").then((m) => Math.abs(m.now() - trueTime()) < 1000)`)
}

// The two ways in which the page follows a sale: by a stream, and by asking where it is refused one.
var ways = []string{"stream", "no stream"}

func followedShop(t *testing.T, way string) *instance {
	t.Helper()
	if way == "stream" {
		return embeddedShop(t)
	}
	shop := embeddedShop(t, "SECKILL_HTTP__MAX_STREAMS=1")
	takeStream(t, shop)
	return shop
}

func TestPage_DeviceClockIsWrong_OpensTheSaleByTheServers(t *testing.T) {
	t.Parallel()
	b := theBrowser(t)
	for _, way := range ways {
		shop := followedShop(t, way)
		for n, off := range []time.Duration{-2 * time.Minute, 2 * time.Hour} {
			t.Run(fmt.Sprint(way, " ", off), func(t *testing.T) {
				v := b.open(t, shop.url, visitors[0], clocks(off))
				v.login(itoa(2100 + n))
				v.choose(shop.saleFrom(t, "Soon", 5, 12*time.Second))
				v.means("#stage-state", "soon")
				v.invites("starts")
				v.onTime()
				v.means("#countdown", "ends")
				v.click("#buy")
				v.means("#outcome", "bought")
				v.until(`/1[0-5]:\d\d /.test(document.querySelector("#orders .due")?.textContent)`) // of 15 minutes
				begins := js[string](v, `new Date(document.querySelector("#c-begins").value).toISOString()`)
				at, err := time.Parse(time.RFC3339, begins)
				require.NoError(t, err)
				assert.WithinDuration(t, time.Now(), at, 2*busy, "the administrator's form proposes the server's time")
			})
		}
	}
}

func TestPage_DeviceClockJumps_KeepsTheServersTime(t *testing.T) {
	t.Parallel()
	b := theBrowser(t)
	for n, way := range ways {
		t.Run(way, func(t *testing.T) {
			shop := followedShop(t, way)
			v := b.open(t, shop.url, visitors[0], clocks(0))
			v.login(itoa(2200 + n))
			v.choose(shop.saleFrom(t, "Tea", 5, -time.Minute))
			v.means("#stage-state", "on_sale")
			for _, off := range []time.Duration{48 * time.Hour, -48 * time.Hour} {
				states := js[[]string](v, fmt.Sprintf(`import("/core.js").then(({ tell }) => {
					window.clockOff = %d;
					tell("tick"); // before any answer comes
					return [document.querySelector("#stage").dataset.state, document.querySelector("#buy").ariaDisabled];
				})`, off.Milliseconds()))
				assert.Equal(t, []string{"on_sale", "false"}, states, "the clock jumps by %s", off)
				v.onTime()
			}
			v.click("#buy")
			v.means("#outcome", "bought")
		})
	}
}

// performance.now() stands still in some browsers while a device sleeps, and in some it does not.
func TestPage_DeviceSlept_AsksForTheTime(t *testing.T) {
	t.Parallel()
	b := theBrowser(t)
	for n, way := range ways {
		t.Run(way, func(t *testing.T) {
			shop := followedShop(t, way)
			v := b.open(t, shop.url, visitors[0], clocks(0))
			v.login(itoa(2300 + n))
			v.choose(shop.saleFrom(t, "Tea", 5, -time.Minute))
			for _, off := range []time.Duration{-time.Hour, 2 * time.Hour} {
				v.means("#stage-state", "on_sale")
				js[bool](v, fmt.Sprintf("(upOff += %d, true)", off.Milliseconds()))
				v.onTime()
			}
			v.means("#stage-state", "on_sale")
			v.click("#buy")
			v.means("#outcome", "bought")
		})
	}
}

// A proxy may strip the header, and an older instance does not know it: then the server's answers alone decide.
func TestPage_ServerTimeUnknown_LeavesTheDecisionToTheServer(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	const timeless = `(() => {
		const get = Headers.prototype.get;
		Headers.prototype.get = function (name) { return name === "Server-Time" ? null : get.call(this, name); };
		delete window.EventSource;
	})()`
	for n, off := range testservers.Sample(t, 1, []time.Duration{-2 * time.Minute, 2 * time.Hour}) {
		t.Run(off.String(), func(t *testing.T) {
			v := b.open(t, shop.url, visitors[0], clocks(off), timeless)
			v.login(itoa(2400 + n))
			v.choose(shop.saleFrom(t, "Tea", 5, -time.Minute))
			v.click("#buy")
			v.means("#outcome", "bought")
			v.choose(shop.saleFrom(t, "Later", 5, time.Hour))
			v.click("#buy")
			v.means("#outcome", "not_started")
		})
	}
}
