package e2e_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/config"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/rush"
	"example.com/seckill/internal/tools/servers"
)

// loadBalancer is a reverse proxy in front of changing instances. It probes /readyz, and sends requests to the
// instances that were ready at the last probe. It repeats no request.
type loadBalancer struct {
	probeEvery time.Duration

	mu     sync.Mutex
	behind map[*instance]bool // ready, at the last probe
	next   atomic.Int64
	failed atomic.Int64 // requests without an answer
}

// stands starts a load balancer, and returns its address.
func (b *loadBalancer) stands(t *testing.T) (addr string) {
	b.behind = map[*instance]bool{}
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: strings.TrimPrefix(b.pick(), "http://")})
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			t.Logf("a request without an answer: %v", err)
			b.failed.Add(1)
			w.WriteHeader(http.StatusBadGateway)
		},
	})
	ctx, cancel := context.WithCancel(context.Background())
	var probing sync.WaitGroup
	probing.Go(func() { b.probe(ctx) })
	t.Cleanup(func() {
		cancel()
		probing.Wait()
		server.Close()
		transport.CloseIdleConnections()
	})
	return server.URL
}

func (b *loadBalancer) probe(ctx context.Context) {
	c := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for tick := time.NewTicker(b.probeEvery); ctx.Err() == nil; <-tick.C {
		for _, i := range b.all() {
			resp, err := c.Get(i.admin + "/readyz")
			ready := err == nil && resp.StatusCode == http.StatusOK
			if err == nil {
				_ = resp.Body.Close()
			}
			b.mu.Lock()
			if _, still := b.behind[i]; still {
				b.behind[i] = ready
			}
			b.mu.Unlock()
		}
	}
}

func (b *loadBalancer) all() (all []*instance) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.behind {
		all = append(all, i)
	}
	return all
}

// add puts an instance behind the load balancer, and returns once it is given requests.
func (b *loadBalancer) add(t *testing.T, i *instance) {
	t.Helper()
	b.mu.Lock()
	b.behind[i] = false
	b.mu.Unlock()
	within(t, 20*time.Second, func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		if !b.behind[i] {
			return errors.New("it is not ready")
		}
		return nil
	})
}

func (b *loadBalancer) remove(i *instance) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.behind, i)
}

func (b *loadBalancer) pick() string {
	for {
		var ready []*instance
		b.mu.Lock()
		for i, is := range b.behind {
			if is {
				ready = append(ready, i)
			}
		}
		b.mu.Unlock()
		if len(ready) > 0 {
			return ready[int(b.next.Add(1))%len(ready)].url
		}
		time.Sleep(time.Millisecond)
	}
}

// probings are how often a load balancer asks, and a drain that is longer, as docs/CONFIGURATION.md advises.
var probings = []struct {
	every, drain time.Duration
	rate         float64 // taps per second
}{
	{every: 100 * time.Millisecond, drain: 2 * time.Second, rate: 300},
	{every: 5 * time.Second, drain: 6 * time.Second, rate: 100},
}

// In both modes buyers notice nothing of an upgrade, and no queued request becomes void. With
// SECKILL_BEFORE set to the path of another build the fleet is that at first, goes over to the program
// under test, and back.
func TestUpgrade_OneByOneUnderLoad_LosesNothing(t *testing.T) {
	t.Parallel()
	for _, mode := range testservers.Sample(t, 1, []string{"sync", "queue"}) {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			for _, p := range testservers.Sample(t, 1, probings) {
				t.Run("probed every "+p.every.String(), func(t *testing.T) { isReplaced(t, mode, p.every, p.drain, p.rate) })
			}
		})
	}
}

func isReplaced(t *testing.T, mode string, probeEvery, drain time.Duration, rate float64) {
	this := drawnBuild(t)
	builds := []string{this, this}
	if before := os.Getenv("SECKILL_BEFORE"); before != "" {
		builds = []string{before, this, before}
	}
	names := map[string]map[string]string{}
	for _, build := range builds {
		old, err := servers.OldNames(t.Context(), t.TempDir(), build, config.RenamedVariables())
		require.NoError(t, err)
		names[build] = old
	}
	dsn := testservers.DSN(t)
	s := newShopOver(t, dsn, slices.Concat(unhurried, []string{
		"SECKILL_ORDER__MODE=" + mode, "SECKILL_HTTP__DRAIN_DELAY=" + drain.String(), "SECKILL_RATE_LIMIT__PER_USER=0",
	})...)
	b := loadBalancer{probeEvery: probeEvery}
	addr := b.stands(t)
	var fleet []*instance
	for range 3 {
		i := serveBuild(t, builds[0], servers.WithNames(s.env, names[builds[0]])...)
		b.add(t, i)
		fleet = append(fleet, i)
	}
	coupon := fleet[0].sale(t, 1_000_000, 1)

	stop, sold := make(chan struct{}), make(chan rush.Report)
	go func() { sold <- sellUntil(t, stop, addr, coupon, rate) }()
	for _, build := range builds[1:] {
		for n := range fleet {
			i := serveBuild(t, build, servers.WithNames(s.env, names[build])...)
			b.add(t, i)
			assert.Zero(t, fleet[n].stop(t))
			b.remove(fleet[n])
			fleet[n] = i
		}
	}
	close(stop)
	sum := <-sold
	assert.Zero(t, sum.Failed, "%v", sum.Failures)
	assert.Zero(t, b.failed.Load(), "requests without an answer")
	assert.Empty(t, sum.Refused)
	assert.Positive(t, sum.Accepted)
	got := s.auditedTwice(t, fleet[1], coupon)
	assert.GreaterOrEqual(t, got.Orders, sum.Accepted)
	assert.Zero(t, voidOrders(t, dsn), "void orders")
	t.Logf("%s: %d orders while each instance was replaced", mode, sum.Accepted)
}

// sellUntil sends one small workload after the other until stop is closed.
func sellUntil(t *testing.T, stop <-chan struct{}, addr, coupon string, rate float64) rush.Report {
	const users = 100
	var all []rush.Report
	for first := int64(1); ; first += users {
		select {
		case <-stop:
			return total(all)
		default:
		}
		r, err := rush.Run(context.Background(), rush.Options{
			URL: addr, Keys: true, Token: rush.Signed(secret), FirstUser: first, Users: users, Coupon: coupon,
			PayPercent: 10, CancelPercent: 10, Concurrency: 6, Tries: 1, Rate: rate,
		})
		if err != nil {
			t.Error(err)
			return total(all)
		}
		assert.Empty(t, r.Violations)
		all = append(all, r)
	}
}

func voidOrders(t *testing.T, dsn string) (n int) {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	defer func() { _ = db.Close() }()
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM orders WHERE status = 'void'").Scan(&n))
	return n
}

// A newer version may keep its shards in another way. Then this one is not ready, says why, and neither
// sells nor starts; it goes on when the shards are its own again.
func TestInstance_NewerShardLayout_DoesNotSell(t *testing.T) {
	testservers.OneOf(t, 2)
	t.Parallel()
	s := newShop(t)
	i := s.instance(t)
	coupon := i.sale(t, 100, 1)
	meta := func(layout int) {
		for _, key := range s.keys(t, "seckill:{"+coupon+":*}:meta") {
			require.NoError(t, s.redis.HSet(t.Context(), key, "layout", layout).Err())
		}
	}
	require.Equal(t, http.StatusCreated, i.as(t, 1).buy(coupon, "").status)
	meta(99)
	i.as(t, 2).buy(coupon, "").isProblem(t, http.StatusServiceUnavailable, "unavailable")
	i.apart(t, http.StatusServiceUnavailable)
	assert.Contains(t, textOf(t, i.admin+"/readyz"), "layout 99; this one knows 2")
	p := run(t, append([]string{"SECKILL_HTTP__ADDR=127.0.0.1:0", "SECKILL_ADMIN__ADDR=127.0.0.1:0"}, s.env...), "serve")
	assert.Equal(t, 2, p.code())
	assert.Contains(t, p.err.String(), "a newer version of the program has loaded the shard")
	meta(1)
	i.apart(t, http.StatusOK)
	within(t, 20*time.Second, func() error {
		if got := i.as(t, 3).buy(coupon, ""); got.status != http.StatusCreated {
			return fmt.Errorf("%d %s", got.status, got.body)
		}
		return nil
	})
	assert.Equal(t, 2, s.auditedTwice(t, i, coupon).Live)
}
