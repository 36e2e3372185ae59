package demo

import (
	"context"
	"fmt"
	"time"

	"example.com/seckill/internal/app"
)

// viewerWait is how long a kept sale waits for the first page that follows it. The countdown starts with that page, so
// that a person who copies the address sees it.
const viewerWait = 60 * time.Second

// viewerPoll is the time between two looks for a page.
const viewerPoll = 50 * time.Millisecond

// awaitViewer returns when a page follows the sale, after viewerWait, or when ctx ends.
func (d *Demo) awaitViewer(ctx context.Context, watched func() bool) {
	ctx, cancel := context.WithTimeout(ctx, viewerWait)
	defer cancel()
	tick := time.NewTicker(viewerPoll)
	defer tick.Stop()
	for !watched() {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// countDown moves the begin of the sale to the end of a countdown that starts with the first page. It returns the
// begin.
func (d *Demo) countDown(ctx context.Context, s *app.Server) (begins time.Time, err error) {
	d.say("open the page: the sale begins %s after it, or in %s at the latest\n\n",
		d.StartsIn.Round(time.Second), (viewerWait + d.StartsIn).Round(time.Second))
	d.awaitViewer(ctx, s.Watched)
	begins = time.Now().Add(d.StartsIn)
	if err := s.MoveWindow(ctx, begins.Add(-time.Millisecond), begins.Add(window)); err != nil {
		return begins, fmt.Errorf("move the begin of the sale: %w", err)
	}
	return begins, nil
}
