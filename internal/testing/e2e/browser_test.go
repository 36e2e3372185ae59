package e2e_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

// pictures is where the tests of the page leave pictures of it, if anywhere.
var pictures = flag.String("pictures", "", "folder for pictures of the page")

// browser is one Chromium, for the tabs of all tests. A tab is a visitor of its own.
type browser struct {
	ctx context.Context
	end func() error
}

// chromium is the browser of this process, from the first test on that wants one.
var chromium struct {
	sync.Mutex
	browser
}

// theBrowser is for the tests of the page, of which half are drawn.
func theBrowser(t *testing.T) browser {
	t.Helper()
	testservers.Need(t, servers.LookChromium)
	testservers.OneOf(t, 2)
	chromium.Lock()
	defer chromium.Unlock()
	if chromium.ctx == nil {
		started, err := startBrowser()
		require.NoError(t, err)
		chromium.browser = started
	}
	return chromium.browser
}

func startBrowser() (browser, error) {
	program, err := exec.LookPath("chromium-headless-shell")
	if err != nil {
		return browser{}, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("lang", "en-US"), chromedp.WSURLReadTimeout(60*time.Second),
	)
	ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
	// The library does not know all messages of this Chromium, and reports them as errors.
	ctx, leave := chromedp.NewContext(ctx, chromedp.WithErrorf(func(string, ...any) {}))
	end := func() error {
		err := chromedp.Cancel(ctx) // it waits until the process has ended
		leave()
		stop()
		return err
	}
	if err := chromedp.Run(ctx); err != nil {
		return browser{}, errors.Join(err, end())
	}
	return browser{ctx, end}, nil
}

// endBrowser ends the browser, if a test has wanted one.
func endBrowser() error {
	if chromium.ctx == nil {
		return nil
	}
	return chromium.end()
}

// tab is one page of a visitor who has never been here.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu    sync.Mutex
	wrong []string // what no visit may leave in the console
	fails bool     // the page is expected to fail, and its console to say so
}

// open visits the page. An error in its console fails the test. Refusals and cut connections are no such errors: the
// tests cause them, and look at the page's reaction.
func (b browser) open(t *testing.T, url string, l look, scripts ...string) *tab {
	t.Helper()
	v := b.visit(t, url, l, scripts...)
	v.until(`document.querySelector("#coupons button") !== null`)
	return v
}

// visit is open, of any page. The scripts run before those of the page.
func (b browser) visit(t *testing.T, url string, l look, scripts ...string) *tab {
	t.Helper()
	ctx, leave := chromedp.NewContext(b.ctx, chromedp.WithTargetID(b.window(t)))
	t.Cleanup(leave)
	tab := &tab{t: t, ctx: ctx}
	require.NoError(t, chromedp.Run(ctx)) // a tab lives as long as the context that it was attached with
	chromedp.ListenTarget(ctx, tab.hear)
	t.Cleanup(func() {
		tab.mu.Lock()
		defer tab.mu.Unlock()
		if len(tab.wrong) > 0 && !tab.fails {
			t.Errorf("the console says:\n%s", strings.Join(tab.wrong, "\n"))
		}
		if t.Failed() {
			t.Logf("the page says: %s", tab.text("#notice"))
		}
	})
	scheme := "light"
	if l.dark {
		scheme = "dark"
	}
	width, height := l.size()
	locale := map[string]string{"en": "en-US", "zh": "zh-CN"}[l.language]
	tab.do(
		log.Enable(), runtime.Enable(), page.Enable(), network.Enable(),
		emulation.SetFocusEmulationEnabled(true), // as if no other tab were looked at
		emulation.SetDeviceMetricsOverride(width, height, 1, l.phone),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
		}),
		chromedp.ActionFunc(func(ctx context.Context) error { // as the browser of such a visitor has it
			language := fmt.Sprintf("Object.defineProperty(navigator, 'language', {configurable: true, get: () => %q})", locale)
			for _, script := range append([]string{language}, scripts...) {
				if _, err := page.AddScriptToEvaluateOnNewDocument(script).Do(ctx); err != nil {
					return err
				}
			}
			return nil
		}),
		chromedp.Navigate(url),
	)
	return tab
}

// window is an empty window of a visitor who shares nothing with the others.
func (b browser) window(t *testing.T) target.ID {
	t.Helper()
	ctx := cdp.WithExecutor(b.ctx, chromedp.FromContext(b.ctx).Browser)
	visitor, err := target.CreateBrowserContext().WithDisposeOnDetach(true).Do(ctx)
	require.NoError(t, err)
	id, err := target.CreateTarget("about:blank").WithBrowserContextID(visitor).WithNewWindow(true).Do(ctx)
	require.NoError(t, err)
	return id
}

func (v *tab) hear(event any) {
	var said string
	switch e := event.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Source != log.SourceNetwork && e.Entry.Level != log.LevelVerbose {
			said = fmt.Sprintf("%s %s: %s", e.Entry.Source, e.Entry.Level, e.Entry.Text)
		}
	case *network.EventRequestWillBeSent:
		// An address is kept in histories and logs. A JWT begins so, in any place.
		if strings.Contains(e.Request.URL, "eyJ") {
			said = "a token stands in the address " + e.Request.URL
		}
	case *runtime.EventExceptionThrown:
		said = e.ExceptionDetails.Error()
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning || e.Type == runtime.APITypeAssert {
			said = "console:"
			for _, arg := range e.Args {
				said = fmt.Sprint(said, " ", string(arg.Value), arg.Description)
			}
		}
	}
	if said != "" {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.wrong = append(v.wrong, said)
	}
}

// do runs actions that have to succeed.
func (v *tab) do(actions ...chromedp.Action) {
	v.t.Helper()
	ctx, stop := context.WithTimeout(v.ctx, busy)
	defer stop()
	require.NoError(v.t, chromedp.Run(ctx, actions...))
}

// js evaluates an expression, which may be a promise.
func js[T any](v *tab, expression string) (got T) {
	v.t.Helper()
	v.do(chromedp.Evaluate(expression, &got, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	return got
}

// until waits for a condition.
func (v *tab) until(condition string) {
	v.t.Helper()
	within(v.t, busy, func() error {
		if !js[bool](v, condition) {
			return fmt.Errorf("not yet: %s", condition)
		}
		return nil
	})
}

// text returns the text of an element.
func (v *tab) text(selector string) (said string) {
	v.t.Helper()
	ctx, stop := context.WithTimeout(v.ctx, busy)
	defer stop()
	expression := fmt.Sprintf("document.querySelector(%q)?.textContent ?? ''", selector)
	_ = chromedp.Run(ctx, chromedp.Evaluate(expression, &said))
	return said
}

// says waits until an element's text contains these words.
func (v *tab) says(selector, words string) {
	v.t.Helper()
	said := ""
	within(v.t, busy, func() error {
		if said = v.text(selector); !strings.Contains(said, words) {
			return fmt.Errorf("%s says %q and not %q", selector, said, words)
		}
		return nil
	})
}

// still is a function of the page. It reports whether an element is visible and enabled, and has not moved since the
// call before. From then on, missed is true until a visitor presses the element or its successor.
const still = `selector => {
	const e = document.querySelector(selector)
	if (e === null || e.disabled || e.ariaDisabled === 'true' || !e.checkVisibility()) return false
	const at = e.getBoundingClientRect(), was = e.seenAt
	e.seenAt = at.x + ' ' + (at.y + scrollY)
	if (e.seenAt !== was) return false
	const pressed = ({target}) => { if (target.closest(selector)) window.missed = false }
	removeEventListener('click', window.pressed, true)
	addEventListener('click', window.pressed = pressed, true)
	return window.missed = true
}`

// click presses an element that is visible and enabled, with the mouse. Where a late answer moves the element
// between the look and the press, the mouse misses it, and it is pressed again, as by any visitor.
func (v *tab) click(selector string) {
	v.t.Helper()
	within(v.t, busy, func() error {
		v.until(fmt.Sprintf("(%s)(%q)", still, selector))
		v.do(chromedp.Click(selector, chromedp.ByQuery))
		if js[bool](v, "window.missed === true") {
			return fmt.Errorf("the mouse misses %s", selector)
		}
		return nil
	})
}

// fill puts a value into a field.
func (v *tab) fill(selector, value string) {
	v.t.Helper()
	v.do(chromedp.SetValue(selector, value, chromedp.ByQuery))
}

// view goes to another view of the page.
func (v *tab) view(name string) {
	v.t.Helper()
	v.click(`#views a[href="#` + name + `"]`)
	v.until(fmt.Sprintf("!document.getElementById('view-%s').hidden", name))
}

// login makes the visitor a user.
func (v *tab) login(user string) {
	v.t.Helper()
	v.fill("#user", user)
	v.click("#login button")
	v.until("!document.getElementById('who').hidden")
}
