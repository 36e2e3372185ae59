package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/rush"
	"example.com/seckill/internal/tools/servers"
)

func TestRedisCluster_Sale_SellsExactlyTheStock(t *testing.T) {
	testservers.OneOf(t, 2)
	t.Parallel()
	for _, mode := range testservers.Sample(t, 1, []string{"sync", "queue"}) {
		t.Run(mode, func(t *testing.T) { sellsOnACluster(t, "SECKILL_ORDER__MODE="+mode) })
	}
}

func sellsOnACluster(t *testing.T, mode string) {
	nodes := testservers.NewCluster(t).Addrs()
	s := shop{redis: redis.NewClusterClient(&redis.ClusterOptions{Addrs: nodes})}
	t.Cleanup(func() { _ = s.redis.Close() })
	s = s.with(mode, "SECKILL_REDIS__MODE=cluster", "SECKILL_REDIS__ADDRS="+strings.Join(nodes, ",")).on(migratedDSN(t))
	fleet := s.fleet(t)
	id := fleet[0].sale(t, 600, 1)
	sum := total(rushEach(t, fleet, rush.Options{
		Users: 2000, Coupon: id, PayPercent: 10, CancelPercent: 10, DoubleTapEvery: 20,
		AdminToken: token(t, 1, "admin"), Concurrency: 32,
	}))
	assert.Zero(t, sum.Failed, "%v", sum.Failures)
	assert.Positive(t, sum.Refused["sold_out"])
	mopUp(t, fleet[1], id, 1_000_000)
	got := s.auditedTwice(t, fleet[2], id)
	assert.Equal(t, 600, got.Live)
	assert.Zero(t, got.Oversold+got.Duplicates)
}

// A failover may lose what the dead master had not yet told its replicas. What the
// database says stays true, and the shards are mended from it.
func TestSentinelFailover_DuringSale_LosesNoOrder(t *testing.T) {
	testservers.OneOf(t, 2)
	t.Parallel()
	group := testservers.NewSentinel(t)
	s := shop{}.with(impatient()...).with("SECKILL_REDIS__MODE=sentinel", "SECKILL_REDIS__MASTER_NAME="+group.MasterName(),
		"SECKILL_REDIS__ADDRS="+strings.Join(group.SentinelAddrs(), ",")).on(migratedDSN(t))
	fleet := s.fleet(t)
	const stock = 600
	id := fleet[0].sale(t, stock, 1)

	killed := make(chan error, 1)
	watch := fleet[0].asAdmin(t)
	go func() { killed <- killMasterInMidRush(context.Background(), group, watch, id, stock) }()
	sum := total(rushEach(t, fleet, rush.Options{Users: 1000, Coupon: id, CancelPercent: 10, DoubleTapEvery: 20, Concurrency: 24, Tries: 20}))
	require.NoError(t, <-killed)
	require.Positive(t, sum.Accepted)

	got := fleet[0].audit(t, id)
	assert.Equal(t, "ok", got.status("I1"), "%+v", got)
	assert.Equal(t, "ok", got.status("I2"), "%+v", got)
	assert.Equal(t, "ok", got.status("I3"), "%+v", got)
	assert.Zero(t, got.Oversold+got.Duplicates)
	assert.GreaterOrEqual(t, got.Orders, sum.Accepted, "orders in the database, of those acknowledged")

	within(t, 30*time.Second, func() error {
		p := run(t, s.env, "audit", "--coupon", id, "--repair")
		if p.code() != 0 || !strings.Contains(p.out.String(), "audit: clean\n") {
			return fmt.Errorf("repair: exit code %d: %s%s", p.code(), p.out.String(), p.err.tail())
		}
		return nil
	})
	again := run(t, s.env, "audit", "--coupon", id, "--repair", "--json")
	assert.Zero(t, again.code(), "repairing what is right changes nothing")
	mopUp(t, fleet[1], id, 1_000_000)
	got = s.auditedTwice(t, fleet[2], id)
	assert.Equal(t, stock, got.Live)
}

// killMasterInMidRush kills the master when between a tenth and a half are sold.
func killMasterInMidRush(ctx context.Context, group *servers.Sentinel, c client, coupon string, stock int) error {
	for until := time.Now().Add(30 * time.Second); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		left, err := c.left(coupon)
		if err == nil && left < stock*9/10 {
			_, err = group.KillMaster(ctx)
			return err
		}
	}
	return errors.New("the rush did not begin")
}

// left is the units that the coupon's page shows.
func (c client) left(coupon string) (int, error) {
	r, err := c.try("GET", "/api/v1/coupons/"+coupon, "")
	if err != nil {
		return 0, err
	}
	var shown struct {
		Left *int `json:"left"`
	}
	if err := json.Unmarshal([]byte(r.body), &shown); err != nil || shown.Left == nil {
		return 0, fmt.Errorf("coupon %s: %d %s", coupon, r.status, r.body)
	}
	return *shown.Left, nil
}
