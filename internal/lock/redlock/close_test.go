package redlock

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// mute is a node that answers nothing before it ends, and whose client does not heed its context.
type mute struct {
	redis.Scripter

	ended chan struct{}
}

func (m mute) EvalSha(ctx context.Context, _ string, _ []string, _ ...any) *redis.Cmd {
	<-m.ended
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(errSilent)
	return cmd
}

func TestBackend_CloseBesideMuteNodes_EndsWithinASecond(t *testing.T) {
	for _, keys := range []int{1, 1000} {
		t.Run(strconv.Itoa(keys), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ended := make(chan struct{})
				b, err := New([]mute{{ended: ended}, {ended: ended}, {ended: ended}}, Options{})
				require.NoError(t, err)
				for i := range keys {
					_, err := b.Acquire(t.Context(), strconv.Itoa(i), "token", 10*time.Second)
					require.Error(t, err)
				}
				began := time.Now()
				b.Close()
				require.LessOrEqual(t, time.Since(began), time.Second)
				close(ended)
			})
		})
	}
}
