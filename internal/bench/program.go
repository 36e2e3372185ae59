package bench

import (
	"context"
	"os"
	"os/exec"
)

// command is a program in an environment of its own: no setting of whoever runs the
// bench may reach it. It outlives ctx, which is why it is not bound to it.
func command(ctx context.Context, dir, program string, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), program, args...) //nolint:gosec // built by ourselves
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}, env...)
	return cmd
}
