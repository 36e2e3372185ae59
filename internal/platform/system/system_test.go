package system_test

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/system"
)

func TestUnsupportedError_Message_NamesSystemThingAndInstead(t *testing.T) {
	err := error(&system.UnsupportedError{Thing: "starting a private Redis", Instead: "use --recorded"})
	require.EqualError(t, err, runtime.GOOS+" does not support starting a private Redis: use --recorded")
	require.ErrorIs(t, err, errors.ErrUnsupported)
}

func TestFreeBytes_FolderThatIsMissing_ReturnsError(t *testing.T) {
	free, err := system.FreeBytes(t.TempDir())
	require.NoError(t, err)
	require.Positive(t, free)
	_, err = system.FreeBytes(t.TempDir() + "/none")
	require.ErrorContains(t, err, "read the free space of ")
}

func TestDescriptorLimit_OfThisProcess_IsPositive(t *testing.T) {
	require.Positive(t, system.DescriptorLimit())
}

func TestIsColourTerminal_RegularFile_ReportsFalse(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	require.False(t, system.IsColourTerminal(f))
}

// The parent and its child share a pipe. The pipe closes when both have ended.
func TestSignalGroup_ProgramWithChild_EndsBoth(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$")
	cmd.Env = append(os.Environ(), child+"=parent")
	system.Group(cmd)
	system.EndWithParent(cmd)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	started := make([]byte, 1)
	_, err = out.Read(started) // the child has written
	require.NoError(t, err)
	require.NoError(t, system.SignalGroup(cmd.Process.Pid, syscall.SIGKILL))
	ended := make(chan struct{})
	go func() {
		for buffer := make([]byte, 64); ; {
			if _, err := out.Read(buffer); err != nil {
				close(ended)
				return
			}
		}
	}()
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the child lives and holds the pipe")
	}
	require.Error(t, cmd.Wait())
}

const child = "SYSTEM_TEST_CHILD"

// TestChild is the program of TestSignalGroup_ProgramWithChild_EndsBoth, and its child.
func TestChild(*testing.T) {
	switch os.Getenv(child) {
	case "parent":
		cmd := exec.Command(os.Args[0], "-test.run=^TestChild$")
		cmd.Env = append(os.Environ(), child+"=child")
		cmd.Stdout = os.Stdout
		_ = cmd.Run()
	case "child":
		_, _ = os.Stdout.WriteString("x")
		time.Sleep(time.Hour)
	}
}
