// Command seckill is a flash sale of coupons: the application, its load generator
// and its auditor in one program.
//
//	main ─▶ run ─▶ one file per command ─▶ internal/app
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"seckill/internal/app"
	"seckill/internal/rush"
)

func main() {
	c := console{in: os.Stdin, out: os.Stdout, err: os.Stderr, environ: os.Environ(), log: app.NewLogWriter(os.Stderr), stops: new(stops)}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup has asked for that
		signal.Notify(signals, syscall.SIGHUP)
	}
	ctx := c.stops.watch(context.Background(), signals, func(undone string) {
		c.complain("ended at once by a second signal: " + undone)
		os.Exit(exitFail)
	})
	code := run(ctx, os.Args[1:], c)
	c.log.Close()
	os.Exit(code)
}

// console is a command's output and environment.
type console struct {
	in       io.Reader // nil has nothing to read
	out, err io.Writer
	environ  []string
	log      *app.LogWriter // of err, for what must not wait; nil in tests
	stops    *stops         // nil in tests
}

// input is where answers are read.
func (c console) input() io.Reader {
	if c.in == nil {
		return strings.NewReader("")
	}
	return c.in
}

// logOutput is where the log goes.
func (c console) logOutput() io.Writer {
	if c.log == nil {
		return c.err
	}
	return c.log
}

// The exit codes.
const (
	exitOK    = 0
	exitFail  = 1 // it failed, or an audit found a violation
	exitUsage = 2 // the command line or the configuration is wrong
)

// errSilent is a failure that the command has printed already, as rush.ErrViolated is.
var errSilent = errors.New("failed")

// run executes one command line, prints an error on one line and returns the exit code.
func run(ctx context.Context, args []string, c console) int {
	root := newRoot(c)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errSilent), errors.Is(err, rush.ErrViolated):
		return exitFail
	case errors.As(err, new(*app.UsageError)):
		c.complain(err.Error())
		return exitUsage
	case ctx.Err() != nil && errors.Is(err, context.Canceled): // not the fault of a store
		c.complain("stopped before it was done")
		return exitFail
	}
	c.complain(err.Error())
	return exitFail
}

// complain prints a message on one line, however many errors were joined. It comes after the log, and
// as the log it does not wait for a reader.
func (c console) complain(text string) {
	line := "seckill: " + strings.ReplaceAll(text, "\n", "; ")
	if c.log == nil {
		_, _ = fmt.Fprintln(c.err, line)
		return
	}
	c.log.Last(line)
}
