package stock

import (
	"context"
	"slices"
	"sync"

	"example.com/seckill/internal/coupon"
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
	if err := refusals[answer[0]]; err != nil {
		return 0, err
	}
	var p parser
	added = p.number(answer[1])
	return added, p.err
}
