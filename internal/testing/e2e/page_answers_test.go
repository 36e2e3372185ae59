package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/faultnet"
	"example.com/seckill/internal/testing/testservers"
)

// firstOfBucket is a user whose lock is in bucket 0, as is that of every 64th after.
const firstOfBucket = 640

// takeLock holds the lock of a user of bucket 0 as another request would.
func (s shop) takeLock(t *testing.T, user int) (free func()) {
	t.Helper()
	key := "seckill:{lock:0}:user:" + itoa(user)
	require.NoError(t, s.redis.Set(t.Context(), key, "somebody 1", time.Minute).Err())
	return func() { require.NoError(t, s.redis.Del(t.Context(), key).Err()) }
}

func TestPage_QueuedBuyer_SeesPositionThenOrder(t *testing.T) {
	t.Parallel()
	b := theBrowser(t)
	s := newShop(t, append(impatient(), "SECKILL_AUTH__DEMO_LOGIN=true", "SECKILL_ORDER__MODE=queue",
		"SECKILL_STOCK__SHARDS=1", "SECKILL_ORDER__QUEUE_CAPACITY=3", "SECKILL_ORDER__QUEUE_MAX_AGE=20s")...)
	i := s.instance(t)
	for n, l := range testservers.Sample(t, 1, visitors) {
		t.Run(l.String(), func(t *testing.T) {
			id := i.sale(t, 10, 1)
			v, late := b.open(t, i.url, l), b.open(t, i.url, l)
			v.choose(id)
			v.login(itoa(firstOfBucket + 64*(3*n+2)))
			late.choose(id)
			late.login(itoa(90_000 + n))

			free := s.lineUp(t, i, id, firstOfBucket+64*3*n, 3)
			v.click("#buy")
			v.means("#outcome", "inLine")
			v.says("#outcome", "3")
			late.click("#buy")
			late.means("#outcome", "overloaded") // three are in the queue, and no more may be

			free[0]()
			v.says("#outcome", "2")
			free[1]()
			v.says("#outcome", "1")
			free[2]()
			v.means("#outcome", "bought")
			v.means("#orders .badge", "pending")
		})
	}
}

func TestPage_BusyOrRateLimited_RetriesPurchase(t *testing.T) {
	t.Parallel()
	b := theBrowser(t)
	s := newShop(t, append(impatient(), "SECKILL_AUTH__DEMO_LOGIN=true", "SECKILL_RATE_LIMIT__PER_USER=1", "SECKILL_RATE_LIMIT__BURST=8")...)
	i := s.instance(t)
	for n, l := range testservers.Sample(t, 1, visitors) {
		t.Run(l.String(), func(t *testing.T) {
			user := firstOfBucket + 64*n
			id := i.sale(t, 10, 1)
			v := b.open(t, i.url, l)
			v.login(itoa(user))
			v.choose(id)
			free := s.takeLock(t, user)
			v.click("#buy")
			v.means("#outcome", "request_in_progress")
			free()
			v.means("#outcome", "bought")

			v.choose(i.sale(t, 100, 100))
			ctx, enough := context.WithCancel(t.Context())
			too := i.as(t, int64(user))
			done := make(chan struct{})
			go func() { // somebody with the same name asks all the time
				defer close(done)
				for ctx.Err() == nil {
					_, _ = too.try(http.MethodGet, "/api/v1/orders?limit=1", "")
				}
			}()
			bought, limited := v.word("bought"), v.word("rate_limited")
			v.click("#buy")
			within(t, busy, func() error {
				said := v.text("#outcome")
				if strings.Contains(said, limited) {
					return nil
				}
				if strings.Contains(said, bought) { // it came between two of the others
					v.click("#buy")
				}
				return fmt.Errorf("the outcome is %q", said)
			})
			enough()
			<-done
			v.means("#outcome", "bought")
		})
	}
}

func TestPage_CommitInDoubt_ShowsFinalOutcome(t *testing.T) {
	t.Parallel()
	b := theBrowser(t)
	dsn := ownDatabase(t)
	s := newShopOver(t, dsn, append(impatient(), "SECKILL_AUTH__DEMO_LOGIN=true")...)
	i := s.instance(t)
	do := statements(t, dsn)
	for n, l := range testservers.Sample(t, 1, visitors) {
		t.Run(l.String(), func(t *testing.T) {
			id := i.sale(t, 10, 1)
			v := b.open(t, i.url, l)
			v.choose(id)
			v.login(itoa(1000 + n))
			require.NoError(t, do("BACKUP STAGE START", "BACKUP STAGE BLOCK_COMMIT"))
			v.click("#buy")
			v.means("#outcome", "wait")
			require.NoError(t, do("BACKUP STAGE END"))
			bought, not := v.word("bought"), v.word("given_up")
			within(t, busy, func() error {
				switch said := v.text("#outcome"); {
				case strings.Contains(said, bought):
					v.means("#orders .badge", "pending")
				case strings.Contains(said, not):
					assert.Empty(t, v.text("#orders .pending"))
				default:
					return fmt.Errorf("the outcome is %q", said)
				}
				return nil
			})
		})
	}
}

// losesOneAnswer lets the server carry out the next request of that method to such an address, and cuts the connection
// instead of sending the answer.
func (v *tab) losesOneAnswer(method, address string) (lost *atomic.Bool) {
	v.t.Helper()
	lost = new(atomic.Bool)
	chromedp.ListenTarget(v.ctx, func(event any) {
		e, paused := event.(*fetch.EventRequestPaused)
		if !paused {
			return
		}
		var next chromedp.Action = fetch.ContinueRequest(e.RequestID)
		if e.Request.Method == method && lost.CompareAndSwap(false, true) {
			next = fetch.FailRequest(e.RequestID, network.ErrorReasonConnectionReset)
		}
		go func() { _ = chromedp.Run(v.ctx, next) }() // a listener must not wait for the browser
	})
	v.do(fetch.Enable().WithPatterns([]*fetch.RequestPattern{{URLPattern: address, RequestStage: fetch.RequestStageResponse}}))
	return lost
}

func TestPage_TapWhileOffline_IsSentWhenOnline(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	for n, l := range testservers.Sample(t, 1, visitors) {
		t.Run(l.String(), func(t *testing.T) {
			id := shop.sale(t, 10, 5)
			link := newUplink(t, shop.url)
			v := b.open(t, link.url, l)
			v.choose(id)
			v.login(itoa(1300 + n))
			link.down(v)
			v.means("#notice", "offline_now")
			v.click("#buy")
			v.means("#outcome", "offline")
			assert.Equal(t, 10, shop.left(t, id), "nothing was sent")
			link.up(v)
			v.means("#outcome", "bought")
			v.means("#orders .badge", "pending")
			assert.Equal(t, 9, shop.left(t, id))
		})
	}
}

// A laptop in a train has no network, and says so to the page; the demonstration that runs on it needs none.
func TestPage_BrowserOffline_ReachesLocalServer(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	id := shop.sale(t, 10, 5)
	v := b.open(t, shop.url, visitors[0])
	v.choose(id)
	v.login("1390")
	js[bool](v, `Object.defineProperty(navigator, "onLine", { get: () => false }) && dispatchEvent(new Event("offline"))`)
	v.click("#buy")
	v.means("#outcome", "bought")
	v.says("#left", "9")
	assert.NotEqual(t, v.word("offline_now"), v.text("#notice"))
}

// uplink is a visitor's connection to the server, which a test can remove. A browser that emulates a missing network
// does not cut open streams, so their events would tell the page that the network is there.
type uplink struct {
	url   string
	proxy *faultnet.Proxy
	end   func()
}

func newUplink(t *testing.T, server string) *uplink {
	t.Helper()
	proxy, err := faultnet.New(strings.TrimPrefix(server, "http://"))
	require.NoError(t, err)
	t.Cleanup(proxy.Close)
	return &uplink{url: "http://" + proxy.Addr(), proxy: proxy}
}

// down tells the browser that there is no network, and removes it. Bytes that were in transit arrive before.
func (u *uplink) down(v *tab) {
	v.t.Helper()
	v.do(network.EmulateNetworkConditions(true, 0, -1, -1))
	u.end = u.proxy.Inject(faultnet.Reset)
	u.proxy.Cut()
	require.NoError(v.t, u.proxy.Join())
}

// up gives the network back.
func (u *uplink) up(v *tab) {
	v.t.Helper()
	u.end()
	v.do(network.EmulateNetworkConditions(false, 0, -1, -1))
}

func TestPage_SecondTapOrLostAnswer_MakesNoSecondOrder(t *testing.T) {
	t.Parallel()
	b, shop := theBrowser(t), embeddedShop(t)
	for n, l := range testservers.Sample(t, 1, visitors) {
		t.Run(l.String(), func(t *testing.T) {
			id := shop.sale(t, 10, 5)
			v := b.open(t, shop.url, l)
			v.choose(id)
			v.login(itoa(1100 + n))
			lost := v.losesOneAnswer(http.MethodPost, "*/coupons/*/orders")
			shut := js[bool](v, `(buy => { buy.click(); const shut = buy.disabled; buy.click(); return shut })(document.querySelector("#buy"))`)
			assert.True(t, shut, "a second tap is taken while the first one is under way")
			v.means("#outcome", "bought")
			require.True(t, lost.Load())
			v.means("#orders .badge", "pending")
			assert.Equal(t, 1, js[int](v, `document.querySelectorAll("#orders li").length`))
			assert.Equal(t, 9, shop.left(t, id))
		})
	}
}

// An order that is bought while the orders are on their way is not among them.
func TestPage_OrderChangesWhileLoading_LoadsAgain(t *testing.T) {
	t.Parallel()
	b := theBrowser(t)
	shop := newShop(t, "SECKILL_AUTH__DEMO_LOGIN=true").instance(t)
	id := shop.sale(t, 10, 1)
	v := b.open(t, shop.url, visitors[0])
	v.choose(id)
	v.login("77001")
	const loads = `(async () => {
		const { loadOrders } = await import(new URL("orders.js", document.baseURI)), fetched = window.fetch;
		let n = 0;
		window.fetch = async (...asked) => {
			if (!String(asked[0]).includes("/orders?")) return fetched(...asked);
			n++;
			await new Promise((done) => setTimeout(done, 200));
			return fetched(...asked);
		};
		await loadOrders(); // and what the log-in has asked for
		const before = n;
		loadOrders();
		while (n === before) await new Promise((done) => setTimeout(done, 10)); // until it is on its way
		await Promise.all([loadOrders(), loadOrders(), loadOrders()]);
		window.fetch = fetched;
		return n - before;
	})()`
	require.Equal(t, 2, js[int](v, loads), "once now, and once more for whatever has changed meanwhile")
}
