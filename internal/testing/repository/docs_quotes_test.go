package repository_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/chaos"
	"example.com/seckill/internal/tools/lab"
)

var (
	flag = regexp.MustCompile(`(?:^|[\s"'])--([a-z][a-z-]+)`)
	// ofTheProgram matches the files of what runs as `seckill serve`.
	ofTheProgram = regexp.MustCompile(`^(cmd/seckill|internal/(admission|api|audit|coupon|idworker|lock|order|stock|store|app)|` +
		`internal/platform/(breaker|clock|preflight|redisconn)|internal/observe/metrics|internal/lock/(redis|red|mysql|etcd|zk)lock)/\w+\.go$`)
	// warning matches a call that logs above info.
	warning = regexp.MustCompile(`\.(?:Warn|Error)(?:Context)?\((?:[\w.]+(?:\(\))?, )?"([^"]+)"`)
)

// A flag is there if some command of the program, or of the servers that it is told of,
// defines a flag of this name.
func TestDocuments_Flags_Exist(t *testing.T) {
	var code strings.Builder
	for path, text := range sources(t, ".go") {
		if strings.HasPrefix(path, "cmd/seckill/") && !strings.HasSuffix(path, "_test.go") {
			code.WriteString(text)
		}
	}
	others := []string{ // of docker compose, git, etcd, redis-cli and gotestsum
		"profile", "wait", "scale", "volumes", "check", "cluster", "auto-compaction-mode", "auto-compaction-retention", "num",
	}
	for _, d := range documents(t) {
		if d.path == "CHANGELOG.md" { // it names removed flags
			continue
		}
		for _, text := range commands(d.text) {
			for _, f := range flag.FindAllStringSubmatch(text, -1) {
				if !strings.Contains(code.String(), strconv.Quote(f[1])) && !slices.Contains(others, f[1]) {
					t.Errorf("%s names the flag --%s, which is not there", d.path, f[1])
				}
			}
		}
	}
}

// commands returns what is set as code in a text: in backquotes and in blocks.
func commands(text string) []string {
	var all []string
	for _, m := range ticked.FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	for i, block := range strings.Split(text, "```") {
		if i%2 == 1 {
			all = append(all, block)
		}
	}
	return all
}

// An operator searches for a log line as the program writes it.
func TestLogLines_Documents_QuoteTheProgram(t *testing.T) {
	var code strings.Builder
	for path, text := range sources(t, ".go") {
		if !strings.HasSuffix(path, "_test.go") {
			code.WriteString(text)
		}
	}
	rows := read(t, "docs/LOG-LINES.md")
	quoted := 0
	for row := range strings.SplitSeq(rows, "\n") {
		cells := strings.Split(row, "|")
		if len(cells) < 2 {
			continue
		}
		for _, m := range ticked.FindAllStringSubmatch(cells[1], -1) {
			quoted++
			if !strings.Contains(code.String(), `"`+m[1]) {
				t.Errorf("docs/LOG-LINES.md quotes %q, which the program does not log", m[1])
			}
		}
	}
	require.NotZero(t, quoted)

	for path, text := range sources(t, ".go") {
		if strings.HasSuffix(path, "_test.go") || !ofTheProgram.MatchString(path) {
			continue
		}
		for _, m := range warning.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(rows, "`"+m[1]+"`") {
				t.Errorf("docs/LOG-LINES.md lacks %q, which %s logs", m[1], path)
			}
		}
	}
}

// Every invariant has mutants and faults that are there, under these names.
func TestInvariantsDocument_MutantsAndFaults_Exist(t *testing.T) {
	mutants := map[string]bool{}
	require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if name, is := strings.CutSuffix(filepath.Base(path), ".patch"); is {
			mutants[name] = true
		}
		return err
	}))
	faults := map[string]bool{}
	all, err := chaos.Faults(chaos.Queue, "")
	require.NoError(t, err)
	for _, c := range all {
		faults[c.Name] = true
	}
	_, rows, found := strings.Cut(read(t, "docs/INVARIANTS.md"), "\n## Checks of each invariant\n")
	require.True(t, found)
	rows, _, _ = strings.Cut(rows, "\n## ")
	held := 0
	for row := range strings.SplitSeq(rows, "\n") {
		if !strings.HasPrefix(row, "| I") {
			continue
		}
		held++
		cells := strings.Split(row, "|") // "", the id, tests, mutants, faults of chaos, ""
		require.Len(t, cells, 6, row)
		for i, there := range map[int]map[string]bool{3: mutants, 4: faults} {
			for _, m := range ticked.FindAllStringSubmatch(cells[i], -1) {
				if !there[m[1]] && !strings.HasPrefix(m[1], "--") {
					t.Errorf("docs/INVARIANTS.md names %s in column %d, which is not there", m[1], i)
				}
			}
		}
	}
	require.Equal(t, 12, held)
}

// The documents count the faults and the experiments.
func TestDocuments_Counts_AreRight(t *testing.T) {
	all, err := chaos.Faults(chaos.Sync, "")
	require.NoError(t, err)
	queued, err := chaos.Faults(chaos.Queue, "")
	require.NoError(t, err)
	faults, experiments := strconv.Itoa(len(all)), strconv.Itoa(len(lab.All()))
	require.Contains(t, read(t, "README.md"), "each of "+faults+" faults once")
	require.Regexp(t, `make chaos +# `+faults+` \p{Han}`, read(t, "README.zh-CN.md"))
	require.Contains(t, read(t, "docs/TESTING.md"), "each of "+faults+" faults once")
	require.Contains(t, read(t, "docs/TESTING.md"), "queues, and "+strconv.Itoa(len(queued)-len(all))+" more faults")
	mutants, err := filepath.Glob(filepath.Join(root, "internal/testing/chaos/testdata/mutants/*.patch"))
	require.NoError(t, err)
	require.Contains(t, read(t, "docs/TESTING.md"), strconv.Itoa(len(mutants))+" mutants test the harness")
	require.Contains(t, read(t, "README.md"), "The lab plays "+experiments+" experiments")
	require.Regexp(t, `\p{Han} `+experiments+` \p{Han}`, read(t, "README.zh-CN.md"))
}
