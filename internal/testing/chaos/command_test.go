package chaos_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/platform/system"
	"example.com/seckill/internal/testing/chaos"
	"example.com/seckill/internal/testing/testservers"
)

// seckill prepares a run of the program. Whatever it leaves behind is in dir.
func seckill(t *testing.T, dir string, args ...string) (cmd *exec.Cmd, out, complaints *bytes.Buffer) {
	t.Helper()
	cmd = exec.Command(program, args...)
	cmd.Args[0] = "seckill"
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}
	system.EndWithParent(cmd)
	out, complaints = &bytes.Buffer{}, &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, complaints
	return cmd, out, complaints
}

func TestChaosCommand_Rounds_AreReportedAndAddUp(t *testing.T) {
	testservers.Need(t, testservers.Servers)
	dir := t.TempDir()
	for run := 1; run <= 2; run++ {
		cmd, out, complaints := seckill(t, dir, "chaos", "--fault", "^nothing$", "--requests", "60", "--seed", "7",
			"--json", "--html", "report.html", "--log", "runs.jsonl")
		require.NoError(t, cmd.Run(), complaints.String())
		var sum chaos.Summary
		require.NoError(t, json.Unmarshal(out.Bytes(), &sum), out.String())
		assert.Equal(t, run, sum.Total.Rounds)
		assert.GreaterOrEqual(t, sum.Total.Acknowledged, 20*run, "every unit is sold")
		assert.Equal(t, sum.Total.Acknowledged, sum.Total.Committed)
		assert.Zero(t, sum.Failed)
		assert.Contains(t, complaints.String(), "seed 7")
	}
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "every promise was kept in 2 rounds")
	assert.NotContains(t, string(page), "://", "it loads nothing")
}

func TestChaosCommand_InvalidFlags_AreRefused(t *testing.T) {
	testservers.Need(t)
	for want, args := range map[string][]string{
		"no cell is called":               {"chaos", "--fault", "nosuch"},
		"neither redis nor none":          {"chaos", "--lock", "etcd"},
		"is none of sync, queue, lottery": {"chaos", "--mode", "async"},
		"must be above 0":                 {"chaos", "--parallel", "0"},
		"--before: ":                      {"chaos", "--before", "nosuch/seckill"},

		"--rows is gone: a sale's units": {"chaos", "--rows", "coupon"},
		"takes no argument":              {"chaos", "all"},
		"there is no such point":         {"serve"},
	} {
		cmd, _, complaints := seckill(t, t.TempDir(), args...)
		cmd.Env = append(cmd.Env, "SECKILL_FAULT=nowhere:kill:1")
		require.Error(t, cmd.Run())
		assert.Equal(t, 2, cmd.ProcessState.ExitCode(), args)
		assert.Contains(t, complaints.String(), want)
	}
}

func TestChaosCommand_CtrlC_EndsAllAndReports(t *testing.T) {
	testservers.Need(t, testservers.Servers)
	dir := t.TempDir()
	cmd, out, complaints := seckill(t, dir, "chaos", "--fault", "^nothing$", "--requests", "60", "--rounds", "1000", "--log", "runs.jsonl")
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool { // a round is done, and the next one is under way
		lines, _ := os.ReadFile(filepath.Join(dir, "runs.jsonl"))
		return bytes.Count(lines, []byte("\n")) > 0
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.Error(t, cmd.Wait())
	assert.Equal(t, 1, cmd.ProcessState.ExitCode())
	assert.Contains(t, out.String(), "rounds broke a promise")
	assert.Contains(t, complaints.String(), "stopped before all rounds were played")
	left, err := filepath.Glob(filepath.Join(dir, "seckill-chaos-*"))
	require.NoError(t, err)
	assert.Empty(t, left, "files of servers that should have been stopped")
	assert.Empty(t, processesIn(t, dir))
}

// processesIn lists the processes that were started with a path below dir.
func processesIn(t *testing.T, dir string) (all []string) {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, path := range lines {
		text, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(text), dir) {
			all = append(all, strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
	return all
}
