package stock

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/redisconn"
)

// postman keeps the first sending of one script for longer than its sender waits, and
// delivers it when he is told to.
type postman struct {
	*meddler
	script string
	kept   []any // the command
}

// keep gives the client such a postman; before is called with the name of each call.
func keep(t *testing.T, client redis.UniversalClient, script string, before func(call string)) *postman {
	t.Helper()
	for _, sc := range scripts { // so that none is sent twice because the server does not know it
		require.NoError(t, sc.Load(t.Context(), client).Err())
	}
	m := &meddler{before: before, calls: map[string]int{}, names: map[string]string{}}
	for name, sc := range scripts {
		m.names[sc.Hash()] = name
	}
	p := &postman{meddler: m, script: script}
	client.AddHook(p)
	return p
}

var errSilence = errors.New("no answer in time")

func (p *postman) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() != "evalsha" {
			return next(ctx, cmd)
		}
		name := p.names[cmd.Args()[1].(string)]
		p.tell(name)
		if name == p.script && p.kept == nil {
			p.kept = cmd.Args()
			cmd.SetErr(errSilence)
			return errSilence
		}
		return next(ctx, cmd)
	}
}

// deliver does what the kept command says.
func (p *postman) deliver(t *testing.T, client redis.UniversalClient) {
	t.Helper()
	require.NotEmpty(t, p.kept)
	require.NoError(t, client.Do(t.Context(), p.kept...).Err())
}

// The mark is taken away twice, because the first time was not answered, and that one
// arrives when the same attempt could have got a unit at home.
func TestLateRelease_Mark_ReturnsNoUnit(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		r := racing(t, o, 2)
		p := keep(t, r.client, "release", func(call string) {
			switch call {
			case "lend":
				r.set(1, 0)
			case "release":
				r.set(0, 1)
			}
		})
		require.ErrorIs(t, r.try(r.user), order.ErrBusy)
		p.deliver(t, r.others)
		r.wants(0, 1, 0)
		r.requireNoMark()
		h := r.buy(r.user)
		require.NoError(t, confirm(t.Context(), r, h))
		r.wants(0, 0, 0)
	})
}

// The sibling is asked twice, because the first time was not answered, and that one
// arrives when another sibling could have lent the unit already.
func TestLateLoan_Repeated_TakesNoSecondUnit(t *testing.T) {
	everywhere(t, func(t *testing.T, o redisconn.Options) {
		r := racing(t, o, 3)
		p := keep(t, r.client, "lend", once("lend", func() { r.set(1, 0) }))
		err := r.try(r.user)
		require.ErrorIs(t, err, order.ErrUnavailable, "whether the first sibling lends is not known")
		require.ErrorIs(t, r.try(r.user), order.ErrBusy, "the mark stays for the reconciler")
		r.set(1, 1)
		p.deliver(t, r.others)
		r.wants(1, 0, 0, 1)

		all := r.openHolds(3)
		for _, h := range all {
			require.NoError(t, release(t.Context(), r, h))
		}
		r.wants(0, 0, 1, 1)
		r.requireNoMark()
	})
}
