package redlock

import (
	"testing"
	"time"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/testing/locktest/history"
)

// Callers that split the votes are all refused, though the key is free.
func TestLockHistory_ManyClients_IsLinearizable(t *testing.T) {
	_, _, addrs := startNodes(t, 3)
	fencer := newFencer(t)
	history.Check(t, history.Options{
		Server: addrs,
		Dial: func(t testing.TB, addrs string) lock.Backend {
			// A third of the lease: a busy machine may keep all nodes waiting for longer than they usually have.
			return backend(t, dialAll(t, addrs), Options{Fencer: fencer, NodeTimeout: 300 * time.Millisecond})
		},
		InTurn: true,
		Lease:  time.Second, // every fence is a durable commit, which a busy disk may take long for
	})
}
