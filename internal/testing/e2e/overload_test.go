package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
)

// jam is a sale in which no order can be placed: another session holds the coupon's row.
type jam struct {
	shop
	*instance
	coupon  string
	release func()
	mu      sync.Mutex
	told    map[int]int // how often each status was answered
	buying  sync.WaitGroup
}

const (
	atWork  = 4
	inQueue = 8
)

// newJam starts an instance that makes four orders at once. Eight requests may wait for the whole test.
func newJam(t *testing.T, env ...string) *jam {
	dsn := strings.ReplaceAll(migratedDSN(t), "readTimeout=5s", "readTimeout=25s") // it must outlast the row
	j := &jam{shop: redisShop(t, "SECKILL_RATE_LIMIT__PER_USER=0").on(dsn), told: map[int]int{}}
	j.instance = j.shop.instance(t, append([]string{
		fmt.Sprint("SECKILL_ADMISSION__MAX_CONCURRENT=", atWork), fmt.Sprint("SECKILL_ADMISSION__MAX_WAITING=", inQueue), "SECKILL_ADMISSION__MAX_WAIT=20s",
		"SECKILL_HTTP__REQUEST_TIMEOUT=30s", "SECKILL_HTTP__WRITE_TIMEOUT=40s", "SECKILL_HTTP__SHUTDOWN_TIMEOUT=30s",
		"SECKILL_ORDER__TX_TIMEOUT=24s", "SECKILL_LOCK__TTL=60s", "SECKILL_ORDER__RECONCILE_AFTER=25s",
	}, env...)...)
	j.coupon = j.sale(t, 100, 1)
	do := statements(t, dsn)
	require.NoError(t, do("BEGIN", "SELECT stock FROM coupons WHERE id = "+j.coupon+" FOR UPDATE"))
	j.release = sync.OnceFunc(func() { assert.NoError(t, do("ROLLBACK")) })
	t.Cleanup(j.release)
	return j
}

// come sends requests of many buyers, one after the other, from the given user on.
func (j *jam) come(ctx context.Context, t *testing.T, first, many int) {
	t.Helper()
	for user := first; user < first+many; user++ {
		c := j.as(t, int64(user))
		j.buying.Go(func() {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/api/v1/coupons/"+j.coupon+"/orders", http.NoBody)
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("Authorization", "Bearer "+c.token)
			req.Header.Set("Idempotency-Key", "the one of "+itoa(user))
			resp, err := c.http.Do(req)
			status := 0
			if err == nil {
				status = resp.StatusCode
				_ = resp.Body.Close()
			} else if !errors.Is(err, context.Canceled) {
				t.Errorf("user %d: %v", user, err)
			}
			j.mu.Lock()
			defer j.mu.Unlock()
			j.told[status]++
		})
	}
}

// await waits until the given numbers of orders are in progress and of requests wait. It reads both at the second
// listener, which is a part of the test.
func (j *jam) await(t *testing.T, orders, waiting int) {
	t.Helper()
	want := []string{fmt.Sprintf("\nseckill_admission_in_flight %d\n", orders), fmt.Sprintf("\nseckill_admission_waiting %d\n", waiting)}
	within(t, 15*time.Second, func() error {
		text := j.tell(t, "/metrics")
		for _, line := range want {
			if !strings.Contains(text, line) {
				return fmt.Errorf("not %q", strings.TrimSpace(line))
			}
		}
		return nil
	})
}

func (j *jam) tell(t *testing.T, path string) string {
	t.Helper()
	ask, err := http.NewRequestWithContext(t.Context(), http.MethodGet, j.admin+path, http.NoBody)
	require.NoError(t, err)
	ask.Close = true // who asks again and again would keep all connections that the listener takes
	resp, err := j.as(t, 0).http.Do(ask)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	require.Equal(t, http.StatusOK, resp.StatusCode, path)
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return string(text)
}

func (j *jam) answers(status int) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.told[status]
}

// While the order path is full, buyers pay and cancel their orders, and visitors get answers. Any further buyer gets
// 503, and the refused request takes nothing.
func TestOverload_OrderPathFull_OnlyBuyersWait(t *testing.T) {
	testservers.OneOf(t, 2)
	t.Parallel()
	j := newJam(t)
	other := j.sale(t, 10, 1)
	var had []orderJSON
	for user := range 2 {
		had = append(had, j.as(t, int64(user+1)).buy(other, "").sold(t, http.StatusCreated))
	}
	j.come(t.Context(), t, 100, atWork+inQueue)
	j.await(t, atWork, inQueue)
	taken := j.holds(t)
	require.LessOrEqual(t, taken, atWork, "who waits has taken nothing")

	for user := range 20 {
		r := j.as(t, int64(1000+user)).buy(j.coupon, "k")
		r.isProblem(t, http.StatusServiceUnavailable, "overloaded")
	}
	require.Equal(t, taken, j.holds(t), "who was refused has taken nothing")
	j.as(t, 1).pay(had[0].ID).sold(t, http.StatusOK)
	j.as(t, 2).cancel(had[1].ID).sold(t, http.StatusOK)
	require.Equal(t, http.StatusOK, j.as(t, 1).order(had[0].ID).status)
	require.Equal(t, http.StatusOK, j.as(t, 0).do(http.MethodGet, "/api/v1/coupons/"+j.coupon, "").status)
	for _, path := range []string{"/healthz", "/readyz"} {
		j.tell(t, path)
	}
	require.Contains(t, j.tell(t, "/metrics"), `seckill_admission_refused_total{reason="full"} 20`)

	j.release()
	j.buying.Wait()
	require.Equal(t, atWork+inQueue, j.answers(http.StatusCreated))
	j.await(t, 0, 0)
	for user := range 20 { // they come back
		j.as(t, int64(1000+user)).buy(j.coupon, "k").sold(t, http.StatusCreated)
	}
	require.Equal(t, atWork+inQueue+20, j.auditedTwice(t, j.instance, j.coupon).Live)
	require.Equal(t, 1, j.audited(t, other, 10*time.Second).Live)
}

func TestAdmission_WaitingBuyerLeaves_FreesSlot(t *testing.T) {
	t.Parallel()
	j := newJam(t)
	j.come(t.Context(), t, 100, atWork)
	j.await(t, atWork, 0)
	ctx, leave := context.WithCancel(t.Context())
	j.come(ctx, t, 200, inQueue)
	j.await(t, atWork, inQueue)
	leave()
	j.await(t, atWork, 0)
	require.LessOrEqual(t, j.holds(t), atWork)
	j.come(t.Context(), t, 300, inQueue)
	j.await(t, atWork, inQueue)
	j.release()
	j.buying.Wait()
	require.Equal(t, []int{atWork + inQueue, inQueue}, []int{j.answers(http.StatusCreated), j.answers(0)})
	require.Equal(t, atWork+inQueue, j.auditedTwice(t, j.instance, j.coupon).Live)
}

func TestAdmission_MaxWaitExceeded_Returns503(t *testing.T) {
	t.Parallel()
	j := newJam(t, "SECKILL_ADMISSION__MAX_WAIT=100ms")
	j.come(t.Context(), t, 100, atWork)
	j.await(t, atWork, 0)
	asked := time.Now()
	j.as(t, 200).buy(j.coupon, "").isProblem(t, http.StatusServiceUnavailable, "overloaded")
	require.Less(t, time.Since(asked), 10*time.Second, "and the orders before it take longer")
	require.Contains(t, j.tell(t, "/metrics"), `seckill_admission_refused_total{reason="waited"} 1`)
	j.release()
	j.buying.Wait()
	require.Equal(t, atWork, j.auditedTwice(t, j.instance, j.coupon).Live)
}

// An instance that gets SIGTERM serves the waiting requests before it ends.
func TestSIGTERM_ManyWait_ServesThemAll(t *testing.T) {
	t.Parallel()
	j := newJam(t)
	j.come(t.Context(), t, 100, atWork+inQueue)
	j.await(t, atWork, inQueue)
	released := make(chan struct{})
	go func() {
		defer close(released)
		time.Sleep(2 * time.Second) // it stops meanwhile
		j.release()
	}()
	require.Zero(t, j.stop(t))
	<-released
	j.buying.Wait()
	require.Equal(t, atWork+inQueue, j.answers(http.StatusCreated))
	p := run(t, j.shop.env, "audit", "--coupon", j.coupon)
	require.Zero(t, p.code(), p.out.String())
	require.Zero(t, j.holds(t))
}

func TestMemoryLimit_NotSetByOperator_IsSet(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for setting, want := range map[string][]string{
		"":                    {"go_gc_gogc_percent 1000\n", "go_gc_gomemlimit_bytes 1.17440512e+08\n"},
		"GOGC=50":             {"go_gc_gogc_percent 50\n", "go_gc_gomemlimit_bytes 9.22337203"},
		"GOMEMLIMIT=67108864": {"go_gc_gogc_percent 100\n", "go_gc_gomemlimit_bytes 6.7108864e+07\n"},
	} {
		t.Run(setting, func(t *testing.T) {
			var env []string
			if setting != "" {
				env = append(env, setting)
			}
			j := &jam{instance: s.instance(t, env...)}
			within(t, 10*time.Second, func() error {
				text := j.tell(t, "/metrics")
				for _, line := range want {
					if !strings.Contains(text, "\n"+line) {
						return fmt.Errorf("not %q", line)
					}
				}
				return nil
			})
		})
	}
}
