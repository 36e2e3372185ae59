package e2e_test

import (
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// balancer sends requests to the instances that said, a moment ago, that they are
// ready: what a load balancer does.
type balancer struct {
	fleet []*instance
	ready [3]atomic.Bool
	next  atomic.Int64
	// unready is set once the instance has answered its health check with a 503: it
	// said so before it went.
	unready [3]atomic.Bool
}

func (b *balancer) watch(n int, stop <-chan struct{}) {
	c := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for tick := time.NewTicker(50 * time.Millisecond); ; {
		resp, err := c.Get(b.fleet[n].admin + "/readyz")
		ok := err == nil && resp.StatusCode == http.StatusOK
		if err == nil {
			if resp.StatusCode == http.StatusServiceUnavailable {
				b.unready[n].Store(true)
			}
			_ = resp.Body.Close()
		}
		b.ready[n].Store(ok)
		select {
		case <-stop:
			tick.Stop()
			return
		case <-tick.C:
		}
	}
}

func (b *balancer) pick() int {
	for {
		if n := int(b.next.Add(1)) % len(b.fleet); b.ready[n].Load() {
			return n
		}
	}
}

func TestSIGTERM_UnderLoad_FailsNoRequestAndLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	fleet := s.fleet(t)
	id := fleet[0].sale(t, 100_000, 1)
	b := &balancer{fleet: fleet}
	stop := make(chan struct{})
	var watching sync.WaitGroup
	for n := range fleet {
		b.ready[n].Store(true)
		watching.Go(func() { b.watch(n, stop) })
	}

	var user, sold atomic.Int64
	var served [3]atomic.Int64
	var clients sync.WaitGroup
	for range 16 {
		transport := &http.Transport{MaxIdleConnsPerHost: 4}
		t.Cleanup(transport.CloseIdleConnections)
		clients.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				n := b.pick()
				c := client{url: fleet[n].url, token: token(t, user.Add(1), "user"), http: &http.Client{Transport: transport}}
				r, err := c.try(http.MethodPost, "/api/v1/coupons/"+id+"/orders", "")
				if err != nil || r.status != http.StatusCreated {
					t.Errorf("a request to instance %d failed: %v %d %s", n, err, r.status, r.body)
					continue
				}
				sold.Add(1)
				served[n].Add(1)
			}
		})
	}
	reach := func(counter *atomic.Int64, n int64) {
		from := counter.Load()
		within(t, 20*time.Second, func() error {
			if counter.Load() < from+n {
				return assert.AnError
			}
			return nil
		})
	}
	for n := range served {
		reach(&served[n], 50)
	}
	asked := time.Now()
	code := fleet[0].stop(t)
	took := time.Since(asked)
	reach(&served[1], 50) // the others go on
	close(stop)
	clients.Wait()
	watching.Wait()

	assert.Zero(t, code)
	assert.Less(t, took, 15*time.Second)
	assert.True(t, b.unready[0].Load(), "it said that it is not ready before it went")
	assert.Contains(t, fleet[0].err.String(), `"stopped"`)
	assert.Empty(t, s.keys(t, "seckill:{lock:*}:user:*"), "users' locks")
	assert.Len(t, s.keys(t, "seckill:{lock:*}:worker:*"), 2, "worker numbers, of the two that still run")
	assert.Zero(t, s.holds(t), "holds")
	got := s.auditedTwice(t, fleet[1], id)
	assert.EqualValues(t, sold.Load(), got.Live, "orders, and 201 answered")
}

// Whenever it comes, an end that was asked for is no failure.
func TestSIGTERM_DuringStart_IsNotAFailure(t *testing.T) {
	t.Parallel()
	for after := 20 * time.Millisecond; after < 400*time.Millisecond; after += 80 * time.Millisecond {
		p := launch(t, []string{"SECKILL_HTTP__ADDR=127.0.0.1:0", "SECKILL_ADMIN__ADDR=127.0.0.1:0"}, "serve")
		time.Sleep(after) // the moment is what is tried
		p.signal(t, syscall.SIGTERM)
		p.await(t, 20*time.Second)
		if p.cmd.ProcessState.Exited() { // and not ended by the signal, before it could hear of it
			assert.Zero(t, p.code(), "after %s: %s", after, p.err.tail())
		}
	}
}

func TestSIGTERM_EventStreams_End(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	i := s.instance(t)
	id := i.sale(t, 5, 1)
	c := i.as(t, 0)
	resp, err := c.http.Get(c.url + "/api/v1/coupons/" + id + "/live")
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.True(t, strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream"))
	asked := time.Now()
	assert.Zero(t, i.stop(t))
	assert.Less(t, time.Since(asked), 12*time.Second, "it does not wait for the whole of its 15 s")
}

// A collector of traces that takes a connection and never answers costs a second of the end at most.
// Stopping without a collector takes milliseconds, and waiting for the collector took all 15 s.
func TestServe_SIGTERMWithASilentCollector_EndsCleanlyAndInTime(t *testing.T) {
	t.Parallel()
	collector, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = collector.Close() }()
	s := newShop(t, "SECKILL_OTEL__ENDPOINT=http://"+collector.Addr().String(), "SECKILL_OTEL__SAMPLE_RATIO=1")
	i := s.instance(t)
	id := i.sale(t, 5, 1)
	require.Equal(t, http.StatusCreated, i.as(t, 1).do(http.MethodPost, "/api/v1/coupons/"+id+"/orders", "").status)
	asked := time.Now()
	assert.Zero(t, i.stop(t))
	assert.Less(t, time.Since(asked), 8*time.Second, "a second to drain, a second for the spans, and a busy machine")
	assert.Contains(t, i.err.String(), "the last spans were not sent")
	assert.NotContains(t, i.err.String(), "leases still held")
	assert.Empty(t, s.keys(t, "seckill:{lock:*}:worker:*"), "the locks and stores had their time")
}
