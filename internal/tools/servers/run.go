package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"example.com/seckill/internal/platform/system"
)

// run runs a program to its end, with its output in the log and env added to our own environment. If ctx ends first,
// it kills the program and its children.
func run(ctx context.Context, log string, env []string, path string, args ...string) error {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the log of %s: %w", path, err)
	}
	defer func() { _ = out.Close() }() // the child has its own
	cmd := exec.Command(path, args...) //nolint:noctx // the whole group is killed below, not the program alone
	cmd.Stdout, cmd.Stderr = out, out
	cmd.Env = append(os.Environ(), env...)
	gone, err := theForker.start(cmd)
	if err != nil {
		return err
	}
	select {
	case <-gone:
	case <-ctx.Done():
		err = errors.Join(context.Cause(ctx), system.SignalGroup(cmd.Process.Pid, syscall.SIGKILL))
		<-gone
	}
	if err == nil && !cmd.ProcessState.Success() {
		err = errors.New(cmd.ProcessState.String())
	}
	if err != nil {
		return withLog(fmt.Errorf("run %s: %w", path, err), log, 0)
	}
	return nil
}
