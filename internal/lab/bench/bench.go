package bench

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// Bench is where one case is played.
type Bench struct {
	ctx    context.Context
	places *Places
	rec    *recorder
	prefix string // of every key, so that a server that is not ours is left as it was

	actors    []*Actor
	running   sync.WaitGroup
	rules     []*rule
	told      []Number
	inside    atomic.Int64
	stuck     atomic.Int64
	mayStick  bool
	needsReal bool

	mu       sync.Mutex // of stops
	redis    *redis.Client
	db       *sql.DB
	observer *sql.Conn // asks the server who waits
	holders  sync.Map  // lock key ─▶ the actor who took it last and has not given it up
	network  *Wire     // in front of the database
	stops    []func()
}

// Ctx ends with the case.
func (b *Bench) Ctx() context.Context { return b.ctx }

// Key is a name that no other experiment uses.
func (b *Bench) Key(name string) string { return b.prefix + name }

// OnStop adds what is to be done when the case is over, the last first.
func (b *Bench) OnStop(stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stops = append(b.stops, stop)
}

// Must ends the case if err is not nil: it cannot be played.
func (b *Bench) Must(err error) {
	if err != nil {
		panic(stopped{err})
	}
}

// caseLimit bounds one case.
const caseLimit = time.Minute

// playCase plays one case to its end, whatever happens in it.
func playCase(ctx context.Context, places *Places, c Case, needs []Server) (CaseResult, error) {
	ctx, cancel := context.WithTimeout(ctx, caseLimit)
	defer cancel()
	b := &Bench{ctx: ctx, places: places, rec: newRecorder(), prefix: "lab-" + strings.ToLower(rand.Text()[:8]) + ":"}
	result := CaseResult{Label: c.Label, Wrong: c.Wrong}
	failed := b.played(func() {
		b.connect(needs)
		c.Play(b)
		result.Numbers, result.Anomaly = b.judge()
	})
	cancel() // whoever is still on the stage leaves it
	drained := make(chan struct{})
	go func() { b.running.Wait(); close(drained) }()
	for done := false; !done; {
		select {
		case <-drained:
			done = true
		default:
			for _, a := range b.actors {
				select {
				case <-a.news:
				case <-time.After(time.Millisecond):
				}
			}
		}
	}
	for _, stop := range slices.Backward(b.stops) {
		stop()
	}
	for _, a := range b.actors {
		result.Actors = append(result.Actors, a.Name)
	}
	result.Events, result.Spans = b.rec.events, b.rec.spans
	result.translate()
	if skip := (*skipError)(nil); errors.As(failed, &skip) {
		result.NotRun = &skip.why
		return result, nil
	}
	return result, failed
}

// connect opens what the actors share, before there are any.
func (b *Bench) connect(needs []Server) {
	b.needsReal = slices.Contains(needs, RealRedis)
	if b.needsReal || slices.Contains(needs, Redis) {
		b.Redis()
	}
	if slices.Contains(needs, Database) {
		b.DB()
	}
}

// played runs the play, and gives the error that ended it.
func (b *Bench) played(play func()) (err error) {
	defer func() {
		switch end := recover().(type) {
		case nil:
		case stopped:
			if err = end.err; err == nil {
				err = errors.New("the case ended early")
			}
		default:
			panic(end)
		}
	}()
	play()
	return nil
}
