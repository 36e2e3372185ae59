package coupon

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// idleShards are sound, and count the checks of each coupon.
type idleShards struct {
	Shards
	mu      sync.Mutex
	servers string
	sold    map[int64]bool
	claims  map[int64]time.Time
	checks  map[int64]int
}

func (s *idleShards) Servers(context.Context) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.servers
}

// forget begins to count again.
func (s *idleShards) forget(servers string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.checks)
	s.servers = servers
}

// count returns how many checks there were of all coupons and of one, and the least of any coupon.
func (s *idleShards) count(coupons, one int64) (all, of, least int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	least = int(coupons)
	for id := int64(1); id <= coupons; id++ {
		all, least = all+s.checks[id], min(least, s.checks[id])
	}
	return all, s.checks[one], least
}

func (s *idleShards) Requested() map[int64]bool { return s.sold }

func (s *idleShards) Claim(_ context.Context, ids []int64, within time.Duration) (claimed []int64, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		if !time.Now().Before(s.claims[id]) {
			s.claims[id], claimed = time.Now().Add(within), append(claimed, id)
		}
	}
	return claimed, nil
}

func (s *idleShards) LoadedAll(_ context.Context, all []Coupon) ([]bool, []error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	loaded := make([]bool, len(all))
	for i, c := range all {
		s.checks[c.ID]++
		loaded[i] = true
	}
	return loaded, make([]error, len(all))
}

func (*idleShards) RaiseAll(context.Context, []Coupon) []error { return nil }

func (*idleShards) Owner(context.Context) (Owner, error)  { return Owner{}, nil }
func (*idleShards) SetOwner(context.Context, Owner) error { return nil }

// listLoader lists coupons.
type listLoader struct {
	Loader
	all []Coupon
}

func (listLoader) Heartbeat(context.Context, Owner) (Owner, error)       { return Owner{}, nil }
func (l listLoader) Loaded(context.Context, time.Time) ([]Coupon, error) { return l.all, nil }

// A fleet checks each idle coupon once in ten ticks, a coupon that is sold at each tick, and all coupons when a server
// has changed.
func TestRunRestorer_IdleFleet_SharesTheChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const coupons, instances = 2000, 4
		loader := listLoader{}
		for id := int64(1); id <= coupons; id++ {
			loader.all = append(loader.all, Coupon{ID: id, State: OnSale, Shards: 8, Epoch: 1, EndsAt: time.Now().Add(time.Hour)})
		}
		shards := &idleShards{servers: "a", sold: map[int64]bool{7: true}, claims: map[int64]time.Time{}, checks: map[int64]int{}}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		for range instances {
			s := NewService(Deps{Loader: loader, Shards: shards, Log: slog.New(slog.DiscardHandler)})
			running.Go(func() { s.RunRestorer(ctx, time.Second, func(int, error) {}) })
		}
		// counted counts the checks of ten ticks.
		counted := func(servers string) (all, sold, least int) {
			shards.forget(servers)
			time.Sleep(10 * time.Second)
			synctest.Wait()
			return shards.count(coupons, 7)
		}
		time.Sleep(2500 * time.Millisecond) // the first looks check everything
		synctest.Wait()
		all, sold, least := counted("a")
		require.Equal(t, 10, sold, "the coupon that is sold is checked at each tick, by one instance")
		require.Equal(t, 1, least)
		require.Equal(t, coupons-1+10, all, "the instances do not repeat each other's checks")
		_, _, least = counted("b")
		require.Equal(t, instances+1, least, "each instance checks everything on the new server")
		stop()
		running.Wait()
	})
}
