package api

import (
	"context"
	"errors"
	"net/http"
)

// Lab shows experiments. If it can, it also plays them, one at a time. The results of List and Result are encoded as
// JSON.
type Lab interface {
	// Plays reports whether Start is allowed. Without it, all results are recordings.
	Plays() bool
	// List returns every experiment, with its result if it was played.
	List() any
	// Start plays an experiment and returns at once; it returns ErrNoExperiment or ErrUnderWay.
	Start(name string) error
	// Result returns the result of an experiment with its timelines, or a recorded one if it was not
	// played yet; it returns ErrNoExperiment if there is none.
	Result(name string) (any, error)
}

// ErrNoExperiment means that no experiment has that name, or that it has no result.
var ErrNoExperiment = errors.New("api: no such experiment")

type experimentPath struct{ name string }

func (r *experimentPath) read(in *input) {
	r.name = in.c.Param("name")
	if in.c.Request.Method == http.MethodPost {
		in.noBody()
	}
}

// lab returns the laboratory, or errNoRoute on a server without one.
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

// playing is the response to an experiment that has begun.
type playing struct {
	Name string `json:"name"`
}

func (playing) writeHeader(http.Header) int { return http.StatusAccepted }

func (s *Server) runExperiment(_ context.Context, r experimentPath) (playing, error) {
	lab, err := s.lab()
	switch {
	case err != nil:
	case !lab.Plays():
		err = errNoRoute
	default:
		err = lab.Start(r.name)
	}
	return playing{r.name}, err
}
