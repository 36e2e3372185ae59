package coupon_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/testing/apptest"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

// watching runs the watch of so many instances until it is stopped.
func (s *shop) watching(t *testing.T, instances int, alter func(p *coupon.Deps)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{}, instances)
	for range instances {
		service := s.with(alter)
		go func() {
			service.RunRestorer(ctx, 10*time.Millisecond, func(int, error) {})
			done <- struct{}{}
		}()
	}
	return sync.OnceFunc(func() {
		cancel()
		for range instances {
			<-done
		}
	})
}

func unaltered(*coupon.Deps) {}

// watched lets one instance watch until the coupon's stock is there.
func (s *shop) watched(t *testing.T, id int64) coupon.Coupon {
	t.Helper()
	stop := s.watching(t, 1, unaltered)
	defer stop()
	s.untilLoaded(t, id)
	return s.now(t, id)
}

func (s *shop) untilLoaded(t *testing.T, id int64) {
	t.Helper()
	require.Eventually(t, func() bool {
		c := s.now(t, id)
		loaded, err := s.stock.Loaded(t.Context(), id, c.Epoch, c.Shards)
		return err == nil && loaded && !c.Loading
	}, 20*time.Second, 5*time.Millisecond, "the stock is not loaded again")
}

// harms are what may happen to a Redis of one server.
func harms(r *servers.Redis) map[string]func(t *testing.T, s *shop, forgotten func()) {
	restart := func(t *testing.T) {
		t.Helper()
		require.NoError(t, r.Kill())
		require.NoError(t, r.Restart(t.Context()))
	}
	all := map[string]func(t *testing.T, s *shop, forgotten func()){
		"it is flushed": func(t *testing.T, s *shop, forgotten func()) {
			forgotten()
			require.NoError(t, s.redis.FlushAll(t.Context()).Err())
		},
		"it is killed and starts empty": func(t *testing.T, _ *shop, forgotten func()) {
			forgotten()
			restart(t)
		},
		"it is killed and starts with an old file": func(t *testing.T, s *shop, forgotten func()) {
			require.NoError(t, s.redis.Save(t.Context()).Err())
			forgotten()
			restart(t)
		},
		"a counter is gone": func(t *testing.T, s *shop, forgotten func()) {
			forgotten()
			require.NoError(t, s.redis.Del(t.Context(), "seckill:{1:2}:stock").Err())
		},
	}
	for _, key := range []string{"holds", "buyers", "returned"} {
		all[key+" are evicted"] = func(t *testing.T, s *shop, forgotten func()) {
			forgotten()
			require.NoError(t, s.redis.Del(t.Context(), "seckill:{1:2}:"+key).Err())
		}
	}
	return all
}

func TestRestorer_RedisLostData_AnyInstanceRestores(t *testing.T) {
	r := testservers.NewRedis(t)
	for name, harm := range harms(r) {
		for kind, instances := range map[string]int{"one instance": 1, "three that race": 3} {
			t.Run(name+", "+kind, func(t *testing.T) {
				s := open(t, apptest.MySQL(t), r.Addr())
				require.NoError(t, s.redis.FlushAll(t.Context()).Err())
				const units = 40
				c, paused := s.published(t, units), s.inState(t, coupon.Paused)
				require.NoError(t, s.buy(t.Context(), c, 1, 1))
				stop := s.watching(t, instances, unaltered)
				defer stop()
				harm(t, s, func() {
					for id := range int64(8) {
						require.NoError(t, s.buy(t.Context(), c, 10+id, 10+id))
					}
				})
				s.untilLoaded(t, c.ID)
				s.untilLoaded(t, paused.ID)
				stop()
				after := s.now(t, c.ID)
				require.Equal(t, coupon.OnSale, after.State)
				require.LessOrEqual(t, after.Epoch, c.Epoch+1, "one of them did it")
				require.Equal(t, coupon.Paused, s.now(t, paused.ID).State, "what a person paused stays paused")
				require.Equal(t, int64(9), s.balanced(t, c.ID))
				for id := int64(100); s.buy(t.Context(), after, id, id) == nil; id++ {
					require.Less(t, id, int64(100+units))
				}
				require.Equal(t, int64(units), s.balanced(t, c.ID), "and every unit can be sold")
			})
		}
	}
}

// An instance that has found the stock lost and then waits for the exclusion looks again before it loads.
func TestRestorer_WaitedForAnother_LoadsNothingMore(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.published(t, 10)
		const instances = 2
		var came, done sync.WaitGroup
		came.Add(instances)
		done.Add(instances)
		oneByOne := oneAtATime()
		stop := s.watching(t, instances, func(p *coupon.Deps) {
			var first sync.Once
			p.Exclusive = func(ctx context.Context, id int64, work func(context.Context) error) error {
				isFirst := false
				first.Do(func() {
					isFirst = true
					came.Done()
					came.Wait() // both have seen that it is lost
				})
				if isFirst {
					defer done.Done()
				}
				return oneByOne(ctx, id, work)
			}
		})
		defer stop()
		require.NoError(t, s.redis.FlushAll(t.Context()).Err())
		done.Wait()
		s.untilLoaded(t, c.ID)
		stop()
		require.Equal(t, c.Epoch+1, s.now(t, c.ID).Epoch)
	})
}

// slow are shards whose loading takes longer than the pause between two looks.
type slow struct{ coupon.Shards }

func (s slow) Fill(ctx context.Context, l coupon.Load) error {
	time.Sleep(50 * time.Millisecond)
	return s.Shards.Fill(ctx, l)
}

func TestRestorer_NoExclusion_EveryInstanceMayRestore(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.published(t, 30)
		require.NoError(t, s.buy(t.Context(), c, 1, 1))
		stop := s.watching(t, 3, func(p *coupon.Deps) { p.Exclusive, p.Shards = notExclusive, slow{p.Shards} })
		defer stop()
		require.NoError(t, s.redis.FlushAll(t.Context()).Err())
		s.untilLoaded(t, c.ID)
		stop()
		if now := s.now(t, c.ID); now.Loading {
			s.watched(t, c.ID) // the last of them was stopped half way
		}
		require.Equal(t, int64(1), s.balanced(t, c.ID))
	})
}

func TestRestorer_SoundShards_AreNotReloaded(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c, draft, ended := s.published(t, 10), s.drafted(t, 10), s.inState(t, coupon.Ended)
		var looks atomic.Int64
		counting := func(p *coupon.Deps) { p.Loader = counted{p.Loader, &looks} }
		stop := s.watching(t, 1, counting)
		require.NoError(t, s.buy(t.Context(), c, 1, 1))
		require.Eventually(t, func() bool { return looks.Load() > 5 }, 20*time.Second, time.Millisecond) // nothing is to happen
		stop()
		require.Equal(t, c.Epoch, s.now(t, c.ID).Epoch)
		require.Equal(t, draft, s.now(t, draft.ID))
		require.Equal(t, ended, s.now(t, ended.ID))
	})
}

// counted counts the looks.
type counted struct {
	coupon.Loader
	n *atomic.Int64
}

func (c counted) Loaded(ctx context.Context, now time.Time) ([]coupon.Coupon, error) {
	c.n.Add(1)
	return c.Loader.Loaded(ctx, now)
}

// away are shards of which one does not answer.
type away struct{ coupon.Shards }

func (away) LoadedAll(_ context.Context, all []coupon.Coupon) ([]bool, []error) {
	return make([]bool, len(all)), slices.Repeat([]error{errors.New("no answer")}, len(all))
}

func TestRestorer_ShardDown_StartsNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.published(t, 10)
		told := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan struct{})
		service := s.with(func(p *coupon.Deps) { p.Shards = away{p.Shards} })
		go func() {
			defer close(done)
			service.RunRestorer(ctx, time.Millisecond, func(_ int, err error) {
				select {
				case told <- err:
				default:
				}
			})
		}()
		require.Error(t, <-told)
		require.Error(t, <-told)
		cancel()
		<-done
		require.Equal(t, c, s.now(t, c.ID), "the others sell on, in their epoch")
	})
}

func TestPause_DuringLoading_Wins(t *testing.T) {
	for name, step := range map[string]struct {
		from coupon.State
		do   func(ctx context.Context, s *coupon.Service, id int64) error
		want error
	}{
		"under a first publication": {coupon.Draft, func(ctx context.Context, s *coupon.Service, id int64) error {
			_, err := s.Publish(ctx, id)
			return err
		}, coupon.ErrConflict},
		"under a later publication": {coupon.Paused, func(ctx context.Context, s *coupon.Service, id int64) error {
			_, err := s.Publish(ctx, id)
			return err
		}, coupon.ErrConflict},
		"under a repair": {coupon.OnSale, func(ctx context.Context, s *coupon.Service, id int64) error {
			_, err := s.Reload(ctx, id)
			return err
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *shop) {
				c := s.inState(t, step.from)
				service := s.with(func(p *coupon.Deps) {
					p.Shards = patching{p.Shards, func() {
						_, err := s.Pause(t.Context(), c.ID)
						require.NoError(t, err)
					}}
				})
				require.ErrorIs(t, step.do(t.Context(), service, c.ID), step.want)
				after := s.now(t, c.ID)
				require.Equal(t, coupon.Paused, after.State)
				require.False(t, after.Loading)
				s.balanced(t, c.ID)
			})
		})
	}
}
