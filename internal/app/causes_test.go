package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/redisconn"
)

// answer is an error that Redis has answered with.
type answer string

func (a answer) Error() string { return string(a) }
func (answer) RedisError()     {}

var _ redis.Error = answer("")

func redisSays(text string) error {
	return fmt.Errorf("%w: whose Redis this is: %w", order.ErrUnavailable, answer(text))
}

func TestCauses_EveryError_IsKnown(t *testing.T) {
	for want, err := range map[string]error{
		redisconn.CauseOutOfMemory: redisSays("OOM command not allowed when used memory > 'maxmemory'."),
		redisconn.CauseReadOnly:    redisSays("READONLY You can't write against a read only replica."),
		redisconn.CauseNotDurable:  redisSays("MISCONF Redis is configured to save RDB snapshots"),
		redisconn.CauseNoReplicas:  redisSays("NOREPLICAS Not enough good replicas to write."),
		redisconn.CauseNoRight:     redisSays("NOPERM User app has no permissions"),
		redisconn.CauseAway:        redisSays("LOADING Redis is loading the dataset in memory"),
		causeLock:                  fmt.Errorf("acquire: %w", lock.ErrUnavailable),
		causeSlow:                  fmt.Errorf("read: %w", context.DeadlineExceeded),
		causeOther:                 errors.New("of no store"),
	} {
		require.Equal(t, want, cause(err), err)
		require.NotEmpty(t, causes[want], want)
	}
}

func TestCauses_LockServersDown_DoNotBlameRedis(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	require.Equal(t, redisconn.CauseAway, cause(fmt.Errorf("reserve: %w", refused)))
	require.Equal(t, causeLock, cause(fmt.Errorf("%w: acquire: %w", lock.ErrUnavailable, refused)), "of ZooKeeper, perhaps")
	require.Equal(t, redisconn.CauseOutOfMemory, cause(fmt.Errorf("%w: acquire: %w", lock.ErrUnavailable, answer("OOM"))))
}

func TestReadiness_WritesRefusedOrSilent_IsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w writes
		w.note(nil)
		require.NoError(t, w.check(false))
		w.note(redisSays("OOM command not allowed"))
		require.ErrorContains(t, w.check(false), "redis_out_of_memory: Redis is at maxmemory", "at once, and with the cause")
		require.Error(t, w.check(true), "of a Cluster, too")
		w.note(nil)
		require.NoError(t, w.check(false))

		w.note(redisSays("LOADING"))
		require.NoError(t, w.check(false), "one that is missing says little")
		time.Sleep(staleAfter)
		require.ErrorContains(t, w.check(false), "redis_away")
		require.NoError(t, w.check(true), "the other masters of a Cluster sell")
		w.note(context.DeadlineExceeded)
		require.ErrorContains(t, w.check(true), "too_slow")

		w.note(context.Canceled)
		require.Error(t, w.check(false), "says nothing")
		w.note(fmt.Errorf("%w: another", coupon.ErrOtherDeployment))
		require.NoError(t, w.check(false), "the database has taken the write")
	})
}
