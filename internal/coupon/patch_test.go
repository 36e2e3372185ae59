package coupon_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
)

// inState is a coupon of ten units, two of them sold if it was ever on sale.
func (s *shop) inState(t *testing.T, state coupon.State) coupon.Coupon {
	t.Helper()
	if state == coupon.Draft {
		return s.drafted(t, 10)
	}
	c := s.published(t, 10)
	for user := range int64(2) {
		require.NoError(t, s.buy(t.Context(), c, 100*c.ID+user, user+1))
	}
	switch state {
	case coupon.Paused:
		_, err := s.Pause(t.Context(), c.ID)
		require.NoError(t, err)
	case coupon.Ended:
		_, err := s.Patch(t.Context(), c.ID, coupon.Change{End: true})
		require.NoError(t, err)
	default: // it is on sale
	}
	return s.now(t, c.ID)
}

// closed is the epoch after another stock: the one that was loaded is over.
func closed(c *coupon.Coupon) int64 {
	if c.Epoch == 0 {
		return 0
	}
	return coupon.EpochAfter(c.Epoch, during)
}

func TestPatch_EachState_AllowsOnlyPermittedChanges(t *testing.T) {
	all := []coupon.State{coupon.Draft, coupon.OnSale, coupon.Paused}
	notOnSale := []coupon.State{coupon.Draft, coupon.Paused}
	more := func(c *coupon.Coupon) {
		c.Total, c.Left = c.Total+2, c.Left+2
		if c.State == coupon.OnSale {
			c.Raised = 2
			return
		}
		c.Epoch = closed(c)
	}
	for name, tc := range map[string]struct {
		change coupon.Change
		in     []coupon.State // in the others it is a conflict
		want   func(c *coupon.Coupon)
	}{
		"the title":        {coupon.Change{Title: new("New")}, all, func(c *coupon.Coupon) { c.Title = "New" }},
		"the price":        {coupon.Change{PriceCents: new(int64(0))}, all, func(c *coupon.Coupon) { c.PriceCents = 0 }},
		"the window":       {coupon.Change{BeginsAt: new(opens.Add(1e9)), EndsAt: new(shuts.Add(time.Hour))}, all, func(c *coupon.Coupon) { c.BeginsAt, c.EndsAt = opens.Add(1e9), shuts.Add(time.Hour) }},
		"a higher limit":   {coupon.Change{LimitPerUser: new(3)}, all, func(c *coupon.Coupon) { c.LimitPerUser = 3 }},
		"the same limit":   {coupon.Change{LimitPerUser: new(2)}, all, func(*coupon.Coupon) {}},
		"a lower limit":    {coupon.Change{LimitPerUser: new(1)}, []coupon.State{coupon.Draft}, func(c *coupon.Coupon) { c.LimitPerUser = 1 }},
		"more units":       {coupon.Change{Total: new(int64(12))}, all, more},
		"as many units":    {coupon.Change{Total: new(int64(10))}, all, func(*coupon.Coupon) {}},
		"fewer units":      {coupon.Change{Total: new(int64(2))}, notOnSale, func(c *coupon.Coupon) { c.Total, c.Left, c.Epoch = 2, c.Left-8, closed(c) }},
		"fewer than sold":  {coupon.Change{Total: new(int64(1))}, []coupon.State{coupon.Draft}, func(c *coupon.Coupon) { c.Total, c.Left = 1, 1 }},
		"nothing":          {coupon.Change{}, all, func(*coupon.Coupon) {}},
		"the end":          {coupon.Change{End: true}, all, func(c *coupon.Coupon) { c.State, c.EndsAt = coupon.Ended, during }},
		"with one that is": {coupon.Change{Title: new("New"), Total: new(int64(9))}, notOnSale, func(c *coupon.Coupon) { c.Title, c.Total, c.Left, c.Epoch = "New", c.Total-1, c.Left-1, closed(c) }},
	} {
		t.Run(name, func(t *testing.T) {
			onEmbedded(t, func(t *testing.T, s *shop) {
				for _, state := range append(all, coupon.Ended) {
					before := s.inState(t, state)
					want, conflict := before, true
					for _, allowed := range tc.in {
						if state == allowed {
							conflict = false
							tc.want(&want)
						}
					}
					got, err := s.Patch(t.Context(), before.ID, tc.change)
					if conflict {
						require.ErrorIs(t, err, coupon.ErrConflict, state)
					} else {
						require.NoError(t, err, state)
						require.Equal(t, want, got, state)
					}
					require.Equal(t, want, s.now(t, before.ID), state)
				}
			})
		})
	}
}

func TestChange_InvalidCoupon_ChangesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		c := s.drafted(t, 10)
		for name, change := range map[string]coupon.Change{
			"no title":       {Title: new("")},
			"no unit":        {Total: new(int64(0))},
			"a window shut":  {EndsAt: new(opens)},
			"and a new name": {Title: new("New"), PriceCents: new(int64(-1))},
		} {
			_, err := s.Patch(t.Context(), c.ID, change)
			require.ErrorIs(t, err, coupon.ErrInvalid, name)
			require.Equal(t, c, s.now(t, c.ID), name)
		}
		_, err := s.Patch(t.Context(), 999, coupon.Change{})
		require.ErrorIs(t, err, coupon.ErrNotFound)
	})
}

func TestCreate_CallerSetsState_IsADraft(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		in := draft(10)
		in.ID, in.State, in.Left, in.Epoch, in.Shards = 77, coupon.OnSale, 3, 9, 9
		c, err := s.Create(t.Context(), in)
		require.NoError(t, err)
		want := draft(10)
		want.ID, want.State, want.Left = c.ID, coupon.Draft, 10
		require.Equal(t, want, c)
		require.NotEqual(t, int64(77), c.ID)
		in.Total = 0
		_, err = s.Create(t.Context(), in)
		require.ErrorIs(t, err, coupon.ErrInvalid)
		listed, err := s.ReadAll(t.Context(), 0, 10)
		require.NoError(t, err)
		require.Equal(t, []coupon.Coupon{c}, listed)
	})
}

func TestPause_EachState_PausesOrReportsConflict(t *testing.T) {
	onBoth(t, func(t *testing.T, s *shop) {
		for state, want := range map[coupon.State]error{
			coupon.Draft: coupon.ErrConflict, coupon.OnSale: nil, coupon.Paused: nil, coupon.Ended: coupon.ErrConflict,
		} {
			before := s.inState(t, state)
			_, err := s.Pause(t.Context(), before.ID)
			require.ErrorIs(t, err, want, state)
			if want == nil {
				before.State = coupon.Paused
			}
			require.Equal(t, before, s.now(t, before.ID), "only the state, and only of a sale: %s", state)
		}
		_, err := s.Pause(t.Context(), 999)
		require.ErrorIs(t, err, coupon.ErrNotFound)
	})
}
