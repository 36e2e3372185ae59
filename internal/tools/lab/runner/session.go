package runner

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"example.com/seckill/internal/tools/lab"
	"example.com/seckill/internal/tools/lab/harness"
	"example.com/seckill/internal/tools/lab/report"
)

// Session plays experiments in a terminal.
type Session struct {
	Config   harness.Config // the servers
	Out      io.Writer
	HTML     string        // a page with every timeline is written to this file, if to any
	JSON     bool          // a JSON object an experiment
	Details  bool          // explanations and timelines, and not a row each
	Recorded bool          // nothing is run: what was recorded is shown
	Ask      bool          // what will be counted is asked before it is told
	Answers  *bufio.Reader // to what is asked
	Language string        // en or zh
}

// ErrHTML means that the page cannot be written where Session.HTML says.
var ErrHTML = errors.New("--html")

// Play plays the experiments, or shows their recordings, and reports whether every one of them was as
// expected.
func (s *Session) Play(ctx context.Context, experiments []lab.Experiment) (asExpected bool, err error) {
	var page *report.File
	if s.HTML != "" { // before the experiments, which take a while
		if page, err = report.NewFile(s.HTML); err != nil {
			return false, fmt.Errorf("%w: %w", ErrHTML, err)
		}
		defer page.Discard()
	}
	places := harness.NewServers(s.Config)
	defer func() { err = errors.Join(err, places.Close()) }()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var printErr error
	var results []harness.Result
	err = s.play(ctx, places, experiments, func(one harness.Result) {
		results = append(results, one)
		if printErr = s.print(one); printErr != nil {
			stop()
		}
	})
	switch {
	case err != nil:
		return false, err
	case printErr != nil:
		return false, printErr
	case ctx.Err() != nil:
		return false, errors.New("stopped before every experiment was played")
	}
	if page != nil {
		if err := page.Write(results); err != nil {
			return false, err
		}
	}
	if !s.JSON {
		report.Summary(s.Out, results, s.Config.Embedded, s.Language)
	}
	return !slices.ContainsFunc(results, func(one harness.Result) bool { return !one.AsExpected() }), nil
}

// play tells the result of each experiment: played here, or its recording.
func (s *Session) play(ctx context.Context, places *harness.Servers, experiments []lab.Experiment, tell func(harness.Result)) (err error) {
	if !s.Recorded {
		lab.RunAll(ctx, places, experiments, func(one harness.Result) {
			shown, missing := lab.WithRecording(one)
			err = errors.Join(err, missing)
			tell(shown)
		})
		return err
	}
	for _, e := range experiments {
		one, err := lab.Recording(e.Name)
		if err != nil {
			return err
		}
		tell(one)
		if ctx.Err() != nil {
			break
		}
	}
	return nil
}

// print shows a result as it was asked for.
func (s *Session) print(one harness.Result) error {
	switch {
	case s.JSON:
		return report.JSON(s.Out, one)
	case s.Ask:
		return report.Quiz(s.Out, s.Answers, one, s.Language)
	case s.Details:
		return report.Text(s.Out, one, s.Language)
	}
	return report.Row(s.Out, one, s.Language)
}
