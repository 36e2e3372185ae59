// Command seckill is a flash sale of coupons: the application, its load generator
// and its auditor in one program.
//
//	main ─▶ root.go ─▶ one file per command ─▶ internal/app
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"example.com/seckill/cmd/seckill/internal/cli"
	"example.com/seckill/internal/app"
)

func main() {
	c := cli.Console{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Environ: os.Environ(), Log: app.NewLogWriter(os.Stderr), Stops: new(cli.Stops),
		ArmFaults: armFaults,
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup has asked for that
		signal.Notify(signals, syscall.SIGHUP)
	}
	ctx := c.Stops.Watch(context.Background(), signals, func(undone string) {
		c.Complain("ended at once by a second signal: " + undone)
		os.Exit(cli.ExitFail)
	})
	code := run(ctx, os.Args[1:], c)
	c.Log.Close()
	os.Exit(code)
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, c cli.Console) int { return c.Run(ctx, newRoot(c), args) }
