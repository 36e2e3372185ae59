package embedded_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

var timeScript = redis.NewScript(`local t = redis.call('TIME'); return t[1] * 1000000 + t[2]`)

func TestEmbeddedRedis_ScriptTime_IsTheMachines(t *testing.T) {
	_, client := start(t)
	read := func() time.Time {
		micros, err := timeScript.Run(t.Context(), client, nil).Int64()
		require.NoError(t, err)
		return time.UnixMicro(micros)
	}
	before := time.Now().Truncate(time.Microsecond)
	first := read()
	after := time.Now()
	require.False(t, first.Before(before), "before the call")
	require.False(t, first.After(after), "after the call")
	require.Eventually(t, func() bool { return read().Sub(first) >= 60*time.Millisecond }, 5*time.Second, time.Millisecond,
		"the clock stands still")
}

// The test that nothing is asked in between matters: a lazy expiry would pass
// otherwise, and a waiting lock would hear of nothing.
func TestEmbeddedRedis_KeyNotRead_ExpiresOnTime(t *testing.T) {
	s, client := start(t)
	const life = 300 * time.Millisecond
	set := time.Now()
	require.NoError(t, client.Set(t.Context(), "lease", "me", life).Err())
	require.NoError(t, client.HSet(t.Context(), "stays", "a", "1").Err())
	gone := time.Time{}
	require.Eventually(t, func() bool {
		// KeyCount counts without touching the key that it counts.
		if s.KeyCount() == 1 {
			gone = time.Now()
		}
		return !gone.IsZero()
	}, 5*time.Second, time.Millisecond)
	require.GreaterOrEqual(t, gone.Sub(set), life-60*time.Millisecond, "too early")
	require.Equal(t, int64(1), client.Exists(t.Context(), "stays").Val())
	require.Equal(t, int64(0), client.Exists(t.Context(), "lease").Val())
}

func TestEmbeddedRedis_Published_Arrives(t *testing.T) {
	_, client := start(t)
	sub := client.Subscribe(t.Context(), "returned")
	defer func() { require.NoError(t, sub.Close()) }()
	_, err := sub.Receive(t.Context()) // the subscription is in force
	require.NoError(t, err)
	require.NoError(t, client.Publish(t.Context(), "returned", "1:3").Err())
	msg, err := sub.ReceiveMessage(t.Context())
	require.NoError(t, err)
	require.Equal(t, "1:3", msg.Payload)
}

// What scripts may rely on. cmsgpack and struct are not among it.
func TestEmbeddedRedis_Scripts_RunNeededCommands(t *testing.T) {
	_, client := start(t)
	for name, tc := range map[string]struct {
		script string
		want   any
	}{
		"encode JSON":             {`return cjson.encode({1, 2})`, "[1,2]"},
		"count with HINCRBY":      {`return redis.call('HINCRBY', KEYS[1], 'a', 2)`, int64(2)},
		"set a lease once":        {`return redis.call('SET', KEYS[1], 'me', 'NX', 'PX', 1000) and 1 or 0`, int64(1)},
		"add to a stream":         {`redis.call('XADD', KEYS[1], '*', 'a', '1') return redis.call('XLEN', KEYS[1])`, int64(1)},
		"publish":                 {`return redis.call('PUBLISH', 'c', 'm')`, int64(0)},
		"answer with their error": {`return redis.error_reply('STALE epoch')`, "STALE epoch"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := client.Eval(t.Context(), tc.script, []string{name}).Result()
			if err != nil {
				got = err.Error()
			}
			require.Equal(t, tc.want, got)
		})
	}
}

func TestEmbeddedRedis_CmsgpackScript_Fails(t *testing.T) {
	_, client := start(t)
	require.ErrorContains(t, client.Eval(t.Context(), `return cmsgpack.pack(1)`, nil).Err(), "cmsgpack")
}

func TestEmbeddedRedis_ConcurrentClients_LoseNoIncrement(t *testing.T) {
	_, client := start(t)
	gate, done := make(chan struct{}), make(chan error)
	for range 8 {
		go func() {
			<-gate
			var err error
			for range 100 {
				err = errOr(err, client.Eval(t.Context(), `return redis.call('INCR', KEYS[1])`, []string{"n"}).Err())
			}
			done <- err
		}()
	}
	close(gate)
	for range 8 {
		require.NoError(t, <-done)
	}
	require.Equal(t, "800", client.Get(t.Context(), "n").Val())
}

func errOr(first, second error) error {
	if first != nil {
		return first
	}
	return second
}
