package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"example.com/seckill/internal/store"
)

// ArchiveAfter is the shortest time from the end of a sale to its archiving. An instance frees the shards of a sale one
// day after its end.
const ArchiveAfter = 48 * time.Hour

// archiveStep is the number of orders that one transaction moves.
const archiveStep = 500

// Archive moves the orders of old sales into the archive, deletes the rows of unused locks, and reports both to out. A
// sale is old if it ended longer ago than age. You may stop Archive at any time. It measures age by the clock of the
// database, not by the clock of its machine.
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

// purgeLocks deletes the rows that unused locks have left in the database. Like archiveOne, it rests half of the time.
func purgeLocks(ctx context.Context, s *store.Store, before time.Time, out io.Writer) error {
	purged, err := s.PurgeLocks(ctx, before, func(took time.Duration) error { return rest(ctx, took) })
	if purged > 0 {
		_, _ = fmt.Fprintf(out, "%d rows of unused lock keys deleted\n", purged)
	}
	return err
}

// rest waits for d. It returns the error of ctx if ctx ends first.
func rest(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// archiveOne archives a coupon in steps, and rests after each step for as long as the step took.
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

// couponPage is the number of coupons that one query reads.
const couponPage = 1000

// SoldCoupons returns the ids of the coupons whose stock was ever loaded. Only these coupons can have orders. The list
// includes sales that ended long ago.
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
