package main

import (
	"context"
	"errors"
	"slices"
	"sync"

	"seckill/internal/api"
	"seckill/internal/lab"
	"seckill/internal/lab/harness"
)

// theatre plays the lab's experiments for the page, one at a time, on private servers
// that are started when the first experiment needs them.
type theatre struct {
	ctx     context.Context
	cancel  context.CancelFunc
	places  *harness.Servers
	running sync.WaitGroup

	mu      sync.Mutex
	playing string
	results map[string]harness.Result
}

func newTheatre() *theatre {
	ctx, cancel := context.WithCancel(context.Background())
	return &theatre{ctx: ctx, cancel: cancel, places: harness.NewServers(harness.Config{}), results: map[string]harness.Result{}}
}

// experiment is a line of the programme.
type experiment struct {
	Name   string        `json:"name"`
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

// List is the programme, in the order in which it is best read.
func (th *theatre) List() any {
	th.mu.Lock()
	defer th.mu.Unlock()
	var all []experiment
	for _, e := range lab.All() {
		line := experiment{Name: e.Name, Title: e.Title, Lesson: e.Lesson, Needs: needs(e)}
		if line.State, line.Why = th.state(e.Name); line.State == stateNew {
			if none := (*harness.NoServerError)(nil); errors.As(hosts(e), &none) {
				line.Why = &none.Why // told before anybody tries
			}
		}
		all = append(all, line)
	}
	return all
}

// hosts says whether there is what an experiment runs on.
func hosts(e harness.Experiment) error {
	_, err := harness.Config{}.Hosts(e.Needs)
	return err
}

// needs names the servers as people do.
func needs(e harness.Experiment) []string {
	names := []string{}
	for _, s := range e.Needs {
		name := map[harness.Server]string{harness.Redis: "redis", harness.RealRedis: "redis", harness.OwnRedis: "redis", harness.Database: "database"}[s]
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// state says what came of an experiment, and why nothing did.
func (th *theatre) state(name string) (state string, why *harness.Text) {
	r, played := th.results[name]
	switch {
	case th.playing == name:
		return stateRunning, nil
	case !played:
		return stateNew, nil
	case r.NotRun != nil:
		return stateNotRun, r.NotRun
	case r.Failed != "":
		failed := harness.NewText(r.Failed, r.Failed)
		return stateFailed, &failed
	case r.AsExpected():
		return stateAsExpected, nil
	}
	return stateUnexpected, nil
}

// Start plays an experiment.
func (th *theatre) Start(name string) error {
	e, err := lab.Find(name)
	if err != nil {
		return errors.Join(api.ErrNoExperiment, err)
	}
	th.mu.Lock()
	defer th.mu.Unlock()
	if th.playing != "" {
		return api.ErrUnderWay
	}
	if err := th.ctx.Err(); err != nil {
		return err
	}
	th.playing = name
	th.running.Go(func() {
		r := harness.RunExperiment(th.ctx, th.places, e)
		th.mu.Lock()
		defer th.mu.Unlock()
		th.playing, th.results[name] = "", r
	})
	return nil
}

// Result is what came of it, with its timelines.
func (th *theatre) Result(name string) (any, error) {
	th.mu.Lock()
	defer th.mu.Unlock()
	r, played := th.results[name]
	if !played {
		return nil, api.ErrNoExperiment
	}
	return r, nil
}

// close ends what is being played and stops the servers.
func (th *theatre) close(context.Context) error {
	th.cancel()
	th.running.Wait()
	return th.places.Close()
}
