package redislock

import (
	"context"
	_ "embed" // the scripts
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/lock"
)

// In fair mode the processes that wait for a key stand in line for it. The names of the line are
// next to the key and in the same slot:
//
//	seckill:line:{lock:42}:user:42     tokens by ticket, which is the server's time
//	seckill:places:{lock:42}:user:42   until when each token's place lasts
//
// Only the first in line gets a free key. A place lasts for Options.PlaceTTL after its token last
// asked, so a waiter that died holds up the others no longer than that. This also holds if the
// server's clock was set back, because the script shortens a place that lasts longer. Both names
// are gone when no caller waits.
var (
	//go:embed turn.lua
	turnSource string
	//go:embed leave.lua
	leaveSource string

	turnScript  = redis.NewScript(turnSource + acquireSource)
	leaveScript = redis.NewScript(leaveSource + releaseSource)
)

var _ lock.FairBackend = (*Backend)(nil)

// AcquireInTurn is Acquire for a caller that waits and that the release must wake. In fair mode,
// token gets a place in line, or keeps its place.
func (b *Backend) AcquireInTurn(ctx context.Context, key, token string, lease time.Duration) (lock.Grant, error) {
	return b.acquire(ctx, key, token, lease, b.o.PlaceTTL, false)
}

// ask runs the script that acquires. place is how long a rejected token keeps a place in line. It
// is zero for a caller that does not wait.
func (b *Backend) ask(ctx context.Context, n names, token string, lease, place time.Duration) ([]any, error) {
	r, err := b.askAtOnce(ctx, n, token, lease, place)
	if b.isApart(r, err) {
		return b.askApart(ctx, n, token, lease, place)
	}
	return r, err
}

func (b *Backend) askAtOnce(ctx context.Context, n names, token string, lease, place time.Duration) ([]any, error) {
	if !b.o.Fair {
		keys := []string{n.lock, n.fence}
		//nolint:wrapcheck // acquire says what it was for
		return acquireScript.Run(ctx, b.run, keys, token, millis(lease), millis(place)).Slice()
	}
	keys := []string{n.lock, n.fence, n.waitQueue(), n.places()}
	return turnScript.Run(ctx, b.run, keys, token, millis(lease), millis(place), millis(b.o.PlaceTTL)).Slice() //nolint:wrapcheck // as above
}

// leave runs the script that releases, which in fair mode also leaves the line.
func (b *Backend) leave(ctx context.Context, n names, token string) *redis.Cmd {
	if !b.o.Fair {
		return releaseScript.Run(ctx, b.run, []string{n.lock}, token, n.channel)
	}
	return leaveScript.Run(ctx, b.run, []string{n.lock, n.waitQueue(), n.places()}, token, n.channel)
}

// waitQueue and places are next to the lock, and no lock can have their names.
func (n names) waitQueue() string { return n.beside("line:") }
func (n names) places() string    { return n.beside("places:") }

func (n names) beside(what string) string {
	prefix, rest, _ := strings.Cut(n.lock, "{lock:")
	return prefix + what + "{lock:" + rest
}
