package stock

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/testing/testservers"
)

// A script that is refused a command in its middle has written a part: what it leaves is
// loaded again, once the right is back.
func TestScript_CutShort_ShardCountsAsNotLoaded(t *testing.T) {
	r := testservers.NewRedis(t)
	all := dial(t, redisconn.Options{Addrs: []string{r.Addr()}})
	may := func(rights ...any) {
		t.Helper()
		require.NoError(t, all.Do(t.Context(), append([]any{"ACL", "SETUSER", "app", "on", ">pw", "~*", "&*", "+@all"}, rights...)...).Err())
	}
	may()
	var log bytes.Buffer
	s := open(t, dial(t, redisconn.Options{Addrs: []string{r.Addr()}, Username: "app", Password: "pw"}), 40, 2,
		func(o *Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	for _, command := range []string{"decrby", "hset", "zadd", "hincrby", "hmget"} {
		log.Reset()
		s.requireLoaded(true)
		may("-" + command)
		for user := range int64(3) {
			_, err := reserve(t.Context(), s, s.claim(user, s.request()))
			if command != "hincrby" { // missed so late that it seems to be done when it is run again
				require.ErrorIs(t, err, order.ErrUnavailable, command)
			}
		}
		require.Equal(t, 1, strings.Count(log.String(), "cut short"), "once an epoch")
		require.Contains(t, log.String(), "can't run this command")
		may()
		s.requireLoaded(false)
		s.requireLoaded(false)
		s.load.Epoch++
		require.NoError(t, s.Load(t.Context(), s.load))
		s.requireLoaded(true)
	}
}

// Another instance loads the stock again before this one looks at it. A second loading would end the queue for nothing.
func TestCutShort_LoadedAgainBeforeTheNextLook_NewEpochIsSound(t *testing.T) {
	r := testservers.NewRedis(t)
	all := dial(t, redisconn.Options{Addrs: []string{r.Addr()}})
	may := func(right string) {
		t.Helper()
		require.NoError(t, all.Do(t.Context(), "ACL", "SETUSER", "app", "on", ">pw", "~*", "&*", "+@all", right).Err())
	}
	may("+hset")
	s := open(t, dial(t, redisconn.Options{Addrs: []string{r.Addr()}, Username: "app", Password: "pw"}), 40, 2)
	for name, ask := range map[string]func() error{
		"alone":    func() error { _, err := reserve(t.Context(), s, s.claim(1, s.request())); return err },
		"together": func() error { return s.Reserve(t.Context(), []order.ReserveRequest{s.claim(2, s.request())})[0].Err },
	} {
		may("-hset")
		require.Error(t, ask(), name)
		may("+hset")
		s.load.Epoch++
		require.NoError(t, s.Load(t.Context(), s.load))
		s.requireLoaded(true)
	}
}

func TestIsHalfDone_OlderListOfCoupons_ForgetsNothing(t *testing.T) {
	s := open(t, dial(t, backends["a server"](t)), 4, 2)
	id := s.load.CouponID
	for _, noted := range []int64{6, 5, 7} { // 5: a late answer
		s.cutShort(t.Context(), id, noted, errCut)
	}
	for epoch, want := range []bool{5: true, 6: true, 7: true, 8: false, 9: false} {
		if epoch >= 5 {
			require.Equal(t, want, s.isHalfDone(id, int64(epoch)), epoch)
		}
	}
	require.False(t, s.isHalfDone(id, 7), "it was loaded again")
}

// A full Redis refuses a script at its first write, as a whole.
func TestScript_RefusedAsAWhole_ChangesNothing(t *testing.T) {
	r := testservers.NewRedis(t)
	s := open(t, dial(t, redisconn.Options{Addrs: []string{r.Addr()}}), 4, 2)
	require.NoError(t, s.client.ConfigSet(t.Context(), "maxmemory", "1").Err())
	_, err := reserve(t.Context(), s, s.claim(1, s.request()))
	require.ErrorIs(t, err, order.ErrUnavailable)
	require.ErrorContains(t, err, "OOM")
	require.NoError(t, s.client.ConfigSet(t.Context(), "maxmemory", "0").Err())
	s.requireLoaded(true)
}
