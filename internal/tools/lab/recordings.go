package lab

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"example.com/seckill/internal/tools/lab/harness"
)

// recordings are a result of each experiment from real servers, an object a line, for machines that
// have none. `make recordings` makes them.
//
//go:embed recordings.jsonl
var recordings string

// Recording returns the recorded result of the experiment with that name.
func Recording(name string) (harness.Result, error) {
	e, err := Find(name)
	if err != nil {
		return harness.Result{}, err
	}
	for line := range strings.Lines(recordings) {
		var r harness.Result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return harness.Result{}, fmt.Errorf("recordings.jsonl: %w", err)
		}
		if r.Name == name {
			r.Title, r.Lesson, r.Wild = e.Title, e.Lesson, e.Wild
			r.Place, r.Asks = place(name), question(name)
			foldAll(r.Code) // as it is done now, however it was when it was recorded
			r.Translate()
			return r, nil
		}
	}
	return harness.Result{}, fmt.Errorf("%s has no recording: run make recordings", name)
}

// WithRecording returns r with the cases of the recording if the experiment could not be run, so that
// there is something to see. It is still not run, and the cases are marked as recorded.
func WithRecording(r harness.Result) (harness.Result, error) {
	if r.NotRun == nil {
		return r, nil
	}
	old, err := Recording(r.Name)
	if err != nil {
		return r, err
	}
	r.Cases, r.Servers, r.Recorded, r.Code, r.Place = old.Cases, old.Servers, old.Recorded, old.Code, old.Place
	return r, nil
}

// Record plays every experiment and writes its result, to be embedded. It fails if one is not as
// expected, or was not played in whole: a recording shows everything.
func Record(ctx context.Context, w io.Writer, servers *harness.Servers, now time.Time) error {
	var wrong error
	out := json.NewEncoder(w)
	results := RunAll(ctx, servers, All(), func(r harness.Result) {
		e, err := Find(r.Name)
		wrong = errors.Join(wrong, err, recordable(r))
		on, err := servers.Versions(ctx, e.Needs)
		wrong = errors.Join(wrong, err)
		r.Recorded = &harness.Recorded{At: now.UTC().Truncate(time.Second), On: on}
		r.Servers, r.Place, r.Asks = []harness.Text{}, nil, harness.Text{}
		r.Title, r.Lesson, r.Wild = harness.Text{}, harness.Text{}, harness.Text{} // as they are then
		for i := range r.Cases {
			r.Cases[i].Chinese = nil
		}
		wrong = errors.Join(wrong, out.Encode(r))
	})
	if len(results) < len(All()) {
		wrong = errors.Join(wrong, context.Cause(ctx))
	}
	return wrong
}

// recordable returns an error unless all that an experiment shows is in its result.
func recordable(r harness.Result) error {
	switch {
	case r.NotRun != nil:
		return fmt.Errorf("%s was not run: %s", r.Name, r.NotRun.EN)
	case !r.AsExpected():
		return fmt.Errorf("%s is not as expected: %s", r.Name, r.Failed)
	case slices.ContainsFunc(r.Cases, func(c harness.CaseResult) bool { return c.NotRun != nil }):
		return fmt.Errorf("%s has a case that these servers cannot show", r.Name)
	}
	return nil
}
