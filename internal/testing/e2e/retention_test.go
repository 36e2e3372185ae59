package e2e_test

import (
	"database/sql"
	"net/http"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // to move the past
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

// However long ago a sale ended, it is audited; and what it leaves behind can be moved
// out of the way, where it still counts.
func TestRetention_SaleEndedLongAgo_IsAuditedAndArchived(t *testing.T) {
	t.Parallel()
	dsn := migratedDSN(t)
	s := redisShop(t).on(dsn)
	none := run(t, s.env, "audit")
	assert.Equal(t, 1, none.code())
	assert.Contains(t, none.err.String(), "nothing was audited")

	i := s.instance(t)
	id := i.sale(t, 5, 1)
	buyer := i.as(t, 7)
	bought := buyer.buy(id, "").sold(t, http.StatusCreated)
	buyer.do(http.MethodPost, "/api/v1/orders/"+bought.ID+"/payment", "").sold(t, http.StatusOK)
	i.asAdmin(t).do(http.MethodPatch, "/api/v1/admin/coupons/"+id, `{"state":"ended"}`).sold(t, http.StatusOK)

	db, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	alter := func(statement string) {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	var left time.Duration
	var seconds int64
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT TIMESTAMPDIFF(SECOND, ends_at, UTC_TIMESTAMP(3)) FROM coupons").Scan(&seconds))
	left = time.Duration(seconds) * time.Second
	assert.Less(t, left, time.Minute, "the end has been moved to now")
	assert.GreaterOrEqual(t, left, time.Duration(0))

	alter("UPDATE coupons SET begins_at = '2020-01-01', ends_at = '2020-01-02'")
	alter("UPDATE orders SET fence = 1") // the lock's time then
	alter("UPDATE fences SET fence = 1")
	clean := run(t, s.env, "audit")
	assert.Zero(t, clean.code(), clean.err.String())
	assert.Contains(t, clean.out.String(), "audit: clean\n")
	alter("UPDATE coupons SET stock = stock - 1")
	wrong := run(t, s.env, "audit")
	assert.Equal(t, 1, wrong.code())
	assert.Contains(t, wrong.out.String(), "I1   violated")
	alter("UPDATE coupons SET stock = stock + 1")

	early := run(t, s.env, "archive")
	assert.Zero(t, early.code(), early.err.String())
	assert.Contains(t, early.out.String(), "nothing to archive", "its shards are not freed yet")
	alter("UPDATE coupons SET shards = 0")
	done := run(t, s.env, "archive")
	assert.Zero(t, done.code(), done.err.String())
	assert.Contains(t, done.out.String(), "coupon "+id+": 1 orders archived, 0 void requests and 1 fences deleted")
	assert.Equal(t, "paid", buyer.do(http.MethodGet, "/api/v1/orders/"+bought.ID, "").sold(t, http.StatusOK).Status)
	after := run(t, s.env, "audit")
	assert.Zero(t, after.code(), after.err.String())
	assert.Contains(t, after.out.String(), "A 1 live orders")
}

// A machine whose clock is months apart archives what is old by the database's.
func TestArchive_MachineClockDiffers_UsesDatabaseClock(t *testing.T) {
	moved := testservers.NewClock(t)
	m := testservers.NewMariaDB(t, servers.ByClock(moved))
	name, err := m.CreateDatabase(t.Context())
	require.NoError(t, err)
	dsn := m.DSN(name)
	s := shop{}.with("SECKILL_REDIS__ADDRS="+testservers.NewRedis(t).Addr()).migrated(t, dsn)
	db, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	for _, statement := range []string{
		`INSERT INTO coupons (id, title, total, stock, limit_per_user, price_cents, begins_at, ends_at, state, epoch)
			VALUES (1, 'Half price', 5, 4, 1, 199, '2020-01-01', UTC_TIMESTAMP(3), 'ended', 1)`,
		`INSERT INTO orders (id, coupon_id, user_id, slot, status, price_cents, request_id, shard, fence, created_at, expires_at)
			VALUES (1, 1, 7, 1, 'paid', 199, 'r1', 0, 1, '2020-01-01', '2020-01-01')`,
	} {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	early := run(t, s.env, "archive", "--older-than", "240h")
	require.Zero(t, early.code(), early.err.String())
	require.Contains(t, early.out.String(), "nothing to archive")

	testservers.Move(t, moved, 11*24*time.Hour)
	done := run(t, s.env, "archive", "--older-than", "240h")
	require.Zero(t, done.code(), done.err.String())
	require.Contains(t, done.out.String(), "coupon 1: 1 orders archived")
}
