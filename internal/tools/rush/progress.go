package rush

import "time"

// Progress is how far a run has come. Each tap that was sent ends in one of Accepted,
// Refused and Failed.
type Progress struct {
	Taps     int // in the whole run
	Asked    int
	Accepted int
	Refused  int
	Failed   int
}

// progressEvery is the time between two calls of OnProgress.
const progressEvery = 100 * time.Millisecond

// reportProgress calls OnProgress at once and then now and then until the function that it returns is called, and then
// once more.
func (r *run) reportProgress() (done func()) {
	if r.OnProgress == nil {
		return func() {}
	}
	report := func() {
		asked, accepted, refused, failed, _, _ := r.counts()
		r.OnProgress(Progress{Taps: r.taps(), Asked: asked, Accepted: accepted, Refused: refused, Failed: failed})
	}
	report()
	return repeatedly(progressEvery, report, report)
}
