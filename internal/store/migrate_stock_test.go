package store

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/testing/testservers"
)

// beforeMerge is the last version of the schema whose programs may keep a coupon's units in coupon_stock.
const beforeMerge = 18

// atVersion brings an empty database to a version of the schema.
func atVersion(t *testing.T, s *subject, version int64) {
	t.Helper()
	p, err := s.migrations()
	require.NoError(t, err)
	_, err = p.UpTo(t.Context(), version)
	require.NoError(t, err)
}

// atVersion18 brings an empty database to version 18, with the versions that its programs recorded.
func atVersion18(t *testing.T, s *subject) {
	t.Helper()
	atVersion(t, s, beforeMerge)
	raw(t, s, "DELETE FROM goose_db_version WHERE version_id = ?", beforeMerge)
	for version := 1; version <= beforeMerge; version++ {
		raw(t, s, "INSERT INTO goose_db_version (version_id, is_applied) VALUES (?, 1)", version)
	}
}

// splitBy moves the units that are left of a coupon into the rows of its shards, as a program of version 18 did
// that was configured so.
func splitBy(t *testing.T, s *subject, c coupon.Coupon, epoch int64) {
	t.Helper()
	var units int64
	require.NoError(t, s.write.Raw("SELECT stock FROM coupons WHERE id = ?", c.ID).Row().Scan(&units))
	for shard := range c.Shards {
		raw(t, s, "INSERT INTO coupon_stock (coupon_id, shard, epoch, stock) VALUES (?, ?, ?, ?)",
			c.ID, shard, epoch, coupon.Share(units, c.Shards, shard))
	}
	raw(t, s, "UPDATE coupons SET stock = 0, stock_rows = ? WHERE id = ?", c.Shards, c.ID)
}

func TestMigrate_UnitsInRowsOfShards_MovesThemIntoTheCouponsRow(t *testing.T) {
	emptyBoth(t, func(t *testing.T, s *subject) {
		atVersion18(t, s)
		sales := map[string]coupon.Coupon{}
		for _, name := range []string{"never split", "draft", "on sale", "paused", "ended", "raised", "older epoch in its rows", "rows not counted", "sold out"} {
			c := onSale(t, s, 11)
			placed(t, s, c, 100*c.ID, 100*c.ID)
			cancelled := placed(t, s, c, 100*c.ID+1, 100*c.ID+1)
			_, err := cancelOrder(t.Context(), s, cancelled)
			require.NoError(t, err)
			sales[name] = c
		}
		for name, c := range sales {
			epoch := c.Epoch
			switch name {
			case "never split":
				continue
			case "draft", "paused", "ended":
				raw(t, s, "UPDATE coupons SET state = ? WHERE id = ?", name, c.ID)
			case "raised":
				raw(t, s, "UPDATE coupons SET total = total + 3, stock = stock + 3, raised = 3, raised_epoch = epoch WHERE id = ?", c.ID)
			case "older epoch in its rows":
				epoch--
			case "sold out":
				raw(t, s, "UPDATE coupons SET total = 1, stock = 0 WHERE id = ?", c.ID)
			}
			splitBy(t, s, c, epoch)
			if name == "rows not counted" { // the coupon's row says that it has all units
				raw(t, s, "UPDATE coupons SET stock_rows = 0, stock = 2, total = total + 2 WHERE id = ?", c.ID)
			}
		}

		applied, err := s.Migrate(t.Context())
		require.NoError(t, err)
		require.Equal(t, "00019_coupon_stock_merged.sql", applied[0])
		require.Zero(t, rowsIn(t, s, "coupon_stock"))
		for name, c := range sales {
			t.Run(name, func(t *testing.T) {
				want := map[string]int64{"raised": 13, "rows not counted": 12, "sold out": 0}
				units, known := want[name]
				if !known {
					units = 10
				}
				found, live := left(t, s, c)
				require.Equal(t, []int64{units, 1}, []int64{found, live})
				var rows int
				require.NoError(t, s.write.Raw("SELECT stock_rows FROM coupons WHERE id = ?", c.ID).Row().Scan(&rows))
				require.Zero(t, rows, "an instance of version 18 takes units from the coupon's row, too")
				sellsOut(t, s, c, units)
			})
		}
	})
}

// sellsOut sells the units that are left, which shards in turn have held, and no more.
func sellsOut(t *testing.T, s *subject, c coupon.Coupon, units int64) {
	t.Helper()
	for n := range units + 1 {
		o := wish(c, 100*c.ID+10+n, 100*c.ID+10+n)
		o.Shard = int(n) % c.Shards
		err := place(t.Context(), s, c, o)
		if n == units {
			require.ErrorIs(t, err, coupon.ErrSoldOut)
		} else {
			require.NoError(t, err)
		}
	}
	stock, live := left(t, s, c)
	require.Equal(t, []int64{0, units + 1}, []int64{stock, live})
}

// An instance of version 18 may have an open transaction that has taken a unit of a shard's row.
func TestMigrate_OpenOrderFromAShardsRow_IsWaitedFor(t *testing.T) {
	s := opened(t, Options{MySQL: testservers.DSN(t)})
	atVersion18(t, s)
	c := onSale(t, s, 10)
	splitBy(t, s, c, c.Epoch)
	o := rowOfOrder(wish(c, 1, 1))
	open := session(t, s, fmt.Sprintf("UPDATE coupon_stock SET stock = stock - 1 WHERE coupon_id = %d AND shard = 3", c.ID))
	_, err := open.ExecContext(t.Context(), `INSERT INTO orders
		(id, coupon_id, user_id, slot, status, price_cents, request_id, shard, fence, created_at, expires_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		o.ID, o.CouponID, o.UserID, o.Slot, o.Status, o.PriceCents, o.RequestID, o.Shard, o.Fence, o.CreatedAt, o.ExpiresAt)
	require.NoError(t, err)
	done := make(chan error, 1)
	untilItWaits(t, s, func() {
		_, err := s.Migrate(context.WithoutCancel(t.Context()))
		done <- err
	})
	require.Empty(t, done)
	require.NoError(t, open.Commit())
	require.NoError(t, <-done)
	stock, live := left(t, s, c)
	require.Equal(t, []int64{9, 1}, []int64{stock, live})
}

// An instance of version 18 sells until it is replaced. These statements of it name the table and the column that
// this program does not use.
func TestMigrate_StatementsOfVersion18_StillWork(t *testing.T) {
	s := onMariaDB(t)
	c := onSale(t, s, 10)
	var units int64
	row := s.pools[0].QueryRowContext(t.Context(), `SELECT coupons.stock + COALESCE((SELECT SUM(s.stock) FROM coupon_stock AS s
		WHERE s.coupon_id = coupons.id), 0) FROM coupons WHERE id = ? AND stock_rows = 0`, c.ID)
	require.NoError(t, row.Scan(&units))
	require.EqualValues(t, 10, units)
	row = s.pools[0].QueryRowContext(t.Context(),
		"SELECT COUNT(*) FROM coupon_stock AS s JOIN coupons ON s.coupon_id = coupons.id WHERE s.epoch <> coupons.epoch")
	require.NoError(t, row.Scan(&units))
	require.Zero(t, units)
	session(t, s, fmt.Sprintf("SELECT coupon_id, shard, epoch, stock FROM coupon_stock WHERE coupon_id IN (%d) ORDER BY coupon_id, shard FOR UPDATE", c.ID),
		fmt.Sprintf("UPDATE coupons SET stock = stock + 0, stock_rows = 0 WHERE id = %d", c.ID),
		fmt.Sprintf("DELETE FROM coupon_stock WHERE coupon_id IN (%d)", c.ID))
}
