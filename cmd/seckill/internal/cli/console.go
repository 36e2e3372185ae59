// Package cli has the parts that the commands of the program share. It defines their outputs and exit codes. It also
// defines how a signal ends a command, and how a command reports a mistake of the command line.
//
//	main ─▶ Stops.Watch ─▶ Console.Run ─▶ a command of cmd/seckill ─▶ exit code
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"example.com/seckill/internal/app"
	"example.com/seckill/internal/tools/rush"
)

// Console is a command's input, output and environment.
type Console struct {
	In       io.Reader // nil means an empty input
	Out, Err io.Writer
	Environ  []string
	Log      *app.LogWriter // writes to Err without waiting for its reader; nil in tests
	Stops    *Stops         // nil in tests

	// ArmFaults arms the fault points of this build that variables name, and returns the other variables. It is nil
	// in a build without fault points.
	ArmFaults func(environ []string) ([]string, error)
}

// arm returns the environment without the variables of fault points.
func (c Console) arm() ([]string, error) {
	if c.ArmFaults == nil {
		return c.Environ, nil
	}
	return c.ArmFaults(c.Environ)
}

// Input returns the reader of a user's answers. It is never nil.
func (c Console) Input() io.Reader {
	if c.In == nil {
		return strings.NewReader("")
	}
	return c.In
}

// LogOutput returns the writer of the log.
func (c Console) LogOutput() io.Writer {
	if c.Log == nil {
		return c.Err
	}
	return c.Log
}

// The exit codes.
const (
	ExitOK    = 0
	ExitFail  = 1 // the command failed, or an audit found a violation
	ExitUsage = 2 // the command line or the configuration is wrong
)

// ErrSilent is a failure that the command has already printed. rush.ErrViolated is another.
var ErrSilent = errors.New("failed")

// Usage marks err as a mistake of the command line or the configuration.
func Usage(err error) error { return app.Usage(err) }

// Run executes one command line and returns the exit code. It prints an error on one line.
func (c Console) Run(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetOut(c.Out)
	root.SetErr(c.Err)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, ErrSilent), errors.Is(err, rush.ErrViolated):
		return ExitFail
	case errors.As(err, new(*app.UsageError)):
		c.Complain(err.Error())
		return ExitUsage
	case ctx.Err() != nil && errors.Is(err, context.Canceled): // not the fault of a store
		c.Complain("stopped before it was done")
		return ExitFail
	}
	c.Complain(err.Error())
	return ExitFail
}

// Complain prints a message on one line, even if it joins several errors. The line follows the log. Like the log,
// Complain does not wait for a reader.
func (c Console) Complain(text string) {
	line := "seckill: " + strings.ReplaceAll(text, "\n", "; ")
	if c.Log == nil {
		_, _ = fmt.Fprintln(c.Err, line)
		return
	}
	c.Log.Last(line)
}
