package chaos_test

import (
	"flag"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"seckill/internal/chaos"
)

// wanted is the pattern of cells in the -run of this test run, so that only those are
// played: -run TestEveryCell/commit.after:kill.
func wanted(test string) string {
	run := flag.Lookup("test.run").Value.String()
	var cells []string
	for one := range strings.SplitSeq(run, "|") {
		top, cell, deeper := strings.Cut(one, "/")
		if named, err := regexp.MatchString(top, test); err != nil || !named {
			continue
		}
		if !deeper {
			return ""
		}
		cells = append(cells, cell)
	}
	return strings.Join(cells, "|")
}

// play plays each cell once, and says of each what was wrong.
func play(t *testing.T, lock string, cells []chaos.Cell) {
	t.Helper()
	results := map[string]chaos.Result{}
	seed := uint64(time.Now().UnixMilli())
	require.NoError(t, chaos.Run(t.Context(), chaos.Options{
		Program: program, Lock: lock, Cells: cells, Seed: seed, Requests: 300, Lanes: 4, SettleWithin: 20 * time.Second,
		Each: func(r chaos.Result) {
			results[r.Cell] = r
			t.Logf("%-34s seed %d  acknowledged %3d  settled %5.2f s  took %5.1f s  struck %t",
				r.Cell, r.Seed, r.Acknowledged, r.Settled.Seconds(), r.Seconds, r.Struck)
		},
		Log: t.Logf,
	}))
	for _, c := range cells {
		t.Run(c.Name, func(t *testing.T) {
			r, played := results[c.Name]
			require.True(t, played)
			assert.Empty(t, r.Problems, "seed %d", r.Seed)
			if t.Failed() {
				t.Log(strings.Join(r.Logs, "\n"))
			}
		})
	}
}

func TestEveryCell(t *testing.T) {
	cells, err := chaos.Cells(wanted("TestEveryCell"))
	require.NoError(t, err)
	play(t, "redis", cells)
}

// The data must stay right with a lock that lets everybody in: what needs the lock is
// played with none.
func TestWithALockThatLetsEverybodyIn(t *testing.T) {
	pattern := wanted("TestWithALockThatLetsEverybodyIn")
	if pattern == "" {
		pattern = `^(nothing|(commit|take|reserve|void|settle.void|settle.release|return)\.after:(stop|lose)|instance:(kill|stop))$`
	}
	cells, err := chaos.Cells(pattern)
	require.NoError(t, err)
	play(t, "none", cells)
}
