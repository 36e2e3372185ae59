// Package tool has what the main functions of tools share.
package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Main is the main function of a tool: it runs until it has ended, or has been told to by a signal and ended in order.
// An error is printed, and the exit code is 1 then.
func Main(name string, run func(ctx context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}

// WriteFile has a file written.
func WriteFile(file string, write func(io.Writer) error) error {
	f, err := os.Create(file)
	if err != nil {
		return err //nolint:wrapcheck // it names the file
	}
	return errors.Join(write(f), f.Close())
}
