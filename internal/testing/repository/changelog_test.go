package repository_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/config"
)

// changelogRows returns the cells of the rows below a heading of CHANGELOG.md.
func changelogRows(t *testing.T, title string) (rows [][]string) {
	t.Helper()
	_, text, found := strings.Cut(read(t, "CHANGELOG.md"), "\n### "+title+"\n")
	require.True(t, found, title)
	text, _, _ = strings.Cut(text, "\n### ")
	for line := range strings.SplitSeq(text, "\n") {
		cells := strings.Split(line, " | ")
		if len(cells) == 3 {
			rows = append(rows, []string{strings.TrimPrefix(cells[0], "| "), cells[1], strings.TrimSuffix(cells[2], " |")})
		}
	}
	require.Greater(t, len(rows), 2, title)
	return rows[1:] // without the names of the columns
}

// names returns the words in backquotes of a cell.
func names(cell string) (all []string) {
	for _, m := range ticked.FindAllStringSubmatch(cell, -1) {
		all = append(all, m[1])
	}
	return all
}

func TestChangelog_Renamed_OldNamesAreGoneAndNewOnesExist(t *testing.T) {
	there := map[string]bool{"go_sql_in_use_connections": true, "go_sql_idle_connections": true, "go_sql_wait_count_total": true}
	keys := map[string]bool{}
	for _, k := range config.Keys() {
		keys[k.Path] = true
	}
	var code strings.Builder
	for path, text := range sources(t, ".go") {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		if strings.HasPrefix(path, "internal/observe/metrics/") {
			for _, m := range regexp.MustCompile(`"(seckill_[a-z_]+)"`).FindAllStringSubmatch(text, -1) {
				there[m[1]] = true
			}
		}
		if strings.HasPrefix(path, "cmd/seckill/") {
			code.WriteString(text)
		}
	}
	exists := map[string]func(name string) bool{
		"key":    func(name string) bool { return keys[name] },
		"metric": func(name string) bool { return there[name] },
		"code": func(name string) bool {
			return strings.Contains(read(t, "internal/api/problems.go"), strconv.Quote(name)+":")
		},
		"flag": func(name string) bool {
			_, name, _ = strings.Cut(name, " --")
			name = strconv.Quote(name)
			return strings.Contains(code.String(), ", "+name+", ") && !strings.Contains(code.String(), "RefuseRemovedFlag(cmd, "+name)
		},
		"target": func(name string) bool {
			return strings.Contains(read(t, "Makefile"), "\n"+strings.TrimPrefix(name, "make ")+":")
		},
	}
	counted := map[string]int{}
	for _, row := range changelogRows(t, "Renamed and removed") {
		check, known := exists[row[0]]
		if !known {
			continue
		}
		counted[row[0]]++
		for _, old := range names(row[1]) {
			if check(old) {
				t.Errorf("CHANGELOG.md says that the %s %s is gone, and the program has it", row[0], old)
			}
		}
		for _, current := range names(row[2]) {
			if !check(current) {
				t.Errorf("CHANGELOG.md names the new %s %s, and the program does not have it", row[0], current)
			}
		}
		require.NotEmpty(t, row[2], row)
	}
	require.Len(t, counted, len(exists), "a kind has no row")
}

// A user who starts the program with a removed key finds it in the table.
func TestChangelog_RemovedKeys_AreInTheTable(t *testing.T) {
	var old []string
	for _, row := range changelogRows(t, "Renamed and removed") {
		old = append(old, names(row[1])...)
	}
	removed := regexp.MustCompile(`(?m)^\t"([a-z]+\.[a-z_]+)":`).FindAllStringSubmatch(read(t, "internal/config/removed.go"), -1)
	require.NotEmpty(t, removed)
	for _, m := range removed {
		require.Contains(t, old, m[1], "CHANGELOG.md")
	}
}

func TestChangelog_Defaults_AreThoseOfTheProgram(t *testing.T) {
	defaults := map[string]string{}
	for _, k := range config.Keys() {
		defaults[k.Path] = k.Default
	}
	for _, row := range changelogRows(t, "Changed defaults") {
		require.Equal(t, []string{defaults[names(row[0])[0]]}, names(row[2]), row[0])
	}
}
