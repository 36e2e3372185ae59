package e2e_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/system"
)

// terminal is a shell that a reader types into.
type terminal struct {
	in  io.Writer
	out *bufio.Reader
}

// open opens one in a folder, with the program as seckill, and nothing of this environment.
func open(t *testing.T, folder string) *terminal {
	t.Helper()
	cmd := exec.Command("bash", "--norc")
	cmd.Dir = folder
	cmd.Env = []string{"PATH=" + os.Getenv("PATH") + ":/usr/sbin", "HOME=" + folder, "TMPDIR=" + os.TempDir(), "GORACE=atexit_sleep_ms=0"}
	system.EndWithParent(cmd)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		assert.NoError(t, in.Close())
		assert.NoError(t, cmd.Wait())
	})
	s := &terminal{in: in, out: bufio.NewReader(out)}
	s.types(t, "exec 2>&1; set -o pipefail; seckill() { "+plain+` "$@"; }`)
	return s
}

// types types a line, and returns what it says; it must end well.
func (s *terminal) types(t *testing.T, line string) string {
	t.Helper()
	const done = "\x04 done "
	_, err := fmt.Fprintf(s.in, "%s\nprintf '\\n%s%%d\\n' $?\n", line, done)
	require.NoError(t, err)
	var said strings.Builder
	for {
		text, err := s.out.ReadString('\n')
		require.NoError(t, err, "%s\n%s", line, said.String())
		if code, is := strings.CutPrefix(text, done); is {
			require.Equal(t, "0\n", code, "%s\n%s", line, said.String())
			require.NotContains(t, said.String(), "DATA RACE")
			return strings.TrimSuffix(said.String(), "\n")
		}
		said.WriteString(text)
	}
}

// variables are those of the program.
func (s *terminal) variables(t *testing.T) (env []string) {
	t.Helper()
	for line := range strings.Lines(s.types(t, "env")) {
		if strings.HasPrefix(line, "SECKILL_") {
			env = append(env, strings.TrimSuffix(line, "\n"))
		}
	}
	require.NotEmpty(t, env)
	return env
}
