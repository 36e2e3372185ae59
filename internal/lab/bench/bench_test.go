package bench_test

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"seckill/internal/lab/bench"
	"seckill/internal/servers"
	"seckill/internal/servers/testservers"
)

func TestMain(m *testing.M) { testservers.Main(m) }

var rule = bench.Say("a rule", "规则")

// played plays one case that needs no server.
func played(t *testing.T, play func(b *bench.Bench)) (bench.CaseResult, bench.Result) {
	t.Helper()
	places := bench.NewPlaces(bench.Config{})
	r := bench.Run(t.Context(), places, bench.Experiment{Name: "test", Cases: []bench.Case{bench.Right(rule, play)}})
	require.NoError(t, places.Close())
	require.Len(t, r.Cases, 1)
	return r.Cases[0], r
}

// step is a step that does nothing.
func step(a *bench.Actor, what string) {
	a.Must(bench.Process, bench.Work, what, func(*bench.Step) error { return nil })
}

// told is the timeline in short.
func told(c bench.CaseResult) string {
	var all []string
	for _, e := range c.Events {
		word := e.Actor + " " + e.What
		if e.Waits {
			word += "…"
		}
		all = append(all, word)
	}
	return strings.Join(all, ", ")
}

func TestTheScheduleSaysWhoseTurnItIs(t *testing.T) {
	script := func(a *bench.Actor) {
		step(a, "read")
		step(a, "write")
		step(a, "commit")
	}
	for name, tc := range map[string]struct {
		turns func(a, b *bench.Actor) []bench.Turn
		want  string
	}{
		"none: one after the other":    {func(_, _ *bench.Actor) []bench.Turn { return nil }, "a read, a write, a commit, b read, b write, b commit"},
		"until a step, and to the end": {func(a, b *bench.Actor) []bench.Turn { return []bench.Turn{a.Until("commit"), b.ToTheEnd()} }, "a read, a write, b read, b write, b commit, a commit"},
		"until the first of two":       {func(a, b *bench.Actor) []bench.Turn { return []bench.Turn{a.Until("none", "write"), b.Until("write")} }, "a read, b read, a write, a commit, b write, b commit"},
		"steps":                        {func(a, b *bench.Actor) []bench.Turn { return []bench.Turn{b.Steps(1), a.Steps(2), b.Steps(1)} }, "b read, a read, a write, b write, a commit, b commit"},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := played(t, func(b *bench.Bench) {
				one, two := b.Actor("a", script), b.Actor("b", script)
				b.Schedule(tc.turns(one, two)...)
			})
			require.Equal(t, tc.want, told(c))
		})
	}
}

// waits is a step that waits until it is open.
func waits(a *bench.Actor, what string, open *atomic.Bool) {
	a.MustWaiting(bench.Process, bench.Work, what, func(context.Context) bool { return !open.Load() }, func(s *bench.Step) error {
		for !open.Load() {
			if s.Ctx.Err() != nil {
				return s.Ctx.Err()
			}
			time.Sleep(time.Millisecond) // a server would wake it
		}
		return nil
	})
}

func TestWhoHasToWaitGivesTheTurnAwayAndGoesOnBeforeTheNextStep(t *testing.T) {
	var open atomic.Bool
	c, _ := played(t, func(b *bench.Bench) {
		one := b.Actor("a", func(a *bench.Actor) {
			waits(a, "waits", &open)
			step(a, "goes on")
		})
		two := b.Actor("b", func(a *bench.Actor) {
			a.Must(bench.Process, bench.Work, "opens", func(*bench.Step) error { open.Store(true); return nil })
			step(a, "ends")
		})
		b.Schedule(one.ToTheEnd(), two.ToTheEnd())
	})
	require.Equal(t, "a waits…, b opens, a waits, b ends, a goes on", told(c))
	require.Equal(t, []bench.Span{{Kind: bench.WaitSpan, Actor: "a", Label: "waits", From: 0, To: 2}}, c.Spans)
}

func TestTheStepThatBreaksARuleIsMarked(t *testing.T) {
	var n atomic.Int64
	c, r := played(t, func(b *bench.Bench) {
		b.AtMost(rule, 1, n.Load)
		b.Actor("a", func(a *bench.Actor) {
			for _, what := range []string{"one", "two", "three"} {
				a.Must(bench.Process, bench.Work, what, func(*bench.Step) error { n.Add(1); return nil })
			}
		})
		b.Schedule()
	})
	require.True(t, c.Anomaly)
	require.False(t, r.AsExpected(), "it was a right case")
	require.Equal(t, int64(3), c.Numbers[0].Value)
	require.Nil(t, c.Events[0].Anomaly)
	require.NotNil(t, c.Events[1].Anomaly)
	require.Nil(t, c.Events[2].Anomaly)
}

// The rules are asked when the actor is at its next step or its end: whatever its script
// did until then belongs to the step, however long it took.
func TestWhatTheScriptDoesAfterAStepBelongsToTheStep(t *testing.T) {
	var n atomic.Int64
	c, _ := played(t, func(b *bench.Bench) {
		b.AtMost(rule, 0, n.Load)
		b.Actor("a", func(a *bench.Actor) {
			step(a, "one")
			time.Sleep(5 * time.Millisecond) // the director has heard of the step by now
			n.Add(1)
		})
		b.Schedule()
	})
	require.True(t, c.Anomaly)
	require.NotNil(t, c.Events[0].Anomaly)
}

func TestWaitingForEverIsARuleOrAFailure(t *testing.T) {
	for name, ruled := range map[string]bool{"a rule": true, "a failure": false} {
		t.Run(name, func(t *testing.T) {
			var never atomic.Bool
			c, r := played(t, func(b *bench.Bench) {
				if ruled {
					b.ForEver(rule)
				}
				b.Actor("a", func(a *bench.Actor) { waits(a, "waits", &never) })
				b.Actor("b", func(a *bench.Actor) { waits(a, "waits too", &never) })
				b.Schedule()
			})
			require.Equal(t, ruled, c.Anomaly)
			if ruled {
				require.Empty(t, r.Failed)
				require.Equal(t, int64(2), c.Numbers[0].Value)
			} else {
				require.Contains(t, r.Failed, bench.ErrStuck.Error())
			}
		})
	}
}

func TestWhatCannotBePlayedHasNoVerdict(t *testing.T) {
	_, r := played(t, func(b *bench.Bench) {
		b.Actor("a", func(a *bench.Actor) {
			a.Must(bench.Process, bench.Work, "breaks", func(*bench.Step) error { return errors.New("no such thing") })
		})
		b.Schedule()
	})
	require.Contains(t, r.Failed, "a: breaks: no such thing")
	require.False(t, r.AsExpected())

	c, r := played(t, func(b *bench.Bench) { b.Skip(bench.Say("too old", "太旧")) })
	require.Equal(t, "too old", c.NotRun.EN)
	require.Empty(t, r.Failed)
}

func TestTheDeadDoNothingMore(t *testing.T) {
	c, _ := played(t, func(b *bench.Bench) {
		b.Actor("a", func(a *bench.Actor) {
			a.Enters()
			a.Dies()
			step(a, "haunts")
		})
		b.Schedule()
	})
	require.Equal(t, "a goes in, a dies", told(c))
}

func TestAnInterruptedCaseEndsAtOnceAndItsServersWithIt(t *testing.T) {
	testservers.Need(t, servers.LookRedis)
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	places := bench.NewPlaces(bench.Config{})
	addr := ""
	r := bench.Run(ctx, places, bench.Experiment{Needs: []bench.Server{bench.RealRedis}, Cases: []bench.Case{bench.Wrong(rule, func(b *bench.Bench) {
		addr = b.RedisAddr()
		b.Actor("a", func(a *bench.Actor) {
			a.Must(bench.Process, bench.Work, "works", func(s *bench.Step) error {
				cancel()
				<-s.Ctx.Done()
				return s.Ctx.Err()
			})
		})
		b.Schedule()
	})}})
	require.NotEmpty(t, r.Failed)
	require.NoError(t, places.Close())
	_, err := net.Dial("tcp", addr)
	require.Error(t, err, "the server is still there")
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestAWireLosesTheAnswersThatItIsTold(t *testing.T) {
	places := bench.NewPlaces(bench.Config{Redis: testservers.Redis(t).Addr()})
	r := bench.Run(t.Context(), places, bench.Experiment{Needs: []bench.Server{bench.RealRedis}, Cases: []bench.Case{bench.Right(rule, func(b *bench.Bench) {
		wire := b.Wire(b.RedisAddr())
		c := b.Client(wire.Addr())
		key := b.Key("n")
		b.Must(c.Incr(b.Ctx(), key).Err())
		wire.LoseAnswers("incr", 1)
		require.Error(t, c.Incr(b.Ctx(), key).Err())
		require.Equal(t, 1, wire.Lost())
		b.Must(c.Incr(b.Ctx(), key).Err())
		n, err := b.Redis().Get(b.Ctx(), key).Int()
		b.Must(err)
		require.Equal(t, 3, n, "the server did what it was asked")

		wire.Silence()
		ctx, cancel := context.WithTimeout(b.Ctx(), 30*time.Millisecond)
		defer cancel()
		require.Error(t, c.Get(ctx, key).Err(), "nothing passes")
		wire.Speak()
		b.Must(c.Get(b.Ctx(), key).Err())
	})}})
	require.Empty(t, r.Failed)
	require.NoError(t, places.Close())
}

func TestAConfiguredServerIsLeftAsItWas(t *testing.T) {
	server := testservers.Redis(t)
	look := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { require.NoError(t, look.Close()) })
	before, err := look.DBSize(t.Context()).Result()
	require.NoError(t, err)
	places := bench.NewPlaces(bench.Config{Redis: server.Addr(), MySQL: testservers.MariaDB(t).DSN("")})
	needs := []bench.Server{bench.Redis, bench.Database}
	r := bench.Run(t.Context(), places, bench.Experiment{Needs: needs, Cases: []bench.Case{bench.Right(rule, func(b *bench.Bench) {
		b.Tables("things (id INT PRIMARY KEY)")
		b.Must(b.Redis().Set(b.Ctx(), b.Key("lock"), "a", 0).Err())
		b.Exec("INSERT INTO things VALUES (1)")
	})}})
	require.Empty(t, r.Failed)
	require.NoError(t, places.Close())
	after, err := look.DBSize(t.Context()).Result()
	require.NoError(t, err)
	require.Equal(t, before, after)
}
