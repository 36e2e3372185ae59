package servers

import (
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/system"
)

// A program may end on the first of two signals, and be reaped before it is told that it is gone.
func TestStop_ServerJustEnded_IsStopped(t *testing.T) {
	for name, end := range map[string]func(p *Process) error{"stop": (*Process).Stop, "kill": (*Process).Kill} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("true")
			system.Group(cmd)
			require.NoError(t, cmd.Run())
			gone := make(chan struct{})
			time.AfterFunc(20*time.Millisecond, func() { close(gone) })
			require.NoError(t, end(&Process{path: "true", cmd: cmd, gone: gone}))
			<-gone
		})
	}
}
