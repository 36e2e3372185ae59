package order

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// looks plays what an instance hears of a queue, and says what the last client is told.
func TestQueueRate_EstimatedWait_FollowsPositionAndRate(t *testing.T) {
	type look struct {
		at            time.Duration
		served, ahead int64
	}
	for name, tc := range map[string]struct {
		looks []look
		want  time.Duration
	}{
		"one look tells no pace":               {[]look{{0, 0, 100}}, 0},
		"a hundred in half a second":           {[]look{{0, 0, 900}, {500 * time.Millisecond, 100, 300}}, 1500 * time.Millisecond},
		"too soon after to tell":               {[]look{{0, 0, 900}, {100 * time.Millisecond, 100, 300}}, 0},
		"the latest stretch counts":            {[]look{{0, 0, 900}, {time.Second, 100, 900}, {2 * time.Second, 300, 200}}, time.Second},
		"nothing was served":                   {[]look{{0, 0, 900}, {time.Second, 0, 300}}, 0},
		"it stood empty between":               {[]look{{0, 0, 9}, {time.Second, 9, 0}, {1500 * time.Millisecond, 10, 50}}, 0},
		"nobody looked for long":               {[]look{{0, 0, 900}, {time.Minute, 10, 300}}, 0},
		"an older look comes late":             {[]look{{0, 100, 900}, {time.Second, 50, 300}}, 0},
		"nobody is ahead":                      {[]look{{0, 0, 900}, {time.Second, 100, 0}}, 0},
		"nobody is told to stay away for long": {[]look{{0, 0, 900}, {time.Second, 10, 2000}}, maxRetryAfter},
	} {
		t.Run(name, func(t *testing.T) {
			var p queueRate
			var told QueuePosition
			for _, l := range tc.looks {
				o := Order{CouponID: 1, Shard: 2, Position: QueuePosition{Epoch: 3, Number: l.served + l.ahead + 1, Ahead: l.ahead}}
				told = p.estimate(time.Unix(1000, 0).Add(l.at), o)
			}
			require.Equal(t, tc.want, told.RetryAfter)
			if 0 < tc.want && tc.want < maxRetryAfter {
				require.InDelta(t, tc.want.Seconds(), (told.Wait() - told.Each).Seconds(), 0.001, "those ahead, and then its own turn")
			}
		})
	}
}

func TestQueueRate_EachShard_HasItsOwn(t *testing.T) {
	var p queueRate
	at := time.Unix(1000, 0)
	for shard, each := range []int64{10, 100} {
		for n := range int64(2) {
			o := Order{Shard: shard, Position: QueuePosition{Epoch: 1, Number: n*each + 201, Ahead: 200}}
			told := p.estimate(at.Add(time.Duration(n)*time.Second), o)
			require.Equal(t, time.Duration(n)*min(maxRetryAfter, 200*time.Second/time.Duration(each)), told.RetryAfter)
			require.Equal(t, time.Duration(n)*201*time.Second/time.Duration(each), told.Wait(), "it is told the whole of it")
		}
	}
}
