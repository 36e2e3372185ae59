package api

import (
	"context"
	"errors"
	"net/http"
)

// Lab plays experiments, one at a time. Whatever it lists and finds is rendered as
// JSON.
type Lab interface {
	// List is every experiment, with what came of it if it was played.
	List() any
	// Start plays an experiment and returns at once: ErrNoExperiment, ErrUnderWay.
	Start(name string) error
	// Result is what came of an experiment, its timelines included: ErrNoExperiment also
	// if it was not played yet.
	Result(name string) (any, error)
}

// ErrNoExperiment means that there is no experiment of that name, or nothing to tell.
var ErrNoExperiment = errors.New("api: no such experiment")

type experimentPath struct{ name string }

func (r *experimentPath) read(in *input) {
	r.name = in.c.Param("name")
	if in.c.Request.Method == http.MethodPost {
		in.noBody()
	}
}

// lab is the part, or that there is no such route where there is no laboratory.
func (s *Server) lab() (Lab, error) {
	if s.deps.Lab == nil {
		return nil, errNoRoute
	}
	return s.deps.Lab, nil
}

type experiments struct {
	Experiments any `json:"experiments"`
}

func (s *Server) listExperiments(context.Context, nothing) (experiments, error) {
	lab, err := s.lab()
	if err != nil {
		return experiments{}, err
	}
	return experiments{lab.List()}, nil
}

func (s *Server) seeExperiment(_ context.Context, r experimentPath) (any, error) {
	lab, err := s.lab()
	if err != nil {
		return nil, err
	}
	return lab.Result(r.name)
}

// playing is an experiment that has begun.
type playing struct {
	Name string `json:"name"`
}

func (playing) writeHeader(http.Header) int { return http.StatusAccepted }

func (s *Server) runExperiment(_ context.Context, r experimentPath) (playing, error) {
	lab, err := s.lab()
	if err == nil {
		err = lab.Start(r.name)
	}
	return playing{r.name}, err
}
