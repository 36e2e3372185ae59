package history

import (
	"cmp"
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/testing/faultnet"
	"example.com/seckill/internal/testing/testservers"
)

// Options are the settings of one history.
type Options struct {
	// Server is the host and port of the server. Dial gets the address of a proxy in front of it.
	Server string
	// Dial makes a backend with separate connections, like another process.
	Dial func(t testing.TB, addr string) lock.Backend
	// Flush makes the server lose all data. Nil: the server loses no data.
	Flush func(t testing.TB)
	// InTurn means that the server may reject callers whose turn has not come, although the key is free.
	InTurn bool
	// Lease is the duration of every lease. Default 400 ms.
	Lease time.Duration
	// For is how long the clients run. Default 2 s.
	For time.Duration
	// Timeout is the timeout of every call. Default 200 ms.
	Timeout time.Duration
	Exceptions
}

// Exceptions are the differences between a backend and a perfect lock. Any other difference fails the check.
type Exceptions struct {
	// Late is how much later than necessary the server may end a lease that is not renewed, because the server
	// counts in seconds or in ticks.
	Late time.Duration
	// Session means that a lease may end at any moment, with its connection, and that its holder learns of the
	// end afterwards.
	Session bool
}

// SeedVariable is the environment variable that repeats the plan of one history.
const SeedVariable = "LOCK_HISTORY_SEED"

const (
	processes    = 3
	perProcess   = 2
	checkTimeout = 20 * time.Second // for the checker; longer is a failure
)

// run is one history in progress.
type run struct {
	t        testing.TB
	o        Options
	keys     []string
	b        *book
	register *register
	slots    []*slot
}

// Check makes a history and compares it with a perfect lock. It fails the test if no perfect lock could have
// given these answers, or if the checker cannot decide.
func Check(t testing.TB, o Options) {
	t.Helper()
	o.Lease = cmp.Or(o.Lease, 400*time.Millisecond)
	o.For = cmp.Or(o.For, 2*time.Second)
	o.Timeout = cmp.Or(o.Timeout, 200*time.Millisecond)
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv(SeedVariable); text != "" {
		var err error
		seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, SeedVariable)
	}
	t.Logf("to repeat this plan: %s=%d", SeedVariable, seed)
	name := strconv.FormatUint(seed, 36)
	r := &run{
		t: t, o: o, b: newBook(o.Exceptions), register: &register{seen: map[string]int64{}},
		keys: []string{"history:" + name + ":a", "history:" + name + ":b", "history:" + name + ":c"},
	}
	r.live(seed)
	r.judge(r.b.close(o.Lease))
}

// patience is the extra time that a busy machine may take to give a free key to the last client.
const patience = 30 * time.Second

// live runs the clients and the faults of the network. At the end, a last client must find every key free.
func (r *run) live(seed uint64) {
	dice := func(n uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, n)) }
	ctx, cancel := context.WithTimeout(context.Background(), r.o.For)
	defer cancel()
	var all sync.WaitGroup
	for i := range processes {
		s := newSlot(r, i)
		r.slots = append(r.slots, s)
		all.Go(func() { s.trouble(ctx, dice(uint64(100+i))) })
		for j := range perProcess {
			c := &client{run: r, id: i*perProcess + j, slot: s, dice: dice(uint64(i*perProcess + j))}
			all.Go(func() { c.live(ctx) })
		}
	}
	if r.o.Flush != nil {
		all.Go(func() { r.loseData(ctx, dice(200)) })
	}
	all.Wait()
	last := &client{run: r, id: processes * perProcess, slot: newSlot(r, processes), dice: dice(300)}
	for _, key := range r.keys {
		var err error
		for end := time.Now().Add(memory + 2*r.o.Lease + r.o.Late + patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if err = last.tryOnce(context.Background(), key, r.o.Lease); err == nil {
				break
			}
		}
		require.NoError(r.t, err, "in the end the key must be free")
	}
	last.slot.close()
	for _, s := range r.slots {
		s.close()
	}
}

func (r *run) loseData(ctx context.Context, dice *rand.Rand) {
	for range 2 {
		pass(ctx, r.o.For/4+time.Duration(dice.Int64N(int64(r.o.For/4))))
		call := time.Now()
		r.o.Flush(r.t)
		for _, key := range r.keys {
			r.b.note(0, event{kind: flushed, key: key}, call, time.Now())
		}
	}
}

func (r *run) judge(all []porcupine.Operation) {
	r.t.Helper()
	counts := map[kind]int{}
	for _, o := range all {
		counts[o.Input.(event).kind]++
	}
	r.t.Logf("%d operations: %v", len(all), counts)
	verdict, info := porcupine.CheckOperationsVerbose(model, all, checkTimeout)
	if verdict == porcupine.Ok {
		return
	}
	for _, partition := range info.PartialLinearizationsOperations() {
		longest := slices.MaxFunc(partition, func(a, b []porcupine.Operation) int { return len(a) - len(b) })
		if left := unexplained(all, longest); len(left) > 0 {
			r.t.Logf("explained up to:\n\t%s\nand not, for instance:\n\t%s",
				strings.Join(tail(longest, 12), "\n\t"), strings.Join(tail(left[:min(12, len(left))], 12), "\n\t"))
		}
	}
	r.t.Fatalf("%s: no perfect lock answers so", verdict)
}

// unexplained returns the operations of all that have the same key as some and are not in some, the earliest
// first.
func unexplained(all, some []porcupine.Operation) (left []porcupine.Operation) {
	if len(some) == 0 {
		return nil
	}
	for _, o := range all {
		if o.Input.(event).key == some[0].Input.(event).key && !slices.Contains(some, o) {
			left = append(left, o)
		}
	}
	slices.SortFunc(left, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	return left
}

// slot holds one process. If a client kills the process, the slot starts another.
type slot struct {
	r     *run
	id    int
	proxy *faultnet.Proxy

	mu      sync.Mutex
	locker  *lock.Locker
	process *process
	past    []*lock.Locker
}

func newSlot(r *run, id int) *slot {
	s := &slot{r: r, id: id, proxy: testservers.Proxy(r.t, r.o.Server)}
	s.start()
	return s
}

func (s *slot) start() {
	p, backend := newProcess(s.r.o.Dial(s.r.t, s.proxy.Addr()), s.r.b, s.id)
	l, err := lock.New(backend, lock.Options{
		Lease: s.r.o.Lease, Poll: 20 * time.Millisecond, Timeout: s.r.o.Timeout, Logger: quiet,
	})
	require.NoError(s.r.t, err)
	s.locker, s.process = l, p
	s.past = append(s.past, l)
}

func (s *slot) present() (*lock.Locker, *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.locker, s.process
}

// kill kills a process and starts its replacement.
func (s *slot) kill(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.kill()
	if s.process == p {
		s.start()
	}
}

func (s *slot) close() {
	for _, l := range s.past {
		ctx, cancel := context.WithTimeout(context.Background(), memory+2*s.r.o.Lease+5*time.Second)
		require.NoError(s.r.t, l.Close(ctx))
		cancel()
	}
}
