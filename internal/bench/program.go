package bench

import (
	"context"
	"os/exec"

	"seckill/internal/testbed/servers"
)

// command returns a program in an environment of its own, out of reach of the settings around the
// benchmark. It outlives ctx, so it is not bound to it.
func command(ctx context.Context, dir, program string, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, args...) //nolint:gosec // built by this package
	cmd.Dir = dir
	cmd.Env = servers.Environ(dir, env...)
	return cmd
}
