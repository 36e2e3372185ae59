package rush

import (
	"sync"
	"time"
)

// Standing is how far a run has come. Each tap that was asked ends in one of Accepted,
// Refused and Failed.
type Standing struct {
	Taps     int // in the whole run
	Asked    int
	Accepted int
	Refused  int
	Failed   int
}

// tellEvery is the time between two tellings.
const tellEvery = 100 * time.Millisecond

// tellProgress tells until the function it returns is called, and then once more.
func (r *run) tellProgress() (done func()) {
	if r.Tell == nil {
		return func() {}
	}
	tell := func() {
		asked, accepted, refused, failed, _ := r.counts()
		r.Tell(Standing{Taps: r.taps(), Asked: asked, Accepted: accepted, Refused: refused, Failed: failed})
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(tellEvery)
		defer tick.Stop()
		for {
			tell()
			select {
			case <-tick.C:
			case <-stop:
				tell()
				return
			}
		}
	})
	return sync.OnceFunc(func() { close(stop); wg.Wait() })
}
