package e2e_test

import (
	"fmt"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
)

// figures is a script that looks at every change of the page and notes the figures that contradict each other. The
// contradictions are in window.contradictions, and all events in window.seen.
const figures = `(() => {
	const wrong = window.contradictions = [], seen = window.seen = { samples: 0, written: 0, banner: 0, said: [] }
	const at = (id) => document.getElementById(id)
	const shown = (id) => Boolean(at(id)?.checkVisibility())
	const numbers = (text) => (text.replace(/,/g, "").match(/\d+(\.\d+)?/g) ?? []).map(Number)
	const n = (id) => numbers(at(id).textContent).pop() ?? NaN
	let sale = "", told = "", late = 0, core = null
	import("/core.js").then((m) => { core = m })
	const look = () => {
		if (!core || !core.app.event) return
		const e = core.app.event, text = []
		const hold = (is, what) => { if (!is && wrong.length < 20) wrong.push(what + ": " + text.join(", ")) }
		if (sale !== e.coupon_id) [sale, told, late, seen.said] = [e.coupon_id, "", 0, []]
		seen.samples++
		const sums = { "view-sale": ["left", "written", "orders-n", "returning"], "view-rush": ["r-left", "r-being_written", "r-orders", "r-returning"],
			"view-engine": ["e-left", "e-written", "e-orders", "e-returning"] }
		let left = null, written = 0, orders = 0
		for (const [view, ids] of Object.entries(sums)) {
			if (!shown(view) || !shown(ids[0])) continue
			const all = ids.map(n), units = { "view-sale": n("left-after"), "view-rush": n("r-left-after") }[view] ?? e.units
			text.push(view + " " + ids.map((id, i) => id + " " + all[i]).join(" "), "units " + units)
			hold(all.reduce((a, b) => a + b, 0) === units, "the units are not the sum")
			;[left, written, orders] = all
			if (written > 0) seen.written++
			if (view === "view-sale") hold(Number(at("gauge").getAttribute("aria-valuenow")) === Math.round(100 * left / units), "the bar has another stock")
		}
		if (left === null) return
		const card = document.querySelector("#coupons [aria-pressed=true] small")
		if (card?.checkVisibility()) {
			text.push("card " + card.textContent)
			hold(numbers(card.textContent.split("·").pop())[0] === left, "the card has another stock")
		}
		if (shown("crowd")) {
			text.push("crowd " + at("legend").textContent)
			hold(n("c-bought") === orders && n("c-inside") === written, "the crowd has other orders")
			hold(n("c-late") >= late, "fewer people were too late than before")
			late = n("c-late")
			const dots = { bought: orders, inside: written, late }, each = numbers(at("c-dot").textContent)[0] ?? 1
			for (const [kind, people] of Object.entries(dots)) {
				hold(document.querySelectorAll("#dots ." + kind).length === Math.ceil(people / each), "the dots are other people")
			}
		}
		if (shown("moment")) {
			const figures = at("moment-figures").textContent
			text.push("banner " + at("moment-title").textContent + " " + figures)
			seen.banner++
			const sold = numbers(figures).slice(0, 2)
			hold(sold[0] === e.units && sold[1] === e.units && left === 0 && written === 0 && orders === e.units, "sold out is told of another stock")
			hold(figures.startsWith(told), "the figures of the last unit have changed") // the audit's are added later
			told = figures
			hold(numbers(figures).some((n) => n === e.sold_out?.requests && n >= orders + e.sold_out.sold_again), "there are fewer requests than orders")
		}
		const said = at("moment-said").textContent
		if (said && !seen.said.includes(said)) seen.said.push(said)
		hold(seen.said.length < 2, "sold out is announced twice")
	}
	new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true })
	return true
})()`

// notRunning matches the standing of a rush that has ended.
var notRunning = regexp.MustCompile(`"running":false`)

// crowd is one sale that is watched: its units, its people, and the share who pay or cancel, in percent.
type crowd struct {
	look
	stock, users, perS, pay, cancel int
}

// Ten sales, of which one is drawn: small and large ones, with and without units that come back.
var crowds = []crowd{
	{look{language: "en"}, 60, 240, 120, 0, 0},
	{look{language: "zh", phone: true}, 40, 160, 0, 50, 20},
	{look{language: "en", tablet: true, dark: true}, 100, 300, 200, 20, 40},
	{look{language: "zh", dark: true}, 5, 60, 30, 0, 60},
	{look{language: "en", phone: true}, 1, 20, 10, 100, 0},
	{look{language: "zh"}, 150, 500, 0, 0, 0},
	{look{language: "en"}, 80, 200, 80, 30, 30},
	{look{language: "zh", tablet: true}, 30, 400, 300, 0, 10},
	{look{language: "en", dark: true}, 200, 500, 250, 10, 10},
	{look{language: "zh", phone: true, dark: true}, 20, 100, 50, 0, 90},
}

func TestPage_DuringASale_FiguresNeverContradict(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	for _, c := range testservers.Sample(t, 1, crowds) {
		t.Run(fmt.Sprintf("%d units %d people %d cancel %s", c.stock, c.users, c.cancel, c.look), func(t *testing.T) {
			id := shop.saleFrom(t, "Crowd "+itoa(c.stock), c.stock, -time.Minute)
			v := b.open(t, shop.url+"?lang="+c.language+"#sale/"+id, c.look)
			v.until(`import("/core.js").then((m) => m.app.event?.coupon_id === "` + id + `")`)
			require.True(t, js[bool](v, figures))
			r := shop.asAdmin(t).do(http.MethodPost, "/api/v1/admin/rush", fmt.Sprintf(
				`{"coupon_id":%q,"users":%d,"per_second":%d,"pay_percent":%d,"cancel_percent":%d}`, id, c.users, c.perS, c.pay, c.cancel))
			require.Equal(t, http.StatusAccepted, r.status, r.body)
			views := []string{"sale", "rush", "engine"}
			turn := 0
			within(t, busy, func() error {
				view := views[turn%len(views)]
				js[bool](v, fmt.Sprintf(`(location.hash = "#%s/%s", true)`, view, id))
				time.Sleep(200 * time.Millisecond) // in which the view is looked at
				v.picture(fmt.Sprintf("during-%d-%s-%d-%s", c.stock, view, turn, c.look))
				turn++
				if running := shop.asAdmin(t).do(http.MethodGet, "/api/v1/admin/rush", "").body; !notRunning.MatchString(running) {
					return fmt.Errorf("the rush stands at %s", running)
				}
				return nil
			})
			js[bool](v, `(location.hash = "#rush/`+id+`", true)`)
			v.until(`document.querySelector("#view-rush").checkVisibility()`)
			v.fits("rush-after-"+itoa(c.stock), c.look)
			js[bool](v, `(location.hash = "#sale/`+id+`", true)`)
			if c.cancel == 0 {
				v.until(`document.querySelector("#moment").checkVisibility()`)
				v.means("#moment-figures", "m_lost") // by an audit that was read after it
			}
			v.fits("crowd-"+itoa(c.stock), c.look)
			assert.Empty(t, js[[]string](v, "contradictions"))
			assert.Greater(t, js[int](v, "seen.samples"), 10)
			if c.cancel == 0 {
				assert.Positive(t, js[int](v, "seen.banner"))
				assert.Len(t, js[[]string](v, "seen.said"), 1, "it is announced once")
			}
		})
	}
}

// The test above is only as good as its script: each case tells the page of a sale that cannot be.
func TestFigures_ContradictoryEvent_IsNoticed(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	id := shop.saleFrom(t, "Tea", 8, -time.Minute)
	shop.saleFrom(t, "Cake", 8, -time.Minute) // so that there are cards
	v := b.open(t, shop.url+"#sale/"+id, visitors[0])
	v.until(`import("/core.js").then((m) => m.app.event?.coupon_id === "` + id + `")`)
	require.True(t, js[bool](v, figures))
	const tell = `(async (change) => {
		const { app, tell } = await import("/core.js")
		contradictions.length = 0
		const was = app.event
		app.event = { ...was, ...change }
		tell("sale", app.event)
		await new Promise((done) => setTimeout(done, 50))
		const found = [...contradictions]
		app.event = was
		tell("sale", was)
		return found.join("; ")
	})`
	for change, notices := range map[string]string{
		`{ orders: 3 }`:                 "the units are not the sum",
		`{ left: 5, orders: 3 }`:        "the card has another stock",
		`{ left: 0, being_written: 8 }`: "the card has another stock",
	} {
		assert.Contains(t, js[string](v, tell+"("+change+")"), notices, change)
	}
	assert.Empty(t, js[string](v, tell+"({ orders_per_second: 7 })"), "nothing contradicts that")
}

// stoppedStream replaces the stream of a page by one that a test feeds, with push.
const stoppedStream = `(() => {
	window.EventSource = class {
		constructor() { this.listeners = {}; window.fed = this }
		addEventListener(name, what) { this.listeners[name] = what }
		close() {}
	}
	window.EventSource.CLOSED = 2
	window.push = (change) => {
		const now = new Date().toISOString(), soon = new Date(Date.now() + 3600_000).toISOString()
		fed.listeners.sale({ data: JSON.stringify({
			coupon_id: location.hash.split("/")[1], state: "on_sale", begins_at: "2026-01-01T00:00:00Z", ends_at: soon, at: now,
			units: 8, left: 0, being_written: 0, orders: 0, returning: 0, requests: 0, too_late: 0, sold_again: 0,
			shards: [0], holds: [0], lent: [0], instances: [{ name: "one", sold_out: false, self: true }],
			orders_per_second: 0, p99_ms: 0, locks_held: 0, locks_waiting: 0, ...change }) })
		return true
	}
})()`

// The test sends the events of a sale one by one, because some moments are too short in a real sale.
func TestPage_LastUnitsOfASale_AreToldOnceAndFrozen(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	for _, l := range testservers.Sample(t, 1, visitors) {
		t.Run(l.String(), func(t *testing.T) {
			id := shop.saleFrom(t, "Tea", 8, -time.Minute)
			v := b.open(t, shop.url+"?lang="+l.language+"#sale/"+id, l, stoppedStream)
			v.until(`window.fed?.listeners.sale !== undefined && import("/core.js").then((m) => m.app.chosen === "` + id + `")`)
			require.True(t, js[bool](v, figures))
			const frozen = `sold_out: { sold_out_after_ms: 6800, requests: 10, sold_again: 0 }`
			banner := func() bool { return js[bool](v, `document.querySelector("#moment").checkVisibility()`) }
			for _, c := range []struct {
				event, state string
				banner       bool
			}{
				{`{ left: 5, being_written: 1, orders: 2, requests: 3 }`, "on_sale", false},
				{`{ being_written: 3, orders: 5, requests: 8 }`, "gone", false}, // three orders are not missing: they are being written
				{`{ orders: 8, requests: 12, too_late: 2, ` + frozen + ` }`, "gone", true},
				{`{ orders: 8, requests: 512, too_late: 502, ` + frozen + ` }`, "gone", true},
				{`{ orders: 7, returning: 1, requests: 513, too_late: 503 }`, "gone", false},
				{`{ left: 1, orders: 7, requests: 514, too_late: 503 }`, "on_sale", false},
				{`{ orders: 8, requests: 520, too_late: 504, sold_again: 1, ` + frozen + ` }`, "gone", true},
			} {
				js[bool](v, "push("+c.event+")")
				v.until(fmt.Sprintf(`document.querySelector("#stage").dataset.state === %q`, c.state))
				require.Equal(t, c.banner, banner(), c.event)
				if c.banner {
					v.says("#moment-title", "6.8")
					v.says("#moment-figures", "10")
				}
			}
			assert.Empty(t, js[[]string](v, "contradictions"))
			assert.Len(t, js[[]string](v, "seen.said"), 1, "it is announced once")
		})
	}
}
