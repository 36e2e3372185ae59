// Package nolock is a lock that admits every caller.
//
// It exists to show that the data stays right without a lock, and how: by the fence,
// the unique slot and the conditional update. It protects nothing.
package nolock

import (
	"context"
	"time"

	"example.com/seckill/internal/lock"
)

// Backend grants every lock to every caller.
type Backend struct{}

// Acquire grants, with the clock for a fence: it grows, mostly, so that the database
// refuses neither all fences nor none.
func (Backend) Acquire(context.Context, string, string, time.Duration) (lock.Grant, error) {
	return lock.Grant{Fence: uint64(time.Now().UnixMicro())}, nil
}

// Renew agrees.
func (Backend) Renew(context.Context, string, string, time.Duration) error { return nil }

// Release agrees.
func (Backend) Release(context.Context, string, string) error { return nil }

// AdvanceFence agrees: the clock will have passed the fence.
func (Backend) AdvanceFence(context.Context, string, uint64) error { return nil }
