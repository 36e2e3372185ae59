// Package runner plays the lab: a Runner for the page of the application, a Session in a terminal.
package runner

import (
	"context"
	"errors"
	"slices"
	"sync"

	"example.com/seckill/internal/api"
	"example.com/seckill/internal/tools/lab"
	"example.com/seckill/internal/tools/lab/harness"
	"example.com/seckill/internal/tools/lab/report"
)

// Runner shows the lab's experiments to the page. If it plays, it plays them one at a time, on private servers
// that it starts when the first experiment needs them. It implements api.Lab.
type Runner struct {
	plays   bool
	ctx     context.Context
	cancel  context.CancelFunc
	places  *harness.Servers
	running sync.WaitGroup
	shown   sync.Map // the recordings that were looked at, by name

	mu      sync.Mutex
	playing string
	results map[string]harness.Result
}

// New returns a Runner that has started nothing yet. A Runner that does not play has recordings only.
func New(plays bool) *Runner {
	ctx, cancel := context.WithCancel(context.Background())
	return &Runner{
		plays: plays, ctx: ctx, cancel: cancel,
		places: harness.NewServers(harness.Config{}), results: map[string]harness.Result{},
	}
}

// Plays reports whether the Runner plays experiments.
func (r *Runner) Plays() bool { return r.plays }

// experimentJSON is an experiment as the page lists it.
type experimentJSON struct {
	Name   string        `json:"name"`
	Group  harness.Text  `json:"group"`
	Title  harness.Text  `json:"title"`
	Lesson harness.Text  `json:"lesson"`
	Needs  []string      `json:"needs"`
	State  string        `json:"state"`
	Why    *harness.Text `json:"why,omitempty"`
}

// The states of an experiment.
const (
	stateNew        = "new"
	stateRunning    = "running"
	stateAsExpected = "as_expected"
	stateUnexpected = "unexpected"
	stateNotRun     = "not_run"
	stateFailed     = "failed"
)

// List returns all experiments, in the order in which they are best read.
func (r *Runner) List() any {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []experimentJSON
	for _, g := range lab.Groups() {
		for _, e := range g.Experiments {
			all = append(all, r.describe(e, g.Title))
		}
	}
	return all
}

// describe returns an experiment of a group as the page lists it.
func (r *Runner) describe(e harness.Experiment, group harness.Text) experimentJSON {
	line := experimentJSON{Name: e.Name, Group: group, Title: e.Title, Lesson: e.Lesson, Needs: needs(e)}
	if line.State, line.Why = r.state(e.Name); line.State == stateNew && r.plays {
		if none := (*harness.NoServerError)(nil); errors.As(hosts(e), &none) {
			line.Why = &none.Why // known before it is tried
		}
	}
	return line
}

// hosts returns an error if a server that the experiment needs is missing.
func hosts(e harness.Experiment) error {
	_, err := harness.Config{}.Hosts(e.Needs)
	return err
}

// needs returns the names of the servers that an experiment needs.
func needs(e harness.Experiment) []string {
	names := []string{}
	for _, s := range e.Needs {
		name := map[harness.Server]string{
			harness.Redis: "redis", harness.RealRedis: "redis", harness.OwnRedis: "redis", harness.Database: "database",
		}[s]
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// state returns the state of an experiment, and the reason if it was not run or failed.
func (r *Runner) state(name string) (state string, why *harness.Text) {
	result, played := r.results[name]
	switch {
	case r.playing == name:
		return stateRunning, nil
	case !played:
		return stateNew, nil
	case result.NotRun != nil:
		return stateNotRun, result.NotRun
	case result.Failed != "":
		failed := harness.NewText(result.Failed, result.Failed)
		return stateFailed, &failed
	case result.AsExpected():
		return stateAsExpected, nil
	}
	return stateUnexpected, nil
}

// Start starts an experiment, or returns api.ErrUnderWay. It must not be called if the Runner does not play.
func (r *Runner) Start(name string) error {
	e, err := lab.Find(name)
	if err != nil {
		return errors.Join(api.ErrNoExperiment, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.playing != "" {
		return api.ErrUnderWay
	}
	if err := r.ctx.Err(); err != nil {
		return err
	}
	r.playing = name
	r.running.Go(func() {
		result := lab.Play(r.ctx, r.places, e)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.playing, r.results[name] = "", result
	})
	return nil
}

// resultJSON is a result and its drawing in each language.
type resultJSON struct {
	harness.Result
	Drawing harness.Text  `json:"drawing"`
	Origin  *harness.Text `json:"origin,omitempty"` // of a recording

	Question *report.Question `json:"question,omitempty"`
}

// Result returns what became of an experiment, with its drawing. Of one that was not played or could
// not be run it is the recording.
func (r *Runner) Result(name string) (any, error) {
	r.mu.Lock()
	result, played := r.results[name]
	r.mu.Unlock()
	if played {
		result, err := lab.WithRecording(result)
		if err != nil {
			return nil, err
		}
		return drawn(result)
	}
	if shown, ok := r.shown.Load(name); ok { // visitors may ask for a recording at any rate
		return shown, nil
	}
	result, err := lab.Recording(name)
	if err != nil {
		return nil, errors.Join(api.ErrNoExperiment, err)
	}
	shown, err := drawn(result)
	if err == nil {
		r.shown.Store(name, shown)
	}
	return shown, err
}

// drawn returns a result with its drawing, its question, and where it was recorded.
func drawn(result harness.Result) (any, error) {
	en, err := report.Drawing(result, "en")
	if err != nil {
		return nil, err
	}
	zh, err := report.Drawing(result, "zh")
	seen := resultJSON{Result: result, Drawing: harness.NewText(en, zh)}
	if q, ok := report.Ask(result); ok {
		seen.Question = &q
	}
	if result.Recorded != nil {
		origin := harness.NewText(report.Origin(result, "en"), report.Origin(result, "zh"))
		seen.Origin = &origin
	}
	return seen, err
}

// Close ends the experiment that is running and stops the servers.
func (r *Runner) Close() error {
	r.cancel()
	r.running.Wait()
	return r.places.Close()
}
