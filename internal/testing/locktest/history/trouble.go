package history

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/anishathalye/porcupine"

	"example.com/seckill/internal/testing/faultnet"
)

var quiet = slog.New(slog.DiscardHandler)

// trouble is what the network of one process does to it.
func (s *slot) trouble(ctx context.Context, dice *rand.Rand) {
	upTo := func(d time.Duration) time.Duration { return time.Duration(dice.Int64N(int64(d))) }
	for ctx.Err() == nil {
		pass(ctx, 50*time.Millisecond+upTo(150*time.Millisecond))
		var end func()
		switch dice.IntN(4) {
		case 0:
			end = s.proxy.Inject(faultnet.Reset)
		case 1:
			end = s.proxy.Inject(faultnet.DelayRequests(30 * time.Millisecond))
		default:
			end = s.proxy.LoseReplies(1 + dice.Int32N(2))
		}
		pass(ctx, upTo(80*time.Millisecond))
		end()
	}
}

// pass lets a part of the plan pass.
func pass(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// tail is the end of an order of operations, to be read.
func tail(all []porcupine.Operation, n int) []string {
	var lines []string
	for _, o := range all[max(0, len(all)-n):] {
		lines = append(lines, fmt.Sprintf("%d: %v [%v…%v]", o.ClientId, o.Input, time.Duration(o.Call), time.Duration(o.Return)))
	}
	return lines
}
