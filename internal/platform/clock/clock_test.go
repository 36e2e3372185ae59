package clock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/clock"
)

func at(skew time.Duration) func() time.Time {
	return func() time.Time { return time.Now().Add(skew) }
}

func asked(skew, trip time.Duration) func(context.Context) (time.Time, error) {
	return func(context.Context) (time.Time, error) {
		time.Sleep(trip / 2)
		now := time.Now().Add(skew)
		time.Sleep(trip / 2)
		return now, nil
	}
}

func TestClock_WrongServer_DecidesNothing(t *testing.T) {
	for name, skew := range map[string]struct{ own, redis, database time.Duration }{
		"the own one, ahead":  {own: 31 * time.Second},
		"the own one, behind": {own: -time.Hour},
		"of Redis":            {redis: time.Hour},
		"of the database":     {database: -16 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := clock.New(at(skew.own))
				require.Equal(t, time.Now().Add(skew.own), c.Now(), "its own, before it knows better")
				for server, by := range map[string]time.Duration{"redis": skew.redis, "database": skew.database} {
					r, err := c.Read(t.Context(), server, asked(by, 20*time.Millisecond))
					require.NoError(t, err)
					require.Equal(t, skew.own-by, r.Ahead)
					require.Equal(t, 10*time.Millisecond, r.Within)
				}
				c.Agree()
				for range 3 {
					require.WithinDuration(t, time.Now(), c.Now(), 0)
					time.Sleep(time.Minute)
				}
			})
		})
	}
}

// Two clocks that differ say nothing of which is wrong: an instance goes by its own.
func TestClock_OneServerOnly_DecidesNothing(t *testing.T) {
	c := clock.New(nil)
	_, err := c.Read(t.Context(), "database", asked(-time.Hour, 0))
	require.NoError(t, err)
	c.Agree()
	require.WithinDuration(t, time.Now(), c.Now(), time.Second)
}

func TestClock_SeveralReadings_UsesTheQuickest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trips := []time.Duration{2 * time.Second, 2 * time.Millisecond, time.Second}
		c := clock.New(nil)
		r, err := c.Read(t.Context(), "redis", func(ctx context.Context) (time.Time, error) {
			trip := trips[0]
			trips = trips[1:]
			return asked(4*time.Second, trip)(ctx)
		})
		require.NoError(t, err)
		require.Equal(t, -4*time.Second, r.Ahead)
		require.Equal(t, 4*time.Second-time.Millisecond, r.Apart())
	})
}

func TestClock_SlowServer_IsNotSkewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.New(nil)
		r, err := c.Read(t.Context(), "redis", func(context.Context) (time.Time, error) {
			now := time.Now() // and its answer is held up
			time.Sleep(8 * time.Second)
			return now, nil
		})
		require.NoError(t, err)
		require.Equal(t, 4*time.Second, r.Ahead)
		require.Zero(t, r.Apart())
	})
}

func TestClock_SeveralServers_ReportsWorstSkew(t *testing.T) {
	c := clock.New(nil)
	require.Zero(t, c.Worst())
	for server, skew := range map[string]time.Duration{"database": time.Second, "a": -7 * time.Second, "b": 3 * time.Second} {
		_, err := c.Read(t.Context(), server, asked(skew, 0))
		require.NoError(t, err)
	}
	require.Equal(t, "a", c.Worst().Server)
	require.Equal(t, []string{"a"}, c.Forget(map[string]bool{"database": true, "b": true}))
	require.Equal(t, "b", c.Worst().Server)

	away := errors.New("away")
	_, err := c.Read(t.Context(), "b", func(context.Context) (time.Time, error) { return time.Time{}, away })
	require.ErrorIs(t, err, away)
	require.Equal(t, "b", c.Worst().Server, "what is known of it is not forgotten")
}

// A look at all servers takes its time, and the clock may be set in the midst of it.
func TestClock_SetBetweenReadingAndAgreement_DecidesNothing(t *testing.T) {
	for _, set := range []time.Duration{40 * time.Minute, -time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			var skew time.Duration
			c := clock.New(func() time.Time { return time.Now().Add(skew) })
			read := func(server string) {
				_, err := c.Read(t.Context(), server, asked(0, 0))
				require.NoError(t, err)
			}
			read("redis")
			read("database")
			time.Sleep(time.Second)
			skew = set
			c.Agree()
			require.WithinDuration(t, time.Now(), c.Now(), 0, "set after both were read")
			read("redis")
			skew = 0
			read("database")
			c.Agree()
			require.WithinDuration(t, time.Now(), c.Now(), 0, "set back between the two")
		})
	}
}

// What passes is counted by the monotonic clock, which cannot be set.
func TestClock_SetWhileRunning_ChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var set time.Duration
		c := clock.New(func() time.Time { return time.Now().Add(set) })
		read := func() (worst time.Duration) {
			for _, server := range []string{"redis", "database"} {
				_, err := c.Read(t.Context(), server, asked(0, 0))
				require.NoError(t, err)
			}
			c.Agree()
			return c.Worst().Ahead
		}
		require.Zero(t, read())
		for _, set = range []time.Duration{16 * time.Second, -time.Hour, 0} {
			time.Sleep(time.Minute)
			require.Equal(t, time.Now().UnixNano(), c.Now().UnixNano(), "before it was read")
			require.Equal(t, set, read())
			require.Equal(t, time.Now().UnixNano(), c.Now().UnixNano(), "and after")
		}
	})
}
