package harness_test

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

	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/lab/harness"
	"example.com/seckill/internal/tools/servers"
)

func TestMain(m *testing.M) { testservers.Main(m) }

var rule = harness.NewText("a rule", "规则")

// played plays one case that needs no server.
func played(t *testing.T, play func(run *harness.Run)) (harness.CaseResult, harness.Result) {
	t.Helper()
	servers := harness.NewServers(harness.Config{})
	r := harness.RunExperiment(t.Context(), servers, harness.Experiment{Name: "test", Cases: []harness.Case{harness.Right(rule, play)}})
	require.NoError(t, servers.Close())
	require.Len(t, r.Cases, 1)
	return r.Cases[0], r
}

// step is a step that does nothing.
func step(a *harness.Actor, what string) {
	a.Must(harness.Process, harness.Work, what, func(*harness.Step) error { return nil })
}

// told returns the timeline in short.
func told(c harness.CaseResult) string {
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

func TestSchedule_Turns_OrderTheSteps(t *testing.T) {
	script := func(a *harness.Actor) {
		step(a, "read")
		step(a, "write")
		step(a, "commit")
	}
	for name, tc := range map[string]struct {
		turns func(a, b *harness.Actor) []harness.Turn
		want  string
	}{
		"none: one after the other":    {func(_, _ *harness.Actor) []harness.Turn { return nil }, "a read, a write, a commit, b read, b write, b commit"},
		"until a step, and to the end": {func(a, b *harness.Actor) []harness.Turn { return []harness.Turn{a.Until("commit"), b.ToTheEnd()} }, "a read, a write, b read, b write, b commit, a commit"},
		"until the first of two": {func(a, b *harness.Actor) []harness.Turn {
			return []harness.Turn{a.Until("none", "write"), b.Until("write")}
		}, "a read, b read, a write, a commit, b write, b commit"},
		"steps": {func(a, b *harness.Actor) []harness.Turn { return []harness.Turn{b.Steps(1), a.Steps(2), b.Steps(1)} }, "b read, a read, a write, b write, a commit, b commit"},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := played(t, func(run *harness.Run) {
				one, two := run.Actor("a", script), run.Actor("b", script)
				run.Schedule(tc.turns(one, two)...)
			})
			require.Equal(t, tc.want, told(c))
		})
	}
}

// waits is a step that waits until open is true.
func waits(a *harness.Actor, what string, open *atomic.Bool) {
	a.MustWaiting(harness.Process, harness.Work, what, func(context.Context) bool { return !open.Load() }, func(s *harness.Step) error {
		for !open.Load() {
			if s.Ctx.Err() != nil {
				return s.Ctx.Err()
			}
			time.Sleep(time.Millisecond) // a server would wake it
		}
		return nil
	})
}

func TestSchedule_ActorBlocks_NextActorTakesTurn(t *testing.T) {
	var open atomic.Bool
	c, _ := played(t, func(run *harness.Run) {
		one := run.Actor("a", func(a *harness.Actor) {
			waits(a, "waits", &open)
			step(a, "goes on")
		})
		two := run.Actor("b", func(a *harness.Actor) {
			a.Must(harness.Process, harness.Work, "opens", func(*harness.Step) error { open.Store(true); return nil })
			step(a, "ends")
		})
		run.Schedule(one.ToTheEnd(), two.ToTheEnd())
	})
	require.Equal(t, "a waits…, b opens, a waits, b ends, a goes on", told(c))
	require.Equal(t, []harness.Span{{Kind: harness.WaitSpan, Actor: "a", Label: "waits", From: 0, To: 2}}, c.Spans)
}

func TestStep_BreaksARule_IsMarked(t *testing.T) {
	var n atomic.Int64
	c, r := played(t, func(run *harness.Run) {
		run.AtMost(rule, 1, n.Load)
		run.Actor("a", func(a *harness.Actor) {
			for _, what := range []string{"one", "two", "three"} {
				a.Must(harness.Process, harness.Work, what, func(*harness.Step) error { n.Add(1); return nil })
			}
		})
		run.Schedule()
	})
	require.True(t, c.Anomaly)
	require.False(t, r.AsExpected(), "it was a right case")
	require.Equal(t, int64(3), c.Numbers[0].Value)
	require.Nil(t, c.Events[0].Anomaly)
	require.NotNil(t, c.Events[1].Anomaly)
	require.Nil(t, c.Events[2].Anomaly)
}

// The rules are checked when the actor is at its next step or its end: what its script did until
// then belongs to the step, however long it took.
func TestRule_WorkAfterStep_CountsForThatStep(t *testing.T) {
	var n atomic.Int64
	c, _ := played(t, func(run *harness.Run) {
		run.AtMost(rule, 0, n.Load)
		run.Actor("a", func(a *harness.Actor) {
			step(a, "one")
			time.Sleep(5 * time.Millisecond) // the scheduler has received the step by now
			n.Add(1)
		})
		run.Schedule()
	})
	require.True(t, c.Anomaly)
	require.NotNil(t, c.Events[0].Anomaly)
}

func TestWait_Endless_BreaksARuleOrFails(t *testing.T) {
	for name, ruled := range map[string]bool{"a rule": true, "a failure": false} {
		t.Run(name, func(t *testing.T) {
			var never atomic.Bool
			c, r := played(t, func(run *harness.Run) {
				if ruled {
					run.NoDeadlock(rule)
				}
				run.Actor("a", func(a *harness.Actor) { waits(a, "waits", &never) })
				run.Actor("b", func(a *harness.Actor) { waits(a, "waits too", &never) })
				run.Schedule()
			})
			require.Equal(t, ruled, c.Anomaly)
			if ruled {
				require.Empty(t, r.Failed)
				require.Equal(t, int64(2), c.Numbers[0].Value)
			} else {
				require.Contains(t, r.Failed, harness.ErrDeadlock.Error())
			}
		})
	}
}

func TestExperiment_FailedOrSkipped_HasNoVerdict(t *testing.T) {
	_, r := played(t, func(run *harness.Run) {
		run.Actor("a", func(a *harness.Actor) {
			a.Must(harness.Process, harness.Work, "breaks", func(*harness.Step) error { return errors.New("no such thing") })
		})
		run.Schedule()
	})
	require.Contains(t, r.Failed, "a: breaks: no such thing")
	require.False(t, r.AsExpected())

	c, r := played(t, func(run *harness.Run) { run.Skip(harness.NewText("too old", "太旧")) })
	require.Equal(t, "too old", c.NotRun.EN)
	require.Empty(t, r.Failed)
}

func TestProcess_Dead_DoesNothingMore(t *testing.T) {
	c, _ := played(t, func(run *harness.Run) {
		run.Actor("a", func(a *harness.Actor) {
			a.Enter()
			a.Crash()
			step(a, "haunts")
		})
		run.Schedule()
	})
	require.Equal(t, "a goes in, a dies", told(c))
}

func TestCase_Interrupted_EndsWithItsServers(t *testing.T) {
	testservers.Need(t, servers.LookRedis)
	t.Setenv("TMPDIR", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	servers := harness.NewServers(harness.Config{})
	addr := ""
	r := harness.RunExperiment(ctx, servers, harness.Experiment{Needs: []harness.Server{harness.RealRedis}, Cases: []harness.Case{harness.Wrong(rule, func(run *harness.Run) {
		addr = run.RedisAddr()
		run.Actor("a", func(a *harness.Actor) {
			a.Must(harness.Process, harness.Work, "works", func(s *harness.Step) error {
				cancel()
				<-s.Ctx.Done()
				return s.Ctx.Err()
			})
		})
		run.Schedule()
	})}})
	require.NotEmpty(t, r.Failed)
	require.NoError(t, servers.Close())
	_, err := net.Dial("tcp", addr)
	require.Error(t, err, "the server is still there")
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestProxy_LoseRepliesOrStall_ClientGetsError(t *testing.T) {
	servers := harness.NewServers(harness.Config{Redis: testservers.Redis(t).Addr()})
	r := harness.RunExperiment(t.Context(), servers, harness.Experiment{Needs: []harness.Server{harness.RealRedis}, Cases: []harness.Case{harness.Right(rule, func(run *harness.Run) {
		wire := run.Proxy(run.RedisAddr())
		c := run.Client(wire.Addr())
		key := run.Key("n")
		run.Must(c.Incr(run.Ctx(), key).Err())
		wire.LoseReplies("incr", 1)
		require.Error(t, c.Incr(run.Ctx(), key).Err())
		require.Equal(t, 1, wire.Lost())
		run.Must(c.Incr(run.Ctx(), key).Err())
		n, err := run.Redis().Get(run.Ctx(), key).Int()
		run.Must(err)
		require.Equal(t, 3, n, "the server did what it was asked")

		wire.Stall()
		ctx, cancel := context.WithTimeout(run.Ctx(), 30*time.Millisecond)
		defer cancel()
		require.Error(t, c.Get(ctx, key).Err(), "nothing passes")
		wire.Resume()
		run.Must(c.Get(run.Ctx(), key).Err())
	})}})
	require.Empty(t, r.Failed)
	require.NoError(t, servers.Close())
}

func TestServer_Configured_IsLeftAsItWas(t *testing.T) {
	server := testservers.Redis(t)
	look := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { require.NoError(t, look.Close()) })
	before, err := look.DBSize(t.Context()).Result()
	require.NoError(t, err)
	servers := harness.NewServers(harness.Config{Redis: server.Addr(), MySQL: testservers.MariaDB(t).DSN("")})
	needs := []harness.Server{harness.Redis, harness.Database}
	r := harness.RunExperiment(t.Context(), servers, harness.Experiment{Needs: needs, Cases: []harness.Case{harness.Right(rule, func(run *harness.Run) {
		run.Tables("things (id INT PRIMARY KEY)")
		run.Must(run.Redis().Set(run.Ctx(), run.Key("lock"), "a", 0).Err())
		run.Exec("INSERT INTO things VALUES (1)")
	})}})
	require.Empty(t, r.Failed)
	require.NoError(t, servers.Close())
	after, err := look.DBSize(t.Context()).Result()
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func TestServer_SilentForAWhile_FailsNoStep(t *testing.T) {
	all := harness.NewServers(harness.Config{Redis: testservers.NewRedis(t).Addr()})
	r := harness.RunExperiment(t.Context(), all, harness.Experiment{
		Name: "test", Needs: []harness.Server{harness.Redis},
		Cases: []harness.Case{harness.Right(rule, func(run *harness.Run) {
			run.AtMost(rule, 0, func() int64 { return 0 })
			a := run.Actor("a", func(a *harness.Actor) {
				a.Lock("user:1")
				a.Unlock("user:1")
			})
			require.NoError(t, run.Redis().ClientPause(run.Ctx(), 1200*time.Millisecond).Err())
			run.Schedule(a.ToTheEnd())
		})},
	})
	require.NoError(t, all.Close())
	require.True(t, r.AsExpected(), r.Failed)
}
