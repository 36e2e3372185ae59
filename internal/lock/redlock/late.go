package redlock

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/lock"
)

const (
	// lateVotes is how long the Backend looks for a vote after a node gave no answer. A vote that
	// comes later than that stays for its lease.
	lateVotes = 30 * time.Second
	// longestCleanup bounds one call that takes a vote back. No caller waits for it, so there is
	// time for a new connection over a slow network.
	longestCleanup = 3 * time.Second
)

// A node that did not answer an acquire in time may still give its vote when it does not count any
// more. So every question has a number, and a node stores the number with its vote. The Backend
// asks a silent node to give back the votes of that question and of earlier ones. It asks in the
// background and until it is certain. A vote of a later question may count, so the node keeps that
// vote.

// takeBack frees the vote of a question, on a node that was silent or on which a release found the
// key free.
func (b *Backend) takeBack(node int, key, token string, question uint64) {
	b.late[node].Add(key, fmt.Sprintf("%s %d", token, question), lateVotes, 1)
}

// newCleaner returns the Cleaner that takes back the votes of one node.
func (b *Backend) newCleaner(node redis.Scripter) *lock.Cleaner {
	free := func(ctx context.Context, key, tokenAndQuestion string) error {
		i := strings.LastIndexByte(tokenAndQuestion, ' ')
		token, question := tokenAndQuestion[:i], tokenAndQuestion[i+1:]
		ctx, cancel := context.WithTimeout(ctx, longestCleanup)
		defer cancel()
		switch v := ask(ctx, node, releaseScript, b.nameOf(key), []any{token, question}); {
		case v.err != nil:
			return v.err
		case v.says == "kept":
			return nil
		default:
			return lock.ErrNotHeld
		}
	}
	ignore := func(string) {} // a minority does no harm, and the Locker counts a majority
	return lock.NewCleaner(free, ignore, nil)
}
