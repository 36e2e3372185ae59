package chaos_test

import (
	"cmp"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/chaos"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

// wanted is the pattern of faults in the -run of this test run, so that only those are
// played: -run TestChaos_EveryCell_StaysRight/commit.after:kill.
func wanted(test string) string {
	var cells []string
	for _, one := range split(flag.Lookup("test.run").Value.String(), '|') {
		levels := split(one, '/')
		if named, err := regexp.MatchString(levels[0], test); err != nil || !named {
			continue
		}
		if len(levels) == 1 {
			return ""
		}
		cells = append(cells, levels[1])
	}
	return strings.Join(cells, "|")
}

// split parts a pattern as go test does: not inside of brackets.
func split(pattern string, at rune) []string {
	parts, depth := []string{""}, 0
	for _, c := range pattern {
		switch c {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case at:
			if depth == 0 {
				parts = append(parts, "")
				continue
			}
		}
		parts[len(parts)-1] += string(c)
	}
	return parts
}

// sample draws some faults, unless they were named.
func sample(t *testing.T, few int, named string, cells []chaos.Fault) []chaos.Fault {
	t.Helper()
	if named != "" {
		return cells
	}
	return testservers.Sample(t, few, cells)
}

// namedRounds is how often faults are played that were named: a round shows a bug only by chance.
const namedRounds = 3

// play plays each fault once, and reports the problems of each. If they were named it goes on until
// a fault has a problem, namedRounds times at most.
func play(t *testing.T, lock, mode string, cells []chaos.Fault) {
	t.Helper()
	testservers.Need(t, testservers.Servers)
	rounds := 1
	if wanted(t.Name()) != "" {
		rounds = namedRounds
	}
	results := map[string]chaos.Result{}
	for range rounds {
		if playOnce(t, lock, mode, cells, results); wrong(results) {
			break
		}
	}
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

func wrong(results map[string]chaos.Result) bool {
	for _, r := range results {
		if len(r.Problems) > 0 {
			return true
		}
	}
	return false
}

// playOnce plays each fault once.
func playOnce(t *testing.T, lock, mode string, cells []chaos.Fault, results map[string]chaos.Result) {
	t.Helper()
	seed := uint64(time.Now().UnixMilli())
	require.NoError(t, chaos.Run(t.Context(), chaos.Options{
		Program: program, Before: os.Getenv("SECKILL_BEFORE"), Lock: lock, Mode: mode, Faults: cells, Seed: seed, Requests: 300, Parallel: 4,
		Each: func(r chaos.Result) {
			results[r.Cell] = r
			t.Logf("%-34s seed %d  acknowledged %3d  settled %5.2f s  took %5.1f s  struck %t",
				r.Cell, r.Seed, r.Acknowledged, r.Settled.Seconds(), r.Seconds, r.Hit)
		},
		Log: t.Logf,
	}))
}

func TestChaos_EveryCell_StaysRight(t *testing.T) {
	pattern := wanted("TestChaos_EveryCell_StaysRight")
	cells, err := chaos.Faults(chaos.Sync, pattern)
	require.NoError(t, err)
	play(t, "redis", chaos.Sync, sample(t, 8, pattern, cells))
}

// An acknowledged order outlives the machine that has acknowledged it.
func TestChaos_Replication_SurvivesPrimaryLoss(t *testing.T) {
	named := wanted("TestChaos_Replication_SurvivesPrimaryLoss")
	pattern := cmp.Or(named, "database:primary-")
	testservers.Need(t, servers.LookGalera)
	cells, err := chaos.Faults(chaos.Sync, pattern)
	require.NoError(t, err)
	play(t, "redis", chaos.Sync, sample(t, 1, named, cells))
}

// The data must stay right with a lock that excludes no caller: the faults that need the lock are
// played with none.
func TestFaults_LockExcludesNone_DataStaysRight(t *testing.T) {
	named := wanted("TestFaults_LockExcludesNone_DataStaysRight")
	pattern := named
	if named == "" {
		pattern = `^(nothing|(commit|take|reserve|void|reconcile.void|reconcile.release|restock)\.after:(stop|lose)|instance:(kill|stop))$`
	}
	cells, err := chaos.Faults(chaos.Sync, pattern)
	require.NoError(t, err)
	play(t, "none", chaos.Sync, sample(t, 2, named, cells))
}

// In queue mode any instance may sell a unit after another has answered the request: the faults that
// end otherwise then, and those that exist only then.
func TestChaos_QueueMode_StaysRight(t *testing.T) {
	named := wanted("TestChaos_QueueMode_StaysRight")
	pattern := named
	if named == "" {
		pattern = `^(nothing|queue:(poison|consumer-gone|consumer-gone-five-times)|(reserve|next|claim)\.after:kill|commit\.after:lose|acknowledge\.before:kill|redis:flushed|repeat:instance-kill)$`
	}
	cells, err := chaos.Faults(chaos.Queue, pattern)
	require.NoError(t, err)
	play(t, "redis", chaos.Queue, sample(t, 2, named, cells))
}

// The first two thirds of the crowd have tickets, of which some are drawn.
func TestChaos_LotterySale_StaysRight(t *testing.T) {
	named := wanted("TestChaos_LotterySale_StaysRight")
	pattern := named
	if named == "" {
		pattern = `^(nothing|(reserve|next)\.after:kill|commit\.after:lose|acknowledge\.before:kill|redis:flushed|database:set-back|repeat:instance-kill)$`
	}
	cells, err := chaos.Faults(chaos.Lottery, pattern)
	require.NoError(t, err)
	play(t, "redis", chaos.Lottery, sample(t, 1, named, cells))
}
