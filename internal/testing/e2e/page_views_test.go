package e2e_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/lab/harness"
)

func TestPage_DemoAdministrator_ManagesTheSale(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	for n, l := range testservers.Sample(t, 1, visitors) {
		t.Run(l.String(), func(t *testing.T) {
			v := b.open(t, shop.url, l)
			v.view("admin")
			v.click("#demo-admin")
			v.means("#gate-note", "admin_who")
			v.fill("#c-title", "Plum "+l.language)
			v.fill("#c-ends", "2020-01-01T00:00")
			v.click("#create button")
			v.means("#create-note", "bad_window")
			v.fill("#c-ends", "2040-01-01T00:00")
			v.fill("#c-stock", "100000000000")
			js[bool](v, `(document.querySelector("#create").noValidate = true)`) // what the page lets through, the server refuses
			v.click("#create button")
			v.means("#create-note", "bad_coupon")
			v.fill("#c-stock", "7")
			v.click("#create button")
			v.means("#create-note", "created")
			v.says("#a-title", "Plum "+l.language)
			v.means("#a-state", "draft")
			v.click("#publish")
			v.means("#a-state", "on_sale")
			id := js[string](v, `document.querySelector("#coupons [aria-pressed=true]").value`)
			shop.as(t, int64(800+n)).buyInTheEnd(id)
			v.click("#audit")
			v.says("#admin-note", v.word("clean"))
			v.until("document.querySelectorAll('#report .lamp.ok').length === 10")
			v.until("document.querySelector('#a-stock').value === '7'")
			v.fill("#a-stock", "12")
			v.click("#set-stock")
			v.means("#admin-note", "stock_set")
			v.means("#a-state", "on_sale")
			shop.as(t, int64(900+n)).buyInTheEnd(id)
			v.fill("#a-stock", "9")
			v.click("#set-stock")
			v.says("#admin-note", "pause the sale")
			v.until("document.querySelector('#a-stock').value === '12'")
			v.click("#audit")
			v.says("#admin-note", v.word("clean"))
			v.click("#pause")
			v.means("#a-state", "paused")
			v.click("#repair")
			v.means("#admin-note", "repaired")
			v.click("#end")
			v.means("#end", "end_sure")
			v.means("#a-state", "paused")
			v.click("#end")
			v.means("#a-state", "ended")
			v.until("document.querySelector('#publish').disabled")
			v.view("sale")
			v.means("#countdown", "over")
		})
	}
}

func TestPage_Rush_IsStartedAndWatched(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t, "SECKILL_STOCK__SHARDS=8")
	for _, l := range testservers.Sample(t, 1, visitors) {
		t.Run(l.String(), func(t *testing.T) {
			v := b.open(t, shop.url, l)
			v.view("rush")
			v.fill("#rush-pay", "60")
			v.fill("#rush-cancel", "60")
			v.click("#rush-start")
			v.means("#rush-note", "bad_request")
			for field, value := range map[string]string{"users": "30", "rate": "0", "stock": "24", "pay": "50", "cancel": "0"} {
				v.fill("#rush-"+field, value)
			}
			v.click("#rush-start")
			v.means("#rush-report .verdict", "clean")
			v.means("#rush-note", "rush_done")
			v.says("#r-left", "0")
			v.says("#r-orders", "24")
			v.says("#rush-report dd", "40") // every third of 30 people taps twice
			v.picture("rushed-" + l.String())

			v.view("engine")
			v.says("#e-orders", "24")
			v.means("#instances li span", "flag_empty") // the flag falls by itself, and nothing is left to sell
			v.until(`[...document.querySelectorAll("#shards li")].length === 8 && document.querySelectorAll("#shards .empty").length === 8`)
			late := shop.as(t, 900)
			flag := v.word("flag_up")
			within(t, busy, func() error { // it falls by itself, and the next buyer raises it again
				if late.buy(js[string](v, `document.querySelector("#coupons [aria-pressed=true]").value`), "").code() != "sold_out" ||
					!strings.Contains(v.text("#instances li span"), flag) {
					return assert.AnError
				}
				return nil
			})
			lent, err := strconv.Atoi(v.text("#e-lent"))
			require.NoError(t, err)
			assert.Positive(t, lent, "30 buyers are not at home in equal numbers")
			v.until("document.querySelectorAll('#lamps .lamp.ok').length === 10")
			v.picture("engine-rushed-" + l.String())
		})
	}
}

func TestPage_DemoVisitors_ComeUntilStopped(t *testing.T) {
	t.Parallel()
	b := theBrowser(t)
	for _, l := range testservers.Sample(t, 1, visitors) {
		t.Run(l.String(), func(t *testing.T) {
			p := launchBuild(t, plain, nil, nil, "demo", "--keep-serving", "--stock", "5", "--users", "10", "--starts-in", "1s", "--background-rate", "20")
			v := b.open(t, p.page(t), l)
			v.view("rush")
			v.means("#rush-note", "rush_visitors")
			v.until(number("#r-too_late") + " > 20")
			v.fits("visitors", l)
			v.click("#rush-stop")
			v.means("#rush-note", "rush_done")
			v.until(`document.querySelector("#rush-stop").disabled`)
			v.until(`new Promise((done) => setTimeout(done, 700)).then(() => true)`) // a reading after the last of them
			late := v.text("#r-too_late")
			time.Sleep(500 * time.Millisecond) // of ten taps, did they still come
			v.view("sale")
			v.view("rush")
			v.means("#rush-note", "rush_done")
			assert.Equal(t, late, v.text("#r-too_late"))
		})
	}
}

func TestPage_Experiment_IsPlayed(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	for _, l := range testservers.Sample(t, 1, visitors) {
		t.Run(l.String(), func(t *testing.T) {
			v := b.open(t, shop.url, l)
			v.view("lab")
			v.click(`#experiments button[value="defer-unlock"]`)
			v.click("#x-run")
			v.means("#x-state", "as_expected")
			v.click("#x-all")
			v.until("document.querySelectorAll('#x-cases .step').length > 4")
			v.until("document.querySelectorAll('#x-cases .heads').length === 2 && document.querySelector('#x-cases .heads.wrong') !== null")
			v.until(`/^▲.*2/.test(document.querySelector("#x-cases .mark")?.textContent)`)
			v.until(`[...document.querySelectorAll("#x-cases *")].every((e) => getComputedStyle(e).display === "inline" || e.scrollWidth <= e.clientWidth + 1)`) // nothing is cut off or scrolled
			assert.LessOrEqual(t, js[int](v, overhang), 0, "a drawing is wider than the screen")
			assert.True(t, js[bool](v, whole), "a case is drawn with gaps")
			v.picture("experiment-" + l.String())
		})
	}
}

func TestPage_ExperimentWithoutServers_SaysSo(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t, "PATH=/nowhere")
	v := b.open(t, shop.url, visitors[0])
	v.view("lab")
	v.click(`#experiments button[value="read-before-lock"]`)
	v.says("#x-note", "mariadbd is not installed: apt-get install mariadb-server") // before anybody tries
	v.click("#x-run")
	v.means("#x-state", "not_run")
	v.says("#x-note", "mariadbd is not installed: apt-get install mariadb-server")
	v.click(`#experiments button[value="delete-anothers-lock"]`)
	v.until(`!document.querySelector("#x-run").disabled`) // one is played at a time
	v.click("#x-run")
	v.means("#x-state", "as_expected")
	v.says("#x-needs", "the embedded Redis")
	v.click("#language")
	v.says("#x-needs", harness.EmbeddedRedis.ZH)
}

// whole reports whether the cells of a case stand below each other without a gap.
const whole = `[0, 1, 2].every((k) => {
	const cells = [...document.querySelectorAll("#x-cases .k" + k)].filter((e) => e.checkVisibility()).map((e) => e.getBoundingClientRect())
	return cells.every((cell, i) => i === 0 || Math.abs(cell.top - cells[i - 1].bottom) < 1)
})`
