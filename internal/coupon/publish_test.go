package coupon_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

func TestPublish_Draft_LoadsStockAndOpensSale(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.drafted(t, 10)
		require.ErrorIs(t, c.CheckPurchasable(during), coupon.ErrNotFound)
		got, err := s.Publish(t.Context(), c.ID)
		require.NoError(t, err)
		c.State, c.Epoch, c.Shards = coupon.OnSale, 1, shards
		require.Equal(t, c, got)
		require.Equal(t, c, s.now(t, c.ID))
		require.Equal(t, int64(10), s.loaded(t, c.ID))

		require.NoError(t, s.buy(t.Context(), c, 1, 1))
		again, err := s.Publish(t.Context(), c.ID)
		require.NoError(t, err)
		require.Equal(t, c.Epoch, again.Epoch, "publishing twice is publishing once")
		require.Equal(t, int64(1), s.balanced(t, c.ID))
		_, err = s.Publish(t.Context(), 999)
		require.ErrorIs(t, err, coupon.ErrNotFound)
	})
}

func TestPublishAndReload_CouponEnded_ReturnConflict(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		over := s.with(func(p *coupon.Deps) { p.Now = func() time.Time { return shuts } })
		for name, step := range map[string]func() error{
			"ended by an administrator": func() error { _, err := s.Publish(t.Context(), s.inState(t, coupon.Ended).ID); return err },
			"ended by the clock":        func() error { _, err := over.Publish(t.Context(), s.drafted(t, 5).ID); return err },
			"to be mended":              func() error { _, err := s.Reload(t.Context(), s.inState(t, coupon.Ended).ID); return err },
		} {
			require.ErrorIs(t, step(), coupon.ErrConflict, name)
		}
		_, err := s.Reload(t.Context(), 999)
		require.ErrorIs(t, err, coupon.ErrNotFound)
	})
}

func TestPublish_PausedSale_ResumesWhereItWas(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.inState(t, coupon.Paused)
		_, err := s.Patch(t.Context(), c.ID, coupon.Change{Total: new(int64(15))})
		require.NoError(t, err)
		c, err = s.Publish(t.Context(), c.ID)
		require.NoError(t, err)
		require.Equal(t, coupon.EpochAfter(1, during)+1, c.Epoch, "the other stock ended one")
		require.Equal(t, int64(13), s.loaded(t, c.ID), "with the new units, without those sold")
		require.NoError(t, s.buy(t.Context(), c, 1, 1))
		require.ErrorIs(t, s.buy(t.Context(), c, 2, 1), order.ErrLimitReached, "what was bought before counts")
		require.Equal(t, int64(3), s.balanced(t, c.ID))
	})
}

// crashing are shards at which the instance dies.
type crashing struct {
	coupon.Shards
	before, after, opened error
}

func (c crashing) Fill(ctx context.Context, l coupon.Load) error {
	if c.before != nil {
		return c.before
	}
	return errors.Join(c.Shards.Fill(ctx, l), c.after)
}

func (c crashing) Open(ctx context.Context, l coupon.Load) error {
	return errors.Join(c.Shards.Open(ctx, l), c.opened)
}

// refusing is a repository that cannot be written.
type refusing struct{ coupon.Repository }

var errCrash = errors.New("crash")

func (refusing) Change(context.Context, int64, func(*coupon.Coupon) error) (coupon.Coupon, error) {
	return coupon.Coupon{}, errCrash
}

func TestPublish_CrashBetweenSteps_AnyInstanceFinishes(t *testing.T) {
	for name, broken := range map[string]func(p *coupon.Deps){
		"before the shards": func(p *coupon.Deps) { p.Shards = crashing{Shards: p.Shards, before: errCrash} },
		"after the shards":  func(p *coupon.Deps) { p.Shards = crashing{Shards: p.Shards, after: errCrash} },
		"before it opens":   func(p *coupon.Deps) { p.Repository = refusing{p.Repository} },
		"after it opens":    func(p *coupon.Deps) { p.Shards = crashing{Shards: p.Shards, opened: errCrash} },
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *shop) {
				for _, state := range []coupon.State{coupon.Draft, coupon.OnSale, coupon.Paused} {
					before := s.inState(t, state)
					step := s.with(broken).Publish
					if state == coupon.OnSale {
						step = s.with(broken).Reload
					}
					_, err := step(t.Context(), before.ID)
					require.ErrorIs(t, err, errCrash)
					after := s.now(t, before.ID)
					require.Equal(t, coupon.OnSale, after.State, "what the person wants is written down")
					require.True(t, after.Loading)
					require.Equal(t, before.Epoch+1, after.Epoch)
					require.ErrorIs(t, after.CheckPurchasable(during), coupon.ErrNotLoaded)
					if state != coupon.Draft {
						refusal := s.buy(t.Context(), before, 1000*before.ID, 9)
						require.True(t, errors.Is(refusal, order.ErrStaleEpoch) || errors.Is(refusal, coupon.ErrNotLoaded),
							"an instance that has not heard of it: %v", refusal)
					}

					if state == coupon.Paused {
						_, err = s.Publish(t.Context(), before.ID)
						require.NoError(t, err)
					} else {
						s.watched(t, before.ID)
					}
					c := s.now(t, before.ID)
					require.Equal(t, before.Epoch+1, c.Epoch, "the loading was gone on with")
					require.NoError(t, s.buy(t.Context(), c, 1000*c.ID+1, 9))
					s.balanced(t, c.ID)
				}
			})
		})
	}
}

func TestPublish_TwoAtOnce_OpenOneEpoch(t *testing.T) {
	for name, tc := range map[string]struct {
		lock   coupon.Exclusive
		epochs int64
	}{
		"one after the other":           {oneAtATime(), 1},
		"with a lock that lets both in": {notExclusive, 3},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *shop) {
				for range 8 {
					c := s.drafted(t, 10)
					publish := func() error {
						_, err := s.with(func(p *coupon.Deps) { p.Exclusive = tc.lock }).Publish(t.Context(), c.ID)
						return err
					}
					opened := 0
					for _, err := range together(publish, publish, publish) {
						if err == nil {
							opened++
						} else if !errors.Is(err, coupon.ErrConflict) {
							require.ErrorIs(t, err, order.ErrStaleEpoch)
						}
					}
					require.Positive(t, opened)
					after := s.now(t, c.ID)
					require.Equal(t, coupon.OnSale, after.State)
					require.LessOrEqual(t, after.Epoch, tc.epochs)
					loaded, err := s.stock.Loaded(t.Context(), c.ID, after.Epoch, after.Shards)
					require.NoError(t, err)
					require.True(t, loaded, "open means loaded")
					require.NoError(t, s.buy(t.Context(), after, c.ID, 1))
					s.balanced(t, c.ID)
				}
			})
		})
	}
}

// patching are shards during whose loading an administrator does something.
type patching struct {
	coupon.Shards
	meanwhile func()
}

func (p patching) Fill(ctx context.Context, l coupon.Load) error {
	err := p.Shards.Fill(ctx, l)
	p.meanwhile()
	return err
}

func TestPublish_PatchedDuringLoad_ReturnsConflict(t *testing.T) {
	for name, change := range map[string]coupon.Change{
		"more units": {Total: new(int64(20))}, "fewer units": {Total: new(int64(5))}, "the end": {End: true},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *shop) {
				c := s.inState(t, coupon.Paused)
				_, err := s.with(func(p *coupon.Deps) {
					p.Shards = patching{p.Shards, func() {
						_, err := s.Pause(t.Context(), c.ID)
						require.NoError(t, err)
						_, err = s.Patch(t.Context(), c.ID, change)
						require.NoError(t, err)
					}}
				}).Publish(t.Context(), c.ID)
				require.ErrorIs(t, err, coupon.ErrConflict)
				require.NotEqual(t, coupon.OnSale, s.now(t, c.ID).State)
				if !change.End {
					_, err = s.Publish(t.Context(), c.ID)
					require.NoError(t, err)
					s.balanced(t, c.ID)
				}
			})
		})
	}
}

// Two are let in, the second dies after its first step: the first must not open an
// epoch whose shards nobody has loaded.
func TestOpen_EpochOfAnother_IsNotOpened(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.drafted(t, 10)
		_, err := s.with(func(p *coupon.Deps) {
			p.Shards = patching{p.Shards, func() {
				_, err := s.store.Coupons().NextEpoch(t.Context(), c.ID, c.Epoch+1, shards, coupon.KeepState)
				require.NoError(t, err)
			}}
		}).Publish(t.Context(), c.ID)
		require.ErrorIs(t, err, coupon.ErrConflict)
		require.ErrorIs(t, s.now(t, c.ID).CheckPurchasable(during), coupon.ErrNotLoaded)
	})
}

// A lost announcement costs time and not the sale.
type mute struct{}

func (mute) AnnounceChange(context.Context, int64) error { return errCrash }

func TestChange_AnnouncementFails_Succeeds(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.drafted(t, 5)
		quiet := s.with(func(p *coupon.Deps) { p.Announcer = mute{} })
		_, err := quiet.Publish(t.Context(), c.ID)
		require.NoError(t, err)
		_, err = quiet.Pause(t.Context(), c.ID)
		require.NoError(t, err)
		cached, err := s.deps.Cache.Get(t.Context(), c.ID)
		require.NoError(t, err)
		require.Equal(t, coupon.Paused, cached.State, "this instance knows it at once")
	})
}

func TestPublish_BeforePublishFails_NothingIsOnSale(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		var told []int64
		var failed error
		prepared := s.with(func(p *coupon.Deps) {
			p.BeforePublish = func(_ context.Context, id int64) error {
				told = append(told, id)
				return failed
			}
		})
		c := s.drafted(t, 5)
		failed = errors.New("the database is away")
		_, err := prepared.Publish(t.Context(), c.ID)
		require.ErrorIs(t, err, failed)
		require.Equal(t, coupon.Draft, s.now(t, c.ID).State)
		failed = nil
		_, err = prepared.Publish(t.Context(), c.ID)
		require.NoError(t, err)
		require.Equal(t, []int64{c.ID, c.ID}, told)
		_, err = prepared.Publish(t.Context(), s.inState(t, coupon.Ended).ID)
		require.ErrorIs(t, err, coupon.ErrConflict)
		require.Len(t, told, 2, "a sale that has ended is prepared for nothing")
	})
}
