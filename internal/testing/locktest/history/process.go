package history

import (
	"context"
	"errors"
	"sync"
	"time"

	"example.com/seckill/internal/lock"
)

// process wraps the backend of a Locker as a simulated process. The tests can stop it for a while, as a whole,
// or kill it. A killed process makes no more calls. Every process records facts that the clients cannot know.
type process struct {
	lock.Backend
	b    *book
	slot int

	mu     sync.Mutex
	dead   bool
	awake  chan struct{}       // closed unless the process is stopped
	fences map[[2]string]int64 // by key and token
}

// wakingProcess is a process whose backend can signal a release.
type wakingProcess struct {
	*process
	lock.Notifier
}

func newProcess(backend lock.Backend, b *book, slot int) (*process, lock.Backend) {
	p := &process{Backend: backend, b: b, slot: slot, awake: make(chan struct{}), fences: map[[2]string]int64{}}
	close(p.awake)
	n, wakes := backend.(lock.Notifier)
	m, batches := backend.(lock.Batcher)
	o, hands := backend.(lock.Handoffer)
	switch {
	case wakes && batches && hands:
		return p, batchingProcess{wakingProcess{p, n}, m, o}
	case wakes:
		return p, wakingProcess{p, n}
	}
	return p, p
}

var errKilled = errors.New("the process was killed")

func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead = true
}

// stop stops the process for d. It blocks the caller for that time.
func (p *process) stop(d time.Duration) {
	p.mu.Lock()
	mine := make(chan struct{})
	before := p.awake
	p.awake = mine
	p.mu.Unlock()
	time.Sleep(d)
	<-before
	close(mine)
}

// passes waits while the process is stopped, and returns errKilled if it is dead. It has no context: a stopped
// process heeds none.
func (p *process) passes() error {
	p.mu.Lock()
	awake := p.awake
	p.mu.Unlock()
	<-awake
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return errKilled
	}
	return nil
}

func (p *process) Acquire(ctx context.Context, key, token string, lease time.Duration) (lock.Grant, error) {
	call := time.Now()
	if err := p.passes(); err != nil {
		return lock.Grant{}, err
	}
	grant, err := p.Backend.Acquire(ctx, key, token, lease)
	p.acquired(key, token, lease, call, grant, err)
	if err := p.passes(); err != nil {
		return lock.Grant{}, err
	}
	return grant, err
}

// acquired records the answer of the server to an acquire.
func (p *process) acquired(key, token string, lease time.Duration, call time.Time, grant lock.Grant, err error) {
	end := time.Now()
	switch {
	case err == nil:
		fence := int64(grant.Fence)
		p.mu.Lock()
		p.fences[[2]string{key, token}] = fence
		p.mu.Unlock()
		p.b.change(tenureID{key, fence}, func(t *tenure) {
			t.confirmed, t.touched, t.granted = call, end, [2]time.Time{call, end}
		})
	case !errors.Is(err, lock.ErrHeld):
		p.b.unanswered(p.slot, key, lease, call, end)
	}
}

func (p *process) Renew(ctx context.Context, key, token string, lease time.Duration) error {
	call := time.Now()
	if err := p.passes(); err != nil {
		return err
	}
	err := p.Backend.Renew(ctx, key, token, lease)
	p.renewed(key, token, call, err)
	if err := p.passes(); err != nil {
		return err
	}
	return err
}

func (p *process) renewed(key, token string, call time.Time, err error) {
	end := time.Now()
	p.change(key, token, func(t *tenure) {
		t.touched = end
		if err == nil {
			t.confirmed = call
		}
	})
}

// Release makes the call and records it.
func (p *process) Release(ctx context.Context, key, token string) error {
	if err := p.passes(); err != nil {
		return err
	}
	call := time.Now()
	err := p.Backend.Release(ctx, key, token)
	p.released(key, token, call, err)
	return err
}

// released records the answer of the server to a release. A release without an answer may have freed the key.
// The lease may then have ended at that call, regardless of the answer to a later release. If the release did
// free the key, its holder may get an error for a lost lease.
func (p *process) released(key, token string, call time.Time, err error) {
	p.change(key, token, func(t *tenure) {
		if errors.Is(err, lock.ErrNotHeld) {
			t.refused = true
			return
		}
		t.doubtful = t.doubtful || err != nil
		if t.asked.IsZero() {
			t.asked = call
		}
	})
}

// change updates the record of the tenure that the server granted to token, if there is one.
func (p *process) change(key, token string, f func(*tenure)) {
	p.mu.Lock()
	fence, granted := p.fences[[2]string{key, token}]
	p.mu.Unlock()
	if granted {
		p.b.change(tenureID{key, fence}, f)
	}
}
