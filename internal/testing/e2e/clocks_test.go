package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

// An instance whose machine is half an hour behind the servers goes by their time: when a
// sale begins, when an order expires, and when a sale has ended.
func TestClocks_InstanceSkewed_FollowsTheMajority(t *testing.T) {
	testservers.OneOf(t, 2)
	t.Parallel()
	moved := testservers.NewClock(t)
	m, r := testservers.NewMariaDB(t, servers.ByClock(moved)), testservers.NewRedis(t, servers.ByClock(moved))
	name, err := m.CreateDatabase(t.Context())
	require.NoError(t, err)
	s := shop{redis: redis.NewClient(&redis.Options{Addr: r.Addr()})}
	t.Cleanup(func() { _ = s.redis.Close() })
	i := s.with("SECKILL_REDIS__ADDRS="+r.Addr(), "SECKILL_RATE_LIMIT__PER_USER=0").migrated(t, m.DSN(name)).instance(t)
	admin, buyer := i.asAdmin(t), i.as(t, 7)
	unpaid := buyer.buy(i.sale(t, 5, 1), "").sold(t, http.StatusCreated)
	later, began := i.sale(t, 5, 1), time.Now().UTC()
	admin.do(http.MethodPatch, "/api/v1/admin/coupons/"+later,
		fmt.Sprintf(`{"begins_at":%q}`, began.Add(20*time.Minute).Format(time.RFC3339))).sold(t, http.StatusOK)
	require.Equal(t, "not_started", buyer.buy(later, "").code())

	const ahead = 30 * time.Minute
	testservers.Move(t, moved, ahead)
	within(t, time.Minute, func() error {
		if reply := buyer.buy(later, "k"); reply.status != http.StatusCreated {
			return fmt.Errorf("a sale that has begun: %d %s", reply.status, reply.body)
		}
		return nil
	})
	within(t, time.Minute, func() error {
		if is := buyer.order(unpaid.ID).sold(t, http.StatusOK).Status; is != "expired" {
			return fmt.Errorf("the order that was not paid within 15 minutes is %s", is)
		}
		return nil
	})
	var ended struct {
		EndsAt time.Time `json:"ends_at"`
	}
	reply := admin.do(http.MethodPatch, "/api/v1/admin/coupons/"+later, `{"state":"ended"}`)
	require.NoError(t, json.Unmarshal([]byte(reply.body), &ended))
	assert.WithinRange(t, ended.EndsAt, began.Add(ahead-time.Minute), time.Now().Add(ahead+time.Minute))
}
