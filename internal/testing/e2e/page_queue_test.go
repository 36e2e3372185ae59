package e2e_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
)

// queueShop has one shard, whose queue is served as fast as the locks of its buyers are freed.
func queueShop(t *testing.T) shop {
	return newShop(t, append(impatient(), "SECKILL_AUTH__DEMO_LOGIN=true", "SECKILL_ORDER__MODE=queue",
		"SECKILL_STOCK__SHARDS=1", "SECKILL_ORDER__QUEUE_MAX_AGE=20s")...)
}

// queued is an order as the contract shows it while it is in a queue.
type queued struct {
	Status   string  `json:"status"`
	Position int     `json:"position"`
	Pace     float64 `json:"pace"`
	Wait     float64 `json:"wait_seconds"`
}

// lineUp takes the locks of so many users of one bucket, and queues all but the last of them: whose
// lock is held is served when it is free.
func (s shop) lineUp(t *testing.T, i *instance, coupon string, first, users int) (free []func()) {
	t.Helper()
	for k := range users {
		user := first + 64*k
		free = append(free, s.takeLock(t, user))
		if k < users-1 {
			require.Equal(t, http.StatusAccepted, i.as(t, int64(user)).buy(coupon, "").status)
		}
	}
	return free
}

// fifthInLine opens the page for the n-th visitor, who is queued behind four buyers. free lets each
// of the five be sold, the visitor last; placed is where the page asks. An entry that is 20 s old is
// refused, so a test does little with one.
func (s shop) fifthInLine(t *testing.T, b browser, i *instance, url string, l look, n int) (v *tab, user int, placed string, free []func()) {
	t.Helper()
	id := i.sale(t, 10, 1)
	v = b.open(t, url, l)
	v.choose(id)
	user = firstOfBucket + 64*(8*n+4)
	v.login(itoa(user))
	free = s.lineUp(t, i, id, firstOfBucket+64*8*n, 5)
	v.click("#buy")
	v.means("#outcome", "inLine")
	v.says("#outcome", "5")
	return v, user, js[string](v, `JSON.parse(sessionStorage.getItem("purchase")).location`), free
}

func TestPage_QueuePosition_SurvivesReloadAndReconnect(t *testing.T) {
	t.Parallel()
	b, s := theBrowser(t), queueShop(t)
	i := s.instance(t)
	for n, l := range testservers.Sample(t, 1, allWidths) {
		t.Run(l.String(), func(t *testing.T) {
			link := newUplink(t, i.url)
			v, _, placed, free := s.fifthInLine(t, b, i, link.url, l, n)
			v.do(chromedp.Reload())
			v.means("#outcome", "inLine")
			v.says("#outcome", "5")
			require.Equal(t, placed, js[string](v, `JSON.parse(sessionStorage.getItem("purchase")).location`))
			require.True(t, js[bool](v, `document.querySelector("#buy").disabled`), "one is under way")

			link.down(v)
			v.means("#outcome", "offline_unknown")
			link.up(v)
			v.says("#outcome", "5")
			for _, one := range free {
				one()
			}
			v.means("#outcome", "bought")
			v.until(`document.querySelectorAll("#orders li").length === 1`)
			v.until(`sessionStorage.getItem("purchase") === null`)
		})
	}
}

func TestPage_RequestQueued_ShowsPaceAndWait(t *testing.T) {
	t.Parallel()
	b, s := theBrowser(t), queueShop(t)
	i := s.instance(t)
	for n, l := range testservers.Sample(t, 1, allWidths) {
		t.Run(l.String(), func(t *testing.T) {
			v, user, placed, free := s.fifthInLine(t, b, i, i.url, l, n)
			free[0]()
			v.says("#outcome", "4")
			free[1]()
			v.means("#outcome", "inLine_pace") // two looks, and one was served between
			var now queued
			require.NoError(t, json.Unmarshal([]byte(i.as(t, int64(user)).do(http.MethodGet, placed, "").body), &now))
			require.Equal(t, "queued", now.Status)
			require.Positive(t, now.Pace)
			require.InDelta(t, float64(now.Position)/now.Pace, now.Wait, 0.2+now.Wait/5, "the whole of it at this pace")
			require.LessOrEqual(t, js[int](v, overhang), 0)
			v.picture("queued-" + l.String())
			free[2]()
			free[3]()
			free[4]()
			v.means("#outcome", "bought")
		})
	}
}

func TestPage_QueuePosition_SurvivesRestart(t *testing.T) {
	t.Parallel()
	b, s := theBrowser(t), queueShop(t)
	i := s.instance(t)
	id := i.sale(t, 10, 1)
	user := firstOfBucket + 64*100
	free := s.takeLock(t, user)
	v := b.open(t, i.url, visitors[0])
	v.choose(id)
	v.login(itoa(user))
	v.click("#buy")
	v.means("#outcome", "inLine")
	require.Zero(t, i.stop(t))
	v.means("#outcome", "away")
	i.restart(t)
	v.means("#outcome", "inLine")
	free()
	v.means("#outcome", "bought")
	v.until(`document.querySelectorAll("#orders li").length === 1`)
}
