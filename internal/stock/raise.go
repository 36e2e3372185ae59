package stock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// Raise adds units to the open shards of an epoch. raised is how many were added in all since the epoch
// began, each shard has its share of them, and notes how many it has: a call that is repeated, late or
// behind another one adds nothing twice. coupon.ErrNotLoaded if a shard is not open with the epoch.
//
// Every instance hears that the coupon is not sold out. An error may hide a shard that has its units, so
// they hear it then as well.
func (s *Stock) Raise(ctx context.Context, couponID, epoch int64, shards int, raised int64) error {
	added, errs := make([]int64, shards), make([]error, shards)
	var raising sync.WaitGroup
	for shard := range shards {
		raising.Go(func() {
			added[shard], errs[shard] = s.raiseShard(ctx, couponID, epoch, shard, coupon.Share(raised, shards, shard))
		})
	}
	raising.Wait()
	failed := slices.IndexFunc(errs, func(err error) bool { return err != nil })
	if failed < 0 && slices.Max(added) == 0 {
		return nil
	}
	s.soldOut.clear(couponID)
	err := s.AnnounceRestock(ctx, couponID)
	if failed >= 0 {
		return errs[failed]
	}
	return err
}

func (s *Stock) raiseShard(ctx context.Context, couponID, epoch int64, shard int, raised int64) (added int64, err error) {
	answer, err := s.run(ctx, raiseScript, couponID, shard, epoch, raised)
	if err != nil {
		return 0, err
	}
	return unitsAdded(answer)
}

// unitsAdded reads the answer of a raise.
func unitsAdded(answer []string) (int64, error) {
	if err := refusals[answer[0]]; err != nil {
		return 0, err
	}
	var p parser
	added := p.number(answer[1])
	return added, p.err
}

// RaiseAll implements coupon.Looks. If a raise fails, the next look repeats it, so RaiseAll repeats only those that
// met a slot on its way to another server.
func (s *Stock) RaiseAll(ctx context.Context, all []coupon.Coupon) []error {
	raised, errs := make([]bool, len(all)), make([]error, len(all))
	for trip := range slices.Chunk(shardsOf(all), shardsPerTrip) {
		cmds := s.evalTrip(ctx, raiseScript, len(trip), func(n int) ([]string, []any) {
			c, shard := all[trip[n].coupon], trip[n].shard
			return s.keys(c.ID, shard, raiseScript.keys), []any{c.Epoch, coupon.Share(c.Raised, c.Shards, shard)}
		})
		for n, cmd := range cmds {
			i := trip[n].coupon
			added, err := s.addedBy(ctx, cmd, all[i], trip[n].shard)
			raised[i] = raised[i] || added > 0
			errs[i] = cmp.Or(errs[i], err)
		}
	}
	for i, c := range all {
		// The shards that did not answer may have added units. A coupon that is not loaded has added none.
		if raised[i] || errs[i] != nil && !errors.Is(errs[i], coupon.ErrNotLoaded) {
			s.soldOut.clear(c.ID)
			errs[i] = cmp.Or(errs[i], s.AnnounceRestock(ctx, c.ID))
		}
	}
	return errs
}

// addedBy returns the units that a raise of a trip added.
func (s *Stock) addedBy(ctx context.Context, cmd *redis.Cmd, c coupon.Coupon, shard int) (int64, error) {
	answer, err := cmd.StringSlice()
	switch {
	case redis.IsTryAgainError(err):
		return s.raiseShard(ctx, c.ID, c.Epoch, shard, coupon.Share(c.Raised, c.Shards, shard))
	case err != nil:
		s.cutShort(ctx, c.ID, c.Epoch, err)
		return 0, fmt.Errorf("%w: shard %d of coupon %d: %w", order.ErrUnavailable, shard, c.ID, err)
	}
	return unitsAdded(answer)
}
