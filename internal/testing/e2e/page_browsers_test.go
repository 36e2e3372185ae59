package e2e_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
)

// without returns a script that takes features away, by their paths from the window.
func without(paths ...string) string {
	return fmt.Sprintf(`for (const path of %q.split(" ")) {
		const names = path.split("."), last = names.pop(), of = names.reduce((at, name) => at?.[name], window);
		if (!of) continue;
		delete of[last];
		if (last in of) Object.defineProperty(of, last, { configurable: true, get: () => undefined });
	}`, strings.Join(paths, " "))
}

// refuses returns a script after which the window's property throws, as a storage does whose cookies are blocked.
func refuses(name string) string {
	return fmt.Sprintf(`Object.defineProperty(window, %q, { get() { throw new DOMException("blocked", "SecurityError") } })`, name)
}

// A browser lacks or refuses a feature, and a buyer buys all the same.
func TestPage_BrowserLacksAFeature_SellsWithoutIt(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	const full = `{ setItem() { throw new DOMException("full", "QuotaExceededError") }, getItem: () => null, removeItem() {} }`
	cases := []struct{ name, script string }{
		{"AbortSignal.timeout", without("AbortSignal.timeout", "AbortSignal.any")},
		{"EventSource", without("EventSource")},
		{"storages that throw", refuses("localStorage") + ";" + refuses("sessionStorage")},
		{"no storages", without("localStorage", "sessionStorage")},
		{"full storages", `for (const name of ["localStorage", "sessionStorage"]) Object.defineProperty(window, name, { get: () => (` + full + `) })`},
		{"a language that is unknown", `localStorage.setItem("language", "tlh"); Object.defineProperty(navigator, "language", { get: () => undefined })`},
		{"matchMedia", without("matchMedia")},
		{"matchMedia without events", without("MediaQueryList.prototype.addEventListener", "EventTarget.prototype.when")},
		{"Intl", without("Intl")},
		{"navigator.onLine", without("Navigator.prototype.onLine")},
		{"CSS.supports", without("CSS")},
		{"a chart", without("Path2D", "uPlot", "CanvasRenderingContext2D", "DOMParser")},
		{"crypto of a secure context", without("Crypto.prototype.randomUUID", "Crypto.prototype.subtle", "isSecureContext",
			"navigator.locks", "navigator.clipboard", "navigator.serviceWorker", "caches")},
		{"what came after 2020", without("Array.prototype.at", "String.prototype.at", "Array.prototype.findLast", "Array.prototype.toSorted",
			"Array.prototype.with", "Array.fromAsync", "Object.hasOwn", "Object.groupBy", "Map.groupBy", "Promise.any", "Promise.withResolvers",
			"String.prototype.replaceAll", "Set.prototype.union", "structuredClone", "WeakRef", "Iterator", "URL.canParse", "scheduler",
			"Element.prototype.setHTMLUnsafe",
			"HTMLElement.prototype.showPopover", "HTMLDialogElement", "HTMLInputElement.prototype.showPicker", "document.startViewTransition")},
		{"what is for other pages", without("requestIdleCallback", "requestAnimationFrame", "BroadcastChannel", "Notification", "SharedWorker", "Worker",
			"ResizeObserver", "IntersectionObserver", "MutationObserver", "indexedDB", "navigator.sendBeacon", "WebSocket", "navigation", "Request")},
	}
	for _, c := range testservers.Sample(t, 4, numbered(cases)) {
		t.Run(c.name, func(t *testing.T) {
			v := b.open(t, shop.url, visitors[c.n%len(visitors)], c.script)
			v.fails = slices.Contains([]string{"matchMedia", "matchMedia without events", "Intl", "a chart"}, c.name) // the library of charts
			v.choose(shop.saleFrom(t, "Tea", 5, -time.Minute))
			js[bool](v, fmt.Sprintf(`(document.querySelector("#user").value = "%d", true)`, 3000+c.n))
			js[bool](v, `(document.querySelector("#buy").click(), true)`) // it logs in as well
			v.means("#outcome", "bought")
			v.means("#orders .badge", "pending")
			js[bool](v, `(document.querySelector("#orders button").click(), true)`)
			v.means("#orders .badge", "paid")
			v.says("#left", "4")
			js[bool](v, `(location.hash = "#engine", document.querySelector("#theme").click(), document.querySelector("#language").click(), true)`)
			v.until(`document.querySelector("#chart").textContent !== ""`)
			assert.Empty(t, v.text("#failed"), "an error of our scripts")
		})
	}
}

type numberedCase struct {
	n            int
	name, script string
}

// numbered numbers the cases, so that each has a buyer of its own whichever are drawn.
func numbered(cases []struct{ name, script string }) (all []numberedCase) {
	for n, c := range cases {
		all = append(all, numberedCase{n, c.name, c.script})
	}
	return all
}

// The message of a page that cannot run names the reason in both languages.
func (v *tab) failsWith(en, names string) {
	v.t.Helper()
	v.says("#failed p[lang=en]", en)
	v.says("#failed p[lang=en]", names)
	v.says("#failed p[lang=zh-Hans]", names)
	assert.Regexp(v.t, `\p{Han}{4}`, v.text("#failed p[lang=zh-Hans]"))
	v.until(`document.querySelector("#failed").getBoundingClientRect().height > 40`)
	v.until(`!document.querySelector("#stage-title[data-say=loading]")?.checkVisibility()`) // "Loading…" for ever
	assert.LessOrEqual(v.t, js[int](v, overhang), 0, "the message is wider than the screen")
}

func TestPage_BrowserLacksWhatItNeeds_NamesIt(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	needed := map[string]string{
		"fetch": "fetch", "Headers": "Headers", "AbortController": "AbortController", "URLSearchParams": "URLSearchParams",
		"Crypto.prototype.getRandomValues": "crypto.getRandomValues", "crypto": "crypto.getRandomValues", "Performance.prototype.now": "performance.now",
		"Promise": "Promise", "Map": "Map", "Element.prototype.replaceChildren": "Element.prototype.replaceChildren",
		"String.prototype.padStart": "String.prototype.padStart", "HTMLScriptElement.prototype.noModule": "ES modules",
	}
	for _, path := range testservers.Sample(t, 3, slices.Sorted(maps.Keys(needed))) {
		t.Run(path, func(t *testing.T) {
			v := b.visit(t, shop.url, visitors[1], without(path))
			v.failsWith("This browser lacks", needed[path])
		})
	}
}

// rewritten is the shop behind a proxy that serves its page with each old text replaced by a new one.
func rewritten(t *testing.T, shop string, oldNew ...string) string {
	t.Helper()
	at, err := url.Parse(shop)
	require.NoError(t, err)
	idle := &http.Transport{DisableCompression: true}
	t.Cleanup(idle.CloseIdleConnections)
	proxy := httputil.NewSingleHostReverseProxy(at)
	proxy.FlushInterval = -1 // a stream's events
	proxy.Transport = idle
	proxy.ModifyResponse = func(r *http.Response) error {
		if strings.HasPrefix(r.Request.URL.Path, "/api/") {
			return nil
		}
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		text = []byte(strings.NewReplacer(oldNew...).Replace(string(text)))
		r.Body = io.NopCloser(bytes.NewReader(text))
		r.Header.Set("Content-Length", strconv.Itoa(len(text)))
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}

func TestPage_FilesOrErrorsStopIt_NamesTheReason(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	for name, c := range map[string]struct{ from, to, en, names string }{
		"syntax that is newer than the browser": {"(listeners[name] ??= [])", "(listeners[name] ?#= [])", "This browser lacks", "SyntaxError"},
		"a file that does not arrive":           {`"app.js"`, `"gone.js"`, "A file of this page did not arrive", "gone.js"},
		"an import that does not arrive":        {`"./words.js"`, `"./gone.js"`, "A file of this page did not arrive", "app.js"},
		"an error while it starts":              {"let stream = null;", "let stream = noSuchThing();", "an error of its own", "noSuchThing"},
		"an error that is no lost answer":       {"new AbortController()", "new NoSuchThing()", "an error of its own", "NoSuchThing"},
	} {
		t.Run(name, func(t *testing.T) {
			v := b.visit(t, rewritten(t, shop.url, c.from, c.to), visitors[1])
			v.fails = true
			v.failsWith(c.en, c.names)
		})
	}
	t.Run("an error of a purchase", func(t *testing.T) {
		v := b.open(t, rewritten(t, shop.url, "async function place(p, said, back, tokens) {", "async function place() { noSuchThing();"), visitors[0])
		v.fails = true
		v.choose(shop.saleFrom(t, "Tea", 5, -time.Minute))
		v.click("#buy")
		v.means("#outcome", "page_failed")
		v.failsWith("an error of its own", "noSuchThing")
		v.until(`!document.querySelector("#buy").disabled`)
	})
	t.Run("no scripts", func(t *testing.T) {
		v := b.visit(t, "about:blank", visitors[0])
		v.do(emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(shop.url))
		v.says("noscript", "This page needs JavaScript")
		assert.Regexp(t, `\p{Han}{2}`, v.text("noscript"))
	})
}

// An old browser drops each rule that it does not know: a feature is renamed, in what asks for it too.
func TestPage_StyleIsNewerThanTheBrowser_StaysLegible(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	const legible = `["#buy", "#stage-title", "#left", "#views a", "#orders .badge"].filter((at) => {
		const e = document.querySelector(at), light = (colour) => {
			const [r, g, b] = colour.match(/[\d.]+/g).map((n) => n / 255).map((n) => (n <= 0.03928 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4));
			return 0.2126 * r + 0.7152 * g + 0.0722 * b;
		};
		let under = e;
		while (under.parentElement && /^rgba\(.*, 0\)$/.test(getComputedStyle(under).backgroundColor)) under = under.parentElement;
		const [one, two] = [light(getComputedStyle(e).color), light(getComputedStyle(under).backgroundColor)].sort((a, b) => b - a);
		return (one + 0.05) / (two + 0.05) < 4.5;
	})`
	for n, feature := range []string{"light-dark(", "color-mix(", ":has(", "@container", "container:"} {
		t.Run(feature, func(t *testing.T) {
			gone := strings.NewReplacer("light-dark", "no-such", "color-mix", "no-such", ":has", ":no-such", "container", "no-such").Replace(feature)
			for _, l := range testservers.Sample(t, 1, []look{{language: "en"}, {language: "zh", dark: true, phone: true}}) {
				v := b.open(t, rewritten(t, shop.url, feature, gone), l)
				v.choose(shop.saleFrom(t, "Tea", 5, -time.Minute))
				v.fill("#user", itoa(3100+n))
				v.click("#buy")
				v.means("#orders .badge", "pending")
				assert.Empty(t, js[[]string](v, legible), "cannot be read")
				assert.NotEqual(t, "rgba(0, 0, 0, 0)", js[string](v, `getComputedStyle(document.querySelector("#buy")).backgroundColor`))
				assert.LessOrEqual(t, js[int](v, overhang), 0)
				v.view("lab")
				v.click("#experiments button")
				v.click("#x-all")
				v.until(`[".lease", ".transaction"].some((at) => document.querySelector("#x-cases " + at))`)
				assert.Empty(t, js[[]string](v, `[...document.querySelectorAll("#x-cases :is(.bar.lease, .bar.transaction, .bar.inside)")].filter((e) => {
					const s = getComputedStyle(e);
					return s.backgroundImage === "none" && /^rgba\(.*, 0\)$/.test(s.backgroundColor);
				}).map((e) => e.className)`), "bars of the drawing that cannot be seen")
			}
		})
	}
}
