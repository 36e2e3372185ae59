package redislock

import (
	"testing"

	"example.com/seckill/internal/testing/locktest/history"
	"example.com/seckill/internal/testing/testservers"
)

func TestLockHistory_ManyClients_IsLinearizable(t *testing.T) {
	h := harness(t, testservers.NewRedis(t).Addr())
	for range 2 {
		t.Run("while processes die and stop and the network is bad", func(t *testing.T) {
			history.Check(t, history.Options{Server: h.Server, Dial: h.Dial})
		})
	}
	t.Run("while the server loses its data, too", func(t *testing.T) {
		history.Check(t, history.Options{Server: h.Server, Dial: h.Dial, Flush: h.Flush})
	})
}
