package store

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

// loadedNow lists the loaded coupons, without the units that are left.
func loadedNow(t *testing.T, s *subject) []coupon.Coupon {
	t.Helper()
	all, err := s.Coupons().Loaded(t.Context(), begins)
	require.NoError(t, err)
	for i := range all {
		all[i].Left = 0
	}
	return all
}

// requireListed compares the list with the rows.
func requireListed(t *testing.T, s *subject, why string) {
	t.Helper()
	want, err := s.Coupons().coupons(s.read.WithContext(t.Context()).Where(loadedWhere, begins.Add(-coupon.Retention)))
	require.NoError(t, err)
	got := loadedNow(t, s)
	require.Len(t, got, len(want), why)
	for i := range want {
		want[i].Left = 0
		require.Equal(t, want[i], got[i], why)
	}
}

func TestLoaded_AnyColumnChanges_ListShowsIt(t *testing.T) {
	onEach(t, func(t *testing.T, s *subject) {
		for range 3 * loadedBlock {
			onSale(t, s, 5)
		}
		requireListed(t, s, "first")
		for _, change := range []string{
			"title = 'x'", "total = 6", "limit_per_user = 3", "price_cents = 7", "begins_at = '2026-11-11 20:00:01'",
			"ends_at = '2026-11-13 20:00:00'", "state = 'paused'", "shards = 9", "loading = 1", "loading = 2", "raised = 4",
			"raised_epoch = epoch", "epoch = 77", "epoch = 0", "epoch = 76",
		} {
			raw(t, s, "UPDATE coupons SET "+change+" WHERE id = 70")
			requireListed(t, s, change)
			if column, _, _ := strings.Cut(change, " "); column != "epoch" && column != "raised_epoch" {
				raw(t, s, fmt.Sprintf("UPDATE coupons SET %[1]s = (SELECT v FROM (SELECT %[1]s AS v FROM coupons WHERE id = 1) AS w) WHERE id = 70", column))
				requireListed(t, s, "as before: "+change)
			}
		}
		raw(t, s, "DELETE FROM coupons WHERE id = 140")
		requireListed(t, s, "deleted")
		onSale(t, s, 5)
		requireListed(t, s, "new")
		raw(t, s, "UPDATE coupons SET state = CASE id WHEN 5 THEN 'paused' ELSE 'on_sale' END WHERE id IN (5, 6)")
		requireListed(t, s, "one of two")
		raw(t, s, "UPDATE coupons SET state = CASE id WHEN 6 THEN 'paused' ELSE 'on_sale' END WHERE id IN (5, 6)")
		requireListed(t, s, "the other of two")
		require.NoError(t, s.endEpochs(s.write.WithContext(t.Context())))
		requireListed(t, s, "set back")
	})
}

// rowsSent returns how many rows the server has sent while f ran.
func rowsSent(t *testing.T, s *subject, f func()) (rows int) {
	t.Helper()
	sent := func() (n int) {
		var name string
		require.NoError(t, s.pools[0].QueryRowContext(t.Context(), "SHOW GLOBAL STATUS LIKE 'Rows_sent'").Scan(&name, &n))
		return n
	}
	before := sent()
	f()
	return sent() - before
}

func TestLoaded_NothingChanges_ReadsNoCoupon(t *testing.T) {
	s := onItsOwn(t, servers.Set("event-scheduler", "OFF"))
	const blocks = 5
	for range blocks*loadedBlock - 1 {
		onSale(t, s, 5)
	}
	loadedNow(t, s)
	list := func() { loadedNow(t, s) }
	require.LessOrEqual(t, rowsSent(t, s, list), blocks+2, "one mark for each block")
	raw(t, s, "UPDATE coupons SET stock = stock - 1")
	require.LessOrEqual(t, rowsSent(t, s, list), blocks+2, "units were sold")
	raw(t, s, "UPDATE coupons SET loading = 1 WHERE id = 200")
	require.LessOrEqual(t, rowsSent(t, s, list), blocks+loadedBlock+2, "one block has changed")
	require.LessOrEqual(t, rowsSent(t, s, list), blocks+2, "and not again")
}

// BenchmarkLoaded lists 1,000 coupons of which none changes.
func BenchmarkLoaded(b *testing.B) {
	dsn := testservers.MigratedDSN(b, func(ctx context.Context, dsn string) error { return migrate(ctx, Options{MySQL: dsn}) })
	s, err := Open(b.Context(), Options{MySQL: dsn, MaxOpen: 2, MaxIdle: 2, TxTimeout: patient})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	for range 1000 {
		_, err := s.Coupons().Create(b.Context(), coupon.Coupon{
			Title: "Half price", Total: 10, Left: 10, LimitPerUser: 2, PriceCents: 199,
			BeginsAt: begins, EndsAt: begins.AddDate(1, 0, 0), State: coupon.OnSale, Epoch: 1, Shards: 4,
		})
		require.NoError(b, err)
	}
	for name, list := range map[string]func(ctx context.Context) ([]coupon.Coupon, error){
		"marks": func(ctx context.Context) ([]coupon.Coupon, error) { return s.Coupons().Loaded(ctx, begins) },
		"rows": func(ctx context.Context) ([]coupon.Coupon, error) {
			return s.Coupons().coupons(s.read.WithContext(ctx).Where(loadedWhere, begins))
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				all, err := list(b.Context())
				require.NoError(b, err)
				require.Len(b, all, 1000)
			}
		})
	}
}
