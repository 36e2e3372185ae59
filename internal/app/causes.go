package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/platform/redisconn"
	"example.com/seckill/internal/store"
)

// The causes that are not of one of the two stores.
const (
	causeLock  = "lock"     // the lock's servers
	causeSlow  = "too_slow" // the budget of the request was spent
	causeOther = "other"
)

// causes has a text for each cause that makes an instance refuse requests or not be ready.
var causes = map[string]string{
	store.CauseReadOnly:    "the database is read-only",
	store.CauseFull:        "the database's disk is full",
	store.CauseMemory:      "the database's machine is out of memory",
	store.CauseConnections: "the database takes no more connections",
	store.CauseNoMajority:  "the database's node is not with the majority of its Galera cluster",
	store.CauseInterrupted: "the database breaks statements off",
	store.CauseAway:        "the database does not answer",
	store.CauseRejected:    "the database rejects a statement",

	redisconn.CauseOutOfMemory: "Redis is at maxmemory and takes no writes",
	redisconn.CauseReadOnly:    "Redis is a read-only replica",
	redisconn.CauseNotDurable:  "Redis cannot write to its disk and takes no writes",
	redisconn.CauseNoReplicas:  "Redis has fewer replicas than min-replicas-to-write and takes no writes",
	redisconn.CauseNoRight:     "the user of Redis lacks a right",
	redisconn.CauseNewerLayout: "a newer version of the program has loaded what is in Redis",
	redisconn.CauseAway:        "Redis does not answer",

	causeLock:  "the servers of the locks do not answer",
	causeSlow:  "it takes too long",
	causeOther: "of another cause",
}

// cause returns the key in causes of an error. Locks whose servers give no answer are no cause of Redis:
// they may be on other servers, and a connection that was refused does not say whose it was.
func cause(err error) string {
	if of := store.Cause(err); of != "" {
		return of
	}
	ofLock := errors.Is(err, lock.ErrUnavailable)
	if of := redisconn.Cause(err); of != "" && (of != redisconn.CauseAway || !ofLock) {
		return of
	}
	switch {
	case ofLock:
		return causeLock
	case errors.Is(err, context.DeadlineExceeded):
		return causeSlow
	}
	return causeOther
}

// observeUnavailable counts a request that a store has refused, and logs it. calmHandler logs warnings once per
// cause and minute. A statement that the database rejects may be a fault of the program, and is an error each time.
func (a *App) observeUnavailable(ctx context.Context, route string, err error) {
	of := cause(err)
	a.metrics.ObserveUnavailable(of)
	if of == store.CauseRejected {
		a.log.ErrorContext(ctx, "database rejected a statement", "route", route, "error", err)
		return
	}
	a.log.WarnContext(ctx, "requests refused because of a store", "cause", of, "route", route, "error", err)
}

// staleAfter is how long the heartbeat may fail, by a store that gives no answer, until the instance is
// not ready.
const staleAfter = 5 * time.Second

// writes knows by the heartbeat, which writes into the database and then into Redis once a second,
// whether the stores take writes.
type writes struct {
	mu     sync.Mutex
	last   time.Time // a heartbeat came through
	failed error     // the latest one; nil if it came through
}

// note notes the result of a heartbeat. A database that is not the one that Redis is loaded from has
// answered.
func (w *writes) note(err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil || errors.Is(err, coupon.ErrOtherDeployment) {
		w.last, w.failed = time.Now(), nil
		return
	}
	w.failed = err
}

// check returns an error that names the cause if writes do not come through: at once if a store says so,
// and after staleAfter if it says nothing. partial is a Cluster, of which the part that keeps the
// heartbeat may be away while the others sell.
func (w *writes) check(partial bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == nil {
		return nil
	}
	of := cause(w.failed)
	switch of {
	case redisconn.CauseAway:
		if partial || time.Since(w.last) < staleAfter {
			return nil
		}
	case store.CauseAway, store.CauseInterrupted, store.CauseRejected, causeSlow, causeOther:
		if time.Since(w.last) < staleAfter {
			return nil
		}
	}
	return fmt.Errorf("%s: %s, and the last write came through %s ago", of, causes[of], time.Since(w.last).Round(time.Second))
}
