package redislock

import (
	"context"
	_ "embed" // the script
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/lock"
)

var (
	//go:embed handoff.lua
	passSource string

	passScript = redis.NewScript(countSource + passSource)
)

var _ lock.Handoffer = (*Backend)(nil)

// Handoff hands key from token to next. It does nothing in fair mode, where the first in the line of all
// processes is next, nor with Options.Replicas, and a server that would not run the script has
// done nothing: then it answers errors.ErrUnsupported.
func (b *Backend) Handoff(ctx context.Context, key, token, next string, lease time.Duration) (lock.Grant, error) {
	if b.o.Fair || b.o.Replicas > 0 {
		return lock.Grant{}, errors.ErrUnsupported
	}
	n := b.namesOf(key)
	r, err := passScript.Run(ctx, b.run, []string{n.lock, n.fence}, token, next, millis(lease)).Slice()
	switch {
	case err != nil && !isNetwork(err):
		return lock.Grant{}, fmt.Errorf("redislock: pass: %w: %w", errors.ErrUnsupported, err)
	case err != nil || len(r) < 3:
		return lock.Grant{}, owned("pass", key, r, err)
	}
	grant, err := granted(key, r[:2], false, nil)
	grant.Awaited = r[2] == int64(1)
	return grant, err
}
