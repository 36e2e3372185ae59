package scale

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"example.com/seckill/internal/tools/rush"
	"example.com/seckill/internal/tools/servers"
)

// latencies are how long orders of the other coupon took, and how many were refused.
type latencies struct {
	took    []time.Duration
	refused int
}

// Latency is that in short.
type Latency struct {
	Orders   int
	P50, P99 time.Duration
	Refused  int
}

func (l latencies) summary() Latency {
	slices.Sort(l.took)
	n := len(l.took)
	if n == 0 {
		return Latency{Refused: l.refused}
	}
	return Latency{Orders: n, P50: l.took[n/2], P99: l.took[min(n-1, n*99/100)], Refused: l.refused}
}

// buyEvery is the time between two buyers of the other coupon, whether or not the one before
// has been served.
const buyEvery = 20 * time.Millisecond

// buyOthers sends buyers of the other coupon until ctx ends, and waits for those under way.
func (s *sale) buyOthers(ctx context.Context) latencies {
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	var all latencies
	var mu sync.Mutex
	var buying sync.WaitGroup
	defer buying.Wait()
	token := rush.Signed(s.secret)
	next := time.NewTicker(buyEvery)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			buying.Wait()
			return all
		case <-next.C:
		}
		user := s.first
		s.first++
		buying.Go(func() {
			signed, err := token(ctx, user)
			if err != nil {
				return
			}
			began := time.Now()
			url := s.otherURL + "/api/v1/coupons/" + s.other + "/orders"
			status, _, err := servers.Ask(context.WithoutCancel(ctx), client, http.MethodPost, url, signed, "")
			took := time.Since(began)
			mu.Lock()
			defer mu.Unlock()
			if err == nil && status == http.StatusCreated {
				all.took = append(all.took, took)
			} else {
				all.refused++
			}
		})
	}
}
