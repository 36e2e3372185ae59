package redisconn

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/platform/breaker"
)

// The causes for which Redis does not do what it is asked.
const (
	CauseOutOfMemory = "redis_out_of_memory" // at maxmemory, and nothing is evicted
	CauseReadOnly    = "redis_read_only"     // a replica
	CauseNotDurable  = "redis_not_durable"   // it cannot write to its disk, and takes no writes then
	CauseNoReplicas  = "redis_no_replicas"   // fewer than min-replicas-to-write
	CauseNoRight     = "redis_no_right"      // of the user
	CauseNewerLayout = "redis_newer_layout"  // a newer version of the program has loaded what is sold
	CauseAway        = "redis_away"          // no answer, or none in time
)

// said are the words that an error of Redis begins with.
var said = map[string]string{
	"OOM": CauseOutOfMemory, "READONLY": CauseReadOnly, "MISCONF": CauseNotDurable, "NOREPLICAS": CauseNoReplicas,
	"NOPERM": CauseNoRight, "NOAUTH": CauseNoRight, "WRONGPASS": CauseNoRight,
	"NEWERLAYOUT": CauseNewerLayout,
	"LOADING":     CauseAway, "CLUSTERDOWN": CauseAway, "MASTERDOWN": CauseAway, "TRYAGAIN": CauseAway,
}

// Cause returns the cause of an error of Redis; "" for any other error, and for an answer that has
// nothing to do with the state of the server.
func Cause(err error) string {
	if answer, ok := errors.AsType[redis.Error](err); ok {
		word, _, _ := strings.Cut(strings.TrimPrefix(answer.Error(), "-"), " ")
		return said[word]
	}
	_, fromNet := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, breaker.ErrOpen), errors.Is(err, ErrNoAnswer), errors.Is(err, redis.ErrPoolTimeout),
		fromNet && !errors.Is(err, context.DeadlineExceeded):
		return CauseAway
	}
	return ""
}
