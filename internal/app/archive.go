package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"example.com/seckill/internal/store"
)

// ArchiveAfter is the least time since the end of a sale: its shards are freed a day after it.
const ArchiveAfter = 48 * time.Hour

// archiveStep is how many orders one transaction moves.
const archiveStep = 500

// Archive moves the orders of the sales that ended longer ago than age out of the way, deletes
// what unused locks have left, and tells out what it did. It may be stopped at any time. What
// is old is told by the database's clock, and not by that of the machine it is run on.
func Archive(ctx context.Context, s *store.Store, age time.Duration, out io.Writer) error {
	now, err := s.Time(ctx)
	if err != nil {
		return err
	}
	before := now.Add(-age)
	return errors.Join(archiveAll(ctx, s, before, out), purgeLocks(ctx, s, before, out))
}

func archiveAll(ctx context.Context, s *store.Store, before time.Time, out io.Writer) error {
	moved := false
	for after, more := int64(0), true; more; {
		page, err := s.Coupons().Archivable(ctx, before, after, couponPage)
		if err != nil {
			return err
		}
		for _, one := range page {
			after = one.ID
			all, err := archiveOne(ctx, s, one.ID, before)
			if all != (store.Archived{}) {
				moved = true
				_, _ = fmt.Fprintf(out, "coupon %d: %d orders archived, %d void requests and %d fences deleted\n",
					one.ID, all.Orders, all.Voids, all.Fences)
				if all.Entrants > 0 {
					_, _ = fmt.Fprintf(out, "coupon %d: %d tickets of its draw deleted\n", one.ID, all.Entrants)
				}
			}
			if err != nil {
				return fmt.Errorf("archive coupon %d: %w", one.ID, err)
			}
		}
		more = len(page) == couponPage
	}
	if !moved {
		_, _ = fmt.Fprintln(out, "there is nothing to archive")
	}
	return nil
}

// purgeLocks deletes what locks have left in the database, at half of the speed too.
func purgeLocks(ctx context.Context, s *store.Store, before time.Time, out io.Writer) error {
	purged, err := s.PurgeLocks(ctx, before, func(took time.Duration) error { return rest(ctx, took) })
	if purged > 0 {
		_, _ = fmt.Fprintf(out, "%d rows of unused lock keys deleted\n", purged)
	}
	return err
}

// rest waits, unless ctx ends first.
func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// archiveOne archives a coupon in steps, and rests after each for as long as it took.
func archiveOne(ctx context.Context, s *store.Store, id int64, before time.Time) (all store.Archived, err error) {
	for {
		began := time.Now()
		step, err := s.Archive(ctx, id, before, archiveStep)
		all.Orders, all.Voids, all.Fences = all.Orders+step.Orders, all.Voids+step.Voids, all.Fences+step.Fences
		all.Entrants += step.Entrants
		if err != nil || step == (store.Archived{}) {
			return all, err
		}
		if err := rest(ctx, time.Since(began)); err != nil {
			return all, err
		}
	}
}

// couponPage is how many coupons are read at once.
const couponPage = 1000

// SoldCoupons lists the coupons whose stock was ever loaded, however long ago they ended:
// only they have orders.
func (a *App) SoldCoupons(ctx context.Context) ([]int64, error) {
	ids := []int64{}
	for after, more := int64(0), true; more; {
		page, err := a.store.Coupons().List(ctx, after, couponPage)
		if err != nil {
			return nil, err
		}
		for _, one := range page {
			if after = one.ID; one.Epoch > 0 {
				ids = append(ids, one.ID)
			}
		}
		more = len(page) == couponPage
	}
	return ids, nil
}
