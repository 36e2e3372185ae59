package order_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/testing/testservers"
)

// Each step fails, or happens and its answer is lost. Whatever that leaves open the
// reconciler ends, and then the books are right, with exactly so many orders.
var brokenSteps = map[string]struct {
	want   error
	orders int64
}{
	"before admit":   {order.ErrOverloaded, 0},
	"before id":      {order.ErrUnavailable, 0},
	"before reserve": {order.ErrUnavailable, 0},
	"after reserve":  {order.ErrUnavailable, 0},
	"before lock":    {order.ErrUnavailable, 0},
	"after lock":     {order.ErrUnavailable, 0},
	"before begin":   {order.ErrUnavailable, 0},
	"before commit":  {order.ErrVoided, 0},
	"after commit":   {nil, 1},
	"before unlock":  {nil, 1},
	"before confirm": {nil, 1},
	"after confirm":  {nil, 1},

	"before begin, before release":  {order.ErrUnavailable, 0},
	"before begin, after release":   {order.ErrUnavailable, 0},
	"before commit, before release": {order.ErrVoided, 0},
	"before commit, before unlock":  {order.ErrVoided, 0},
	"after commit, before confirm":  {nil, 1},

	"before commit, before void":                 {order.ErrCommitUnknown, 0},
	"before commit, after void":                  {order.ErrCommitUnknown, 0},
	"after commit, before void":                  {order.ErrCommitUnknown, 1},
	"after commit, before read request":          {order.ErrCommitUnknown, 1},
	"before commit, before void, before ticket":  {order.ErrCommitUnknown, 0},
	"after commit, before void, after ticket":    {order.ErrCommitUnknown, 1},
	"after commit, before unlock, after confirm": {nil, 1},
}

func TestPlace_AnyStepFails_ReconcilerRestoresConsistency(t *testing.T) {
	onEach(t, whicheverStepFails)
}

func whicheverStepFails(t *testing.T, s *shop) {
	for steps, tc := range brokenSteps {
		t.Run(steps, func(t *testing.T) {
			c := s.sell(t, shards, 1)
			f := failing(strings.Split(steps, ", ")...)
			first, err := s.with(f.into).Place(t.Context(), wish(c, 7, steps))
			require.ErrorIs(t, err, tc.want)
			require.Empty(t, f.left(), "did not come to pass")
			s.runOut(t, 7)
			s.settled(t, c, tc.orders)

			again, err := s.Place(t.Context(), wish(c, 7, steps))
			switch {
			case tc.orders == 1:
				require.NoError(t, err)
				require.Equal(t, first.ID, again.ID, "it was told already")
				s.atRest(t, c, 1)
			case err == nil:
				s.atRest(t, c, 1)
			default:
				require.ErrorIs(t, err, order.ErrVoided)
				s.atRest(t, c, 0)
			}
		})
	}
}

// The client does not wait for the reconciler, and asks another instance at once. With a
// unit from a sibling it may have to: the hold says nothing of which sibling that is.
func TestPlace_AnyStepFails_RetryMakesOneOrder(t *testing.T) {
	onEach(t, askingAgainAtOnce)
}

func askingAgainAtOnce(t *testing.T, s *shop) {
	for steps, tc := range brokenSteps {
		sales := map[string]struct{ units, limit int64 }{
			"limit 1": {shards, 1}, "limit 3": {shards, 3}, "a sibling's unit": {shards - 1, 1},
		}
		for _, name := range testservers.Sample(t, 2, slices.Sorted(maps.Keys(sales))) {
			t.Run(steps+", "+name, func(t *testing.T) {
				sale := sales[name]
				c := s.sell(t, sale.units, int(sale.limit))
				request := wish(c, last(c), steps+name)
				_, _ = s.with(failing(strings.Split(steps, ", ")...).into).Place(t.Context(), request)
				s.runOut(t, request.UserID)
				again, err := s.Place(t.Context(), request)
				if errors.Is(err, order.ErrBusy) || errors.Is(err, order.ErrCommitUnknown) { // its first attempt has the unit
					require.Less(t, sale.units, int64(shards))
					s.settled(t, c, tc.orders)
					again, err = s.Place(t.Context(), request)
				}
				if err != nil {
					require.ErrorIs(t, err, order.ErrVoided)
					require.Zero(t, tc.orders)
					s.settled(t, c, 0)
					return
				}
				s.settled(t, c, 1)
				require.Equal(t, again.ID, s.buy(t, c, request.UserID, request.Key).ID)
			})
		}
	}
}

// last is a user whose home is the last shard, the first to have no unit.
func last(c coupon.Coupon) int64 {
	user := c.ID * 1000
	for coupon.Home(user, shards) != shards-1 {
		user++
	}
	return user
}
