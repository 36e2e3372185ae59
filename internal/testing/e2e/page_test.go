package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
)

// visitors are how the tests of the page come to it.
var visitors = []look{{language: "en"}, {language: "zh", dark: true, phone: true}}

// embeddedShop is a server with embedded stores whose secret the tests know.
func embeddedShop(t *testing.T, env ...string) *instance {
	t.Helper()
	i := serveBuild(t, plain, append([]string{"SECKILL_AUTH__SECRET=" + secret, "SECKILL_AUTH__DEMO_LOGIN=true"}, env...)...)
	within(t, busy, func() error {
		if !strings.Contains(i.out.String(), "admin token: ") {
			return assert.AnError
		}
		return nil
	})
	return i
}

// numbersOf matches the parts of a text that a number replaces or chooses: {n}, {m}, and {one|many}.
var numbersOf = regexp.MustCompile(`\{[^{}]*\}`)

// word returns the page's text for a name in the visitor's language, without its numbers.
func (v *tab) word(name string) string {
	v.t.Helper()
	text := js[string](v, fmt.Sprintf(`import("/words.js").then((m) => m.words[document.documentElement.lang.slice(0, 2)][%q])`, name))
	longest := slices.MaxFunc(numbersOf.Split(text, -1), func(a, b string) int { return len(a) - len(b) })
	require.NotEmpty(v.t, longest, name)
	return strings.TrimSpace(longest)
}

// means waits until an element has the page's text for name.
func (v *tab) means(selector, name string) {
	v.t.Helper()
	v.says(selector, v.word(name))
}

// invites waits until the button to buy is disabled and says why.
func (v *tab) invites(not string) {
	v.t.Helper()
	v.means("#buy", not)
	v.until(`document.querySelector("#buy").ariaDisabled === "true"`)
}

// taps presses the button to buy before the page has seen that there is no stock.
func (v *tab) taps() {
	v.t.Helper()
	js[bool](v, `(buy => { buy.ariaDisabled = "false"; buy.click(); return true })(document.querySelector("#buy"))`)
}

// choose picks a coupon as soon as it is listed.
func (v *tab) choose(id string) {
	v.t.Helper()
	js[bool](v, `document.dispatchEvent(new Event("visibilitychange"))`) // it looks again when somebody comes back
	v.until(fmt.Sprintf(`document.querySelector('#coupons button[value="%s"]') !== null`, id))
	if js[bool](v, `document.querySelector("#picker").hidden`) { // it is the only coupon
		js[bool](v, fmt.Sprintf(`(location.hash = "#sale/%s", true)`, id))
	} else {
		v.click(`#coupons button[value="` + id + `"]`)
	}
	v.until(fmt.Sprintf(`document.querySelector('#coupons button[value="%s"]').getAttribute("aria-pressed") === "true"`, id))
}

// saleFrom makes a coupon whose window begins after that time, and publishes it.
func (i *instance) saleFrom(t *testing.T, title string, stock int, from time.Duration) string {
	t.Helper()
	begins := time.Now().UTC().Add(from)
	r := i.asAdmin(t).do(http.MethodPost, "/api/v1/admin/coupons", fmt.Sprintf(
		`{"title":%q,"stock":%d,"price_cents":990,"begins_at":%q,"ends_at":%q}`,
		title, stock, begins.Format(time.RFC3339Nano), begins.Add(time.Hour).Format(time.RFC3339Nano)))
	id := r.sold(t, http.StatusCreated).ID
	r = i.asAdmin(t).do(http.MethodPost, "/api/v1/admin/coupons/"+id+"/publication", "")
	require.Equal(t, http.StatusOK, r.status, r.body)
	return id
}

func TestPage_EachPurchaseOutcome_IsShown(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	for n, l := range testservers.Sample(t, 1, visitors) {
		t.Run(l.String(), func(t *testing.T) {
			one := shop.saleFrom(t, "<img src=x onerror=alert(1)>", 1, -time.Minute)
			two := shop.saleFrom(t, "Tea", 2, -time.Minute)
			v := b.open(t, shop.url, l)
			v.choose(two)
			v.means("#outcome", "first_tap")
			v.login(itoa(100 + n))
			v.says("#left", "2")
			v.click("#buy")
			v.means("#outcome", "bought")
			v.means("#orders .badge", "pending")
			v.says("#left", "1")
			v.means("#orders .due", "payIn")

			v.invites("enough")
			v.taps()
			v.means("#outcome", "limit_reached")
			shop.as(t, int64(200+n)).buyInTheEnd(two) // another user buys the last one
			v.says("#left", "0")
			v.until(`document.querySelector("#gauge").getAttribute("aria-valuenow") === "0"`)
			v.means("#stage-state", "gone")
			v.means("#countdown", "gone_for_now") // two orders are unpaid, which is counted within a second
			v.invites("gone_button")
			v.until(`document.querySelector("#moment").checkVisibility()`)
			v.means("#moment-title", "moment")
			for _, figure := range []string{"m_sold", "m_requests", "m_oversold", "m_lost"} {
				v.means("#moment-figures", figure)
			}
			v.says("#moment-said", v.text("#moment-title"))
			v.picture("sold-out-" + l.String())

			v.do(chromedp.Focus("#orders button", chromedp.ByQuery), chromedp.KeyEvent(kb.Enter)) // without a mouse
			v.means("#orders .badge", "paid")
			v.means("#outcome", "paid_now")

			shop.as(t, int64(300+n)).buyInTheEnd(one)
			v.choose(one)
			v.says("#stage-title", "<img src=x onerror=alert(1)>")
			v.says("#left", "0")
			v.until(`document.querySelector("#moment").checkVisibility()`) // who comes late sees it too
			assert.Empty(t, v.text("#moment-said"), "it was sold out before this visitor came")
			v.invites("gone_button")
			v.taps()
			v.means("#outcome", "sold_out_for_now") // it is not paid yet
			v.until(`document.querySelector("#ticket").checkVisibility() && document.querySelector("#ticket").className === "missed"`)
			v.means("#ticket-lines strong", "late_by")
			v.means("#ticket-lines", "late_units")

			three := shop.saleFrom(t, "Cake", 5, -time.Minute)
			v.choose(three)
			v.click("#buy")
			v.means("#outcome", "bought")
			v.click("#orders button.quiet")
			v.means("#orders .badge", "cancelled")
			v.means("#outcome", "cancelled_now")
			v.says("#left", "5")
			v.until(`!document.querySelector("#ticket").checkVisibility()`) // there is nothing to keep
		})
	}
}

func TestPage_Countdown_OpensTheSale(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	for n, l := range testservers.Sample(t, 1, visitors) {
		t.Run(l.String(), func(t *testing.T) {
			v := b.open(t, shop.url, l)
			v.login(itoa(400 + n))
			id := shop.saleFrom(t, "Soon", 5, 8*time.Second)
			v.choose(id)
			v.means("#countdown", "starts")
			v.means("#stage-state", "soon")
			v.invites("starts")
			v.picture("soon-" + l.String())
			v.means("#countdown", "ends")
			v.click("#buy")
			v.means("#outcome", "bought")
		})
	}
}

func TestPage_NoStream_Polls(t *testing.T) {
	t.Parallel()
	b := theBrowser(t)
	shop := embeddedShop(t, "SECKILL_HTTP__MAX_STREAMS=1")
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, shop.url+"/api/v1/coupons/1/live", http.NoBody)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	require.Equal(t, http.StatusOK, resp.StatusCode)

	v := b.open(t, shop.url, visitors[0])
	v.choose("1")
	v.says("#left", "1,000")
	shop.as(t, 700).buy("1", "").sold(t, http.StatusCreated)
	v.says("#left", "999")
	require.NotEqual(t, v.word("lost"), v.text("#notice"), "the server is not silent")
	v.fits("without-a-stream", visitors[0])
	require.False(t, js[bool](v, `import("/core.js").then((m) => m.app.event !== null)`))

	leave()
	v.until(`import("/core.js").then((m) => m.app.event !== null)`) // a stream has become free
}

// TestPage_ServerRestarts_Reconnects is on real stores, which outlive the server.
func TestPage_ServerRestarts_Reconnects(t *testing.T) {
	t.Parallel()
	b := theBrowser(t)
	for n, l := range testservers.Sample(t, 1, visitors) {
		t.Run(l.String(), func(t *testing.T) {
			shop := newShop(t, append(impatient(), "SECKILL_AUTH__DEMO_LOGIN=true", "SECKILL_ORDER__PAYMENT_TIMEOUT=2s")...).instance(t)
			id := shop.sale(t, 10, 1)
			v := b.open(t, shop.url, l)
			v.choose(id)
			v.login(itoa(500 + n))
			v.click("#buy")
			v.means("#outcome", "bought")
			v.means("#orders .badge", "expired") // nobody has paid in time
			v.says("#left", "10")

			require.Zero(t, shop.stop(t))
			v.means("#notice", "lost")
			v.click("#buy")
			v.means("#outcome", "away") // it has asked often enough
			shop.restart(t, "SECKILL_ORDER__PAYMENT_TIMEOUT=15m")
			v.means("#outcome", "bought") // without another tap
			shop.as(t, int64(600+n)).buyInTheEnd(id)
			v.says("#left", "8") // the stream is there again
			v.means("#orders .badge", "pending")
			v.click("#orders button")
			v.means("#orders .badge", "paid")
		})
	}
}

func TestPage_RealStores_AdministratorPastesToken(t *testing.T) {
	t.Parallel()
	b := theBrowser(t)
	shop := newShop(t).instance(t)
	shop.sale(t, 10, 1)
	for _, l := range testservers.Sample(t, 1, visitors) {
		t.Run(l.String(), func(t *testing.T) {
			v := b.open(t, shop.url, l)
			v.fill("#token", token(t, 700, "user"))
			v.click("#paste button")
			v.says("#who-name", "700")
			for view, word := range map[string]string{"rush": "no_rush", "lab": "lab_recorded"} {
				v.view(view)
				v.means("#no-"+view, word)
				v.until(fmt.Sprintf("document.querySelector('#no-%s').checkVisibility()", view))
			}
			v.view("engine")
			v.click("#audit-admin")
			v.until(`location.hash === "#admin"`)
			v.fill("#admin-token", token(t, 700, "user"))
			v.click("#admin-paste button")
			v.means("#notice", "not_admin")
			v.fill("#admin-token", token(t, 1, "admin"))
			v.click("#admin-paste button")
			v.means("#gate-note", "admin_who")
			v.click("#audit")
			v.says("#admin-note", v.word("clean"))
			kept := js[string](v, `JSON.stringify({...sessionStorage, ...localStorage}) + location.href + document.cookie`)
			assert.NotContains(t, kept, token(t, 1, "admin")[:60], "an administrator's token is in memory only")
			v.do(chromedp.Reload())
			v.until("document.querySelector('#admin-paste')?.checkVisibility()")
		})
	}
}

func TestPage_AdminRoutesElsewhere_HidesAdminView(t *testing.T) {
	t.Parallel()
	b, i := theBrowser(t), serve(t, "SECKILL_ADMIN__SERVE_API=true")
	for _, l := range testservers.Sample(t, 1, visitors) {
		t.Run(l.String(), func(t *testing.T) {
			v := b.open(t, i.url, l)
			v.view("admin")
			v.means("#gate-note", "admin_apart")
			v.until("!['#admin-paste', '#demo-admin', '#create'].some((at) => document.querySelector(at).checkVisibility())")
			v.view("rush")
			v.means("#no-rush", "no_rush")
		})
	}
}

func TestPage_LanguageAndTheme_AreRemembered(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	v := b.open(t, shop.url, look{language: "zh"})
	require.Equal(t, "zh-Hans", js[string](v, "document.documentElement.lang"))
	v.click("#language")
	v.says("#views a", "Sale")
	v.click("#theme")
	v.do(chromedp.Reload())
	v.until(`document.querySelector("#coupons button") !== null`)
	v.says("#views a", "Sale")
	require.Equal(t, "dark", js[string](v, "document.documentElement.dataset.theme"))
	v.click("#theme")
	require.Equal(t, "light", js[string](v, "document.documentElement.dataset.theme"), "the system's own light, as a choice")
	v.click("#theme")
	v.until(fmt.Sprintf(`document.querySelector("#theme").ariaLabel.includes(%q)`, v.word("theme_system")))
	v.do(chromedp.Reload())
	v.until(`document.querySelector("#coupons button") !== null`)
	require.True(t, js[bool](v, `document.documentElement.dataset.theme === undefined && localStorage.getItem("theme") === null`), "the system's again")
}
