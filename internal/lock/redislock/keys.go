package redislock

import (
	"context"
	_ "embed" // the scripts
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/lock"
)

// buckets is the number of fence counters. Another number changes every key: programs with
// different numbers do not exclude each other.
const buckets = 64

// names are the Redis keys that belong to one lock key.
type names struct {
	lock, fence, channel string
}

const defaultPrefix = "seckill:"

// bucketNames are the parts of names that do not depend on the key. They are made once.
var bucketNames = func() (all [buckets]names) {
	for b := range all {
		tag := fmt.Sprintf("%s{lock:%d}:", defaultPrefix, b)
		all[b] = names{lock: tag, fence: tag + "fence", channel: tag + "freed"}
	}
	return all
}()

// namesOf returns the names under the backend's prefix.
func (b *Backend) namesOf(key string) names {
	n := namesOf(key)
	if prefix := b.o.Prefix; prefix != "" && prefix != defaultPrefix {
		for _, name := range []*string{&n.lock, &n.fence, &n.channel} {
			*name = prefix + strings.TrimPrefix(*name, defaultPrefix)
		}
	}
	return n
}

// namesOf puts the lock of a user into the bucket of the user's id, so that people can find it. It
// puts any other key into a bucket by its hash. A second colon sets apart a lock key that would
// collide with the counter's name.
func namesOf(key string) names {
	n := bucketNames[bucketOf(key)]
	if key == "fence" {
		key = ":" + key
	}
	n.lock += key
	return n
}

func bucketOf(key string) uint64 {
	if id, ok := lock.UserOf(key); ok {
		return id % buckets
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // never fails
	return uint64(h.Sum32() % buckets)
}

// While a Cluster moves a slot, it may reject a script with TRYAGAIN. It does so if the script
// names several keys and one of them does not exist, for instance a free lock. This lasts as long
// as the move. A command with one key always gets an answer, from the server where the key is or
// will be made. So a lock is then taken in three steps:
//
//	the lock, with fence 0 ─▶ a fence ─▶ the fence into the lock, if it is still the token's
//
// The script counts the fence while the lock is held. The fence is a grant only if the lock is
// still held afterwards. So the next grant has a greater one.
var (
	//go:embed take.lua
	takeSource string
	//go:embed stamp.lua
	stampSource string

	takeScript  = redis.NewScript(heldSource + takeSource)
	countScript = redis.NewScript(countSource + "return count(KEYS[1])")
	stampScript = redis.NewScript(stampSource)
)

// notStamped is the fence of a lock between the first step and the last. It is not a grant.
const notStamped = "0"

// askApart does the work of the script that acquires, one key at a time. It does not serve the fair
// mode, where the next in line is known only from all keys together.
func (b *Backend) askApart(ctx context.Context, n names, token string, lease, place time.Duration) ([]any, error) {
	r, err := takeScript.Run(ctx, b.run, []string{n.lock}, token, millis(lease), millis(place)).Slice()
	if err != nil || len(r) != 2 || r[0] != int64(1) || r[1] != notStamped {
		return r, err //nolint:wrapcheck // acquire says what it was for
	}
	fence, err := countScript.Run(ctx, b.run, []string{n.fence}).Text()
	if err != nil {
		return nil, err //nolint:wrapcheck // as above
	}
	return stampScript.Run(ctx, b.run, []string{n.lock}, token, millis(lease), fence).Slice() //nolint:wrapcheck // as above
}

// isApart reports whether the keys of a lock must be asked one by one. This is so if the server did
// not run the script, or if the script found the token's own lock between the first step and the
// last.
func (b *Backend) isApart(r []any, err error) bool {
	return !b.o.Fair && (redis.IsTryAgainError(err) || err == nil && len(r) == 2 && r[0] == int64(1) && r[1] == notStamped)
}
