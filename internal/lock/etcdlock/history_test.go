package etcdlock

import (
	"testing"
	"time"

	"example.com/seckill/internal/testing/locktest/history"
	"example.com/seckill/internal/testing/testservers"
)

func TestLockHistory_ManyClients_IsLinearizable(t *testing.T) {
	h := harness(t, testservers.Etcd(t).Addr())
	history.Check(t, history.Options{
		Server: h.Server, Dial: h.Dial, Lease: 2 * time.Second, For: 3 * time.Second, Timeout: 500 * time.Millisecond,
		Exceptions: history.Exceptions{Late: 2 * time.Second},
	})
}
