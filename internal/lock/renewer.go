package lock

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// renewer watches over all leases of a Locker with one goroutine. The goroutine starts their
// renewals and notifies the holders of a loss. It never talks to the server itself, so a server
// that does not answer cannot delay the notification.
//
//	grant ──── 1/3: renew ──────────────────── end − margin: lost ──── end
//	              └─ confirmed: both moments move on
//	              └─ not held: lost at once
//	              └─ no answer: again, soon
type renewer struct {
	l *Locker

	mu      sync.Mutex
	heap    deadlineHeap
	alarm   time.Time     // when the goroutine wakes up next
	wake    chan struct{} // it has to check again before that
	stopped chan struct{} // the goroutine is gone; nil if it never was
	closing bool
	forced  bool
	reports sync.WaitGroup // of losses
}

// renewal is the part of a heldLease that the renewer maintains, under its mutex.
type renewal struct {
	index   int       // in the heap, −1 when not in it
	renewAt time.Time // zero while a renewal is under way
	loseAt  time.Time
}

func newRenewer(l *Locker) *renewer { return &renewer{l: l, wake: make(chan struct{}, 1)} }

// confirm reckons from the start of a call that the server has granted.
func (h *heldLease) confirm(start time.Time) {
	h.renewAt = start.Add(h.duration / 3)
	h.loseAt = start.Add(h.duration - margin(h.duration))
}

// add begins to watch over leases of one acquisition, unless the Locker is closed.
func (k *renewer) add(all ...*heldLease) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closing {
		return false
	}
	for _, h := range all {
		heap.Push(&k.heap, h)
	}
	if k.stopped == nil {
		k.stopped = make(chan struct{})
		go k.run()
	}
	k.wakeBefore(all[0].nextDeadline())
	return true
}

// remove takes h out of the watch, and reports whether h was still in it. Nothing renews h from
// then on.
func (k *renewer) remove(h *heldLease) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if h.index < 0 {
		return false
	}
	heap.Remove(&k.heap, h.index)
	if k.closing {
		k.wakeBefore(time.Time{})
	}
	return true
}

func (k *renewer) overdue(h *heldLease) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !time.Now().Before(h.loseAt)
}

// wakeBefore wakes the goroutine if it sleeps past t.
func (k *renewer) wakeBefore(t time.Time) {
	if !k.alarm.IsZero() && !t.Before(k.alarm) {
		return
	}
	k.alarm = t
	select {
	case k.wake <- struct{}{}:
	default:
	}
}

func (k *renewer) run() {
	defer close(k.stopped)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		next, lost, end := k.due(time.Now())
		k.lose(lost)
		if end {
			return
		}
		timer.Reset(next)
		select {
		case <-timer.C:
		case <-k.wake:
		}
	}
}

// lose notifies all holders first, because their leases end at the server soon. A log or a hook may
// be slow.
func (k *renewer) lose(lost []*heldLease) {
	lost = slices.DeleteFunc(lost, func(h *heldLease) bool { return !h.markLost() })
	for _, h := range lost {
		h.leave()
	}
	if len(lost) == 0 {
		return
	}
	k.reports.Go(func() {
		for _, h := range lost {
			h.reportLoss("not renewed in time")
		}
	})
}

// due starts the renewals that are due. It returns the lost leases, how long there is nothing to
// do, and whether the watch is over.
func (k *renewer) due(now time.Time) (next time.Duration, lost []*heldLease, end bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var renewals due
	for len(k.heap) > 0 {
		h := k.heap[0]
		if h.nextDeadline().After(now) {
			break
		}
		if !h.loseAt.After(now) {
			heap.Pop(&k.heap)
			lost = append(lost, h)
			continue
		}
		h.renewAt = time.Time{}
		heap.Fix(&k.heap, 0)
		if !k.closing {
			renewals.add(h)
		}
	}
	for _, batch := range renewals.batches {
		k.l.calls.Add(1) // not after closing, so never during Close's wait
		go k.renew(batch)
	}
	next = time.Hour
	if len(k.heap) > 0 {
		next = k.heap[0].nextDeadline().Sub(now)
	}
	if k.alarm.After(now) {
		// Short leases come and go. Keep an alarm that was set: otherwise every short lease would
		// wake the goroutine.
		next = min(next, k.alarm.Sub(now))
	}
	k.alarm = now.Add(next)
	return next, lost, k.closing && (len(k.heap) == 0 || k.forced)
}

// due groups the leases that are to be renewed, by acquisition.
type due struct {
	batches [][]*heldLease
	byToken map[string]int
}

func (d *due) add(h *heldLease) {
	i, ok := d.byToken[h.token]
	if !ok {
		if d.byToken == nil {
			d.byToken = map[string]int{}
		}
		i = len(d.batches)
		d.byToken[h.token], d.batches = i, append(d.batches, nil)
	}
	d.batches[i] = append(d.batches[i], h)
}

// renew makes one call for the leases of one acquisition. The answer counts only for leases that
// are still in the watch.
func (k *renewer) renew(batch []*heldLease) {
	defer k.l.calls.Done()
	start := time.Now()
	errs := k.l.renew(batch)
	again := time.Now()

	for i, h := range batch {
		switch renewed := k.renewed(h, start, again, errs[i]); {
		case renewed && errors.Is(errs[i], ErrNotHeld):
			h.lose("the server says: not yours")
		case renewed && errs[i] != nil:
			k.l.o.Logger.Debug("lock: renewal failed, trying again", "key", h.key, "err", errs[i])
		case renewed && k.l.o.Hooks.Renewed != nil:
			k.l.o.Hooks.Renewed()
		}
	}
}

// renewed sets the next deadline of a lease by the answer to its renewal, and reports
// whether it was still in the watch.
func (k *renewer) renewed(h *heldLease, start, now time.Time, err error) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case h.index < 0:
		return false
	case errors.Is(err, ErrNotHeld):
		heap.Remove(&k.heap, h.index)
		return true
	case err == nil:
		h.confirm(start)
	default:
		// The nearer the end, the sooner the next try.
		h.renewAt = now.Add(max(minLease, min(h.duration/20, h.loseAt.Sub(now)/2)))
	}
	heap.Fix(&k.heap, h.index)
	k.wakeBefore(h.nextDeadline())
	return true
}

// close ends the contexts of all holders and waits until the last is gone.
func (k *renewer) close(ctx context.Context) error {
	k.mu.Lock()
	k.closing = true
	holders := append([]*heldLease(nil), k.heap...)
	stopped := k.stopped
	k.wakeBefore(time.Time{})
	k.mu.Unlock()
	for _, h := range holders {
		h.end(ErrClosed)
	}
	if stopped == nil {
		return nil
	}
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
	}
	k.mu.Lock()
	k.forced = true
	left := len(k.heap)
	k.wakeBefore(time.Time{})
	k.mu.Unlock()
	<-stopped
	return fmt.Errorf("%d leases still held: %w", left, ctx.Err())
}

// deadlineHeap is a heap of leases. The lease that needs attention first is on top.
type deadlineHeap []*heldLease

func (h *heldLease) nextDeadline() time.Time {
	if h.renewAt.IsZero() || h.loseAt.Before(h.renewAt) {
		return h.loseAt
	}
	return h.renewAt
}

func (b deadlineHeap) Len() int           { return len(b) }
func (b deadlineHeap) Less(i, j int) bool { return b[i].nextDeadline().Before(b[j].nextDeadline()) }
func (b deadlineHeap) Swap(i, j int) {
	b[i], b[j] = b[j], b[i]
	b[i].index, b[j].index = i, j
}

func (b *deadlineHeap) Push(x any) {
	h := x.(*heldLease)
	h.index = len(*b)
	*b = append(*b, h)
}

func (b *deadlineHeap) Pop() any {
	old := *b
	h := old[len(old)-1]
	old[len(old)-1] = nil
	*b = old[:len(old)-1]
	h.index = -1
	return h
}
