package rush

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// doubleTapped returns a server that tells each second tap to come back in a second, as a server does
// whose lock on the user is held. It answers the repeated tap when all users have their orders, or
// never: then the generator waits for its own waiting.
func doubleTapped(t *testing.T, users int) *fakeServer {
	t.Helper()
	all := make(chan struct{})
	s := open(t, &fakeServer{stock: users})
	s.buy = func(w http.ResponseWriter, user, key string, try int) bool {
		second := strings.HasSuffix(key, "-1")
		switch {
		case second && try == 1:
			refuse(w, http.StatusConflict, "request_in_progress", "1")
		case second:
			<-all
			return false
		default:
			o, code := s.sell(user, key)
			if code != "" {
				t.Errorf("user %s was refused: %s", user, code)
			}
			s.mu.Lock()
			sold := len(s.orders)
			s.mu.Unlock()
			if sold == users {
				close(all)
			}
			w.Header().Set("Location", "/api/v1/orders/"+o.ID)
			reply(w, http.StatusCreated, o)
		}
		return true
	}
	return s
}

func TestRush_SecondTapWaits_OtherBuyersProceed(t *testing.T) {
	for name, netHTTP := range map[string]bool{"own connections": false, "net/http": true} {
		t.Run(name, func(t *testing.T) {
			s := doubleTapped(t, 30)
			rep := s.rush(t, Options{
				Users: 30, Concurrency: 2, DoubleTapEvery: 3, Keys: true, Timeout: 10 * time.Second, netHTTP: netHTTP,
			})
			require.Equal(t, 40, rep.Asked)
			require.Equal(t, 30, rep.Accepted)
			require.Equal(t, map[string]int{"limit_reached": 10}, rep.Refused)
			require.Equal(t, 10, rep.Repeats)
			require.Empty(t, rep.Failures)
			require.True(t, rep.Clean(), rep.Violations)
			require.InDelta(t, 30/rep.SellingSeconds, rep.OrdersPerSecond, 0.01)
			require.LessOrEqual(t, s.peak, 2*2+4, "two workers with two taps each, and the four that none waits for")
		})
	}
}

// The same orders at the same moments are the same rate, however long refusals take afterwards.
func TestReport_RefusalsAfterTheSale_DoNotLowerTheRate(t *testing.T) {
	began := time.Now()
	at := func(seconds float64) time.Time { return began.Add(time.Duration(seconds * float64(time.Second))) }
	var rates []float64
	for _, last := range []float64{2.5, 9} {
		r := &run{tally: newTally()}
		r.start, r.began = began, began
		for n := range 100 {
			r.countAccepted(&ack{}, at(0.5+float64(n)/100), 0)
		}
		r.refused[codeSoldOut] = 1
		r.soldUntil, r.last = at(2.5), at(last)
		rep := r.report(findings{}, last)
		require.InDelta(t, 2, rep.SellingSeconds, 0.001, "from 0.5 s to 2.5 s")
		require.InDelta(t, last, rep.Seconds, 0.001)
		rates = append(rates, rep.OrdersPerSecond)
	}
	require.InDelta(t, 50, rates[0], 0.1)
	require.InDelta(t, rates[0], rates[1], 0.001)
}

func TestReport_NoOrder_HasNoRate(t *testing.T) {
	r := &run{tally: newTally()}
	r.countRefusal("sold_out", arrival{since: time.Now()})
	rep := r.report(findings{}, 3)
	require.Zero(t, rep.OrdersPerSecond)
	require.Zero(t, rep.SellingSeconds)
}
