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
	// lateVotes is for how long a vote that was not heard of is looked for. One that
	// comes later than that stays for its lease.
	lateVotes = 30 * time.Second
	// longestCleanup is how long taking a vote back may take. No caller waits
	// for it, and so there is time for a new connection over a slow network.
	longestCleanup = 3 * time.Second
)

// A node that did not answer to an acquire in time may give its vote all the same, when
// it is not counted any more. So every question has a number, the vote is stored with it,
// and a silent node is asked, in the background and until it is certain, to give back the
// votes of that question and of earlier ones. A later question, whose vote may count,
// keeps its vote.

// takeBack frees the vote of a question on a node that was silent, or that a release
// found free.
func (b *Backend) takeBack(node int, key, token string, question uint64) {
	b.late[node].Add(key, fmt.Sprintf("%s %d", token, question), lateVotes, 1)
}

// newCleaner makes what takes back the votes of one node.
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
