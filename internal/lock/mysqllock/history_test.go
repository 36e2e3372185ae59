package mysqllock

import (
	"testing"

	"example.com/seckill/internal/testing/locktest/history"
)

func TestLeaseRowHistory_ManyClients_IsLinearizable(t *testing.T) {
	h := leaseRowHarness(t, migrated(t))
	history.Check(t, history.Options{Server: h.Server, Dial: h.Dial})
}
