package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"seckill/internal/store"
)

const (
	// archiveStep is how many orders one transaction moves.
	archiveStep = 500
	// archiveAfter is the least time since the end of a sale: its shards are freed a day
	// after it.
	archiveAfter = 48 * time.Hour
)

func newArchive(c console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "archive",
		Short: "Move the orders of sales that ended long ago out of the way",
		Long: `Moves the orders of ended sales to the table orders_archive, deletes their void requests
and the fences of users without other orders. It works in steps of 500 rows and rests
after each for as long as that took, so it can run beside a sale; it may be stopped at
any time and goes on when it is run again.

A sale is archived when it ended longer ago than --older-than, its shards in Redis are
freed (serve does that a day after the end) and no unit is owed to them; an order that
waits for its payment stays. An archived order is still shown to its owner by its id and counted by the
audit; it is not in the list of the owner's orders, and not found by its idempotency key.

Rows of lock keys that were not taken for as long are deleted too (lock.backend mysql and
redlock keep one for each key).`,
		Example: "  seckill archive --config configs/production.yaml --older-than 2160h",
		Args:    noArgs,
	}
	load := configFlag(cmd, c)
	age := cmd.Flags().Duration("older-than", 90*24*time.Hour, "the time since the end of a sale, 48h at least")
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		cfg, err := load()
		if err != nil {
			return err
		}
		switch {
		case cfg.MySQL.DSN == "":
			return usage(errors.New("mysql.dsn is empty: the embedded database is gone at exit and needs no archive"))
		case *age < archiveAfter:
			return usage(fmt.Errorf("--older-than must be %s at least", archiveAfter))
		}
		s, err := openStore(cmd.Context(), cfg, nil, newLog(cfg.Log, c.err), nil)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.Close()) }()
		if err := s.CheckSchema(cmd.Context()); err != nil {
			return err
		}
		before := time.Now().Add(-*age)
		return errors.Join(archiveAll(cmd.Context(), c, s, before), purgeLocks(cmd.Context(), c, s, before))
	}
	return cmd
}

func archiveAll(ctx context.Context, c console, s *store.Store, before time.Time) error {
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
				_, _ = fmt.Fprintf(c.out, "coupon %d: %d orders archived, %d void requests and %d fences deleted\n",
					one.ID, all.Orders, all.Voids, all.Fences)
			}
			if err != nil {
				return fmt.Errorf("archive coupon %d: %w", one.ID, err)
			}
		}
		more = len(page) == couponPage
	}
	if !moved {
		_, _ = fmt.Fprintln(c.out, "there is nothing to archive")
	}
	return nil
}

// purgeLocks deletes what locks have left in the database, at half of the speed too.
func purgeLocks(ctx context.Context, c console, s *store.Store, before time.Time) error {
	purged, err := s.PurgeLocks(ctx, before, func(took time.Duration) error { return rest(ctx, took) })
	if purged > 0 {
		_, _ = fmt.Fprintf(c.out, "%d rows of unused lock keys deleted\n", purged)
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
		if err != nil || step == (store.Archived{}) {
			return all, err
		}
		if err := rest(ctx, time.Since(began)); err != nil {
			return all, err
		}
	}
}
