package redislock

import (
	"fmt"
	"hash/fnv"
	"strings"

	"example.com/seckill/internal/lock"
)

// buckets is the number of fence counters. Changing it is changing every key:
// programs with different numbers do not exclude each other.
const buckets = 64

// names are the Redis keys that belong to one lock key.
type names struct {
	lock, fence, channel string
}

const defaultPrefix = "seckill:"

// bucketNames are the parts that do not depend on the key, made once.
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

// namesOf puts the lock of a user into the bucket of the user's id, so that
// people can find it, and any other key into one by its hash. A lock key that
// would collide with the counter's name is set apart by a second colon.
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
