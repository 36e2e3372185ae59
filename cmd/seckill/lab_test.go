package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/cmd/seckill/internal/cli"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/lab"
	"example.com/seckill/internal/tools/lab/harness"
)

// play runs a command line of the lab and gives its exit code and what it said.
func play(t *testing.T, environ []string, args ...string) (code int, out, complaint string) {
	t.Helper()
	var said, complained strings.Builder
	code = run(t.Context(), append([]string{"lab"}, args...), cli.Console{Out: &said, Err: &complained, Environ: environ})
	return code, said.String(), complained.String()
}

// unwrapped matches blanks and line breaks, and keeps nothing of them.
var unwrapped = regexp.MustCompile(`()\s+`)

func TestLab_List_HasEveryExperimentInBothLanguages(t *testing.T) {
	for _, language := range []string{"en", "zh"} {
		code, out, _ := play(t, nil, "list", "--lang", language)
		require.Equal(t, cli.ExitOK, code)
		joined := unwrapped.ReplaceAllString(out, "$1")
		for _, e := range lab.All() {
			require.Contains(t, joined, strings.ReplaceAll(e.Title.In(language), " ", ""))
		}
		for _, g := range lab.Groups() {
			require.Contains(t, "\n"+out, "\n"+g.Title.In(language))
		}
	}
}

func TestLab_ConfiguredServers_LeavesNothing(t *testing.T) {
	environ := []string{"SECKILL_MYSQL__DSN=" + testservers.MariaDB(t).DSN(""), "SECKILL_REDIS__ADDRS=" + testservers.Redis(t).Addr()}
	page := filepath.Join(t.TempDir(), "lab.html")
	code, out, complaint := play(t, environ, "run", "unlock-before-commit", "--html", page, "--json")
	require.Equal(t, cli.ExitOK, code, complaint+out)
	var r harness.Result
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.True(t, r.AsExpected())
	require.Equal(t, "Redis at "+testservers.Redis(t).Addr(), r.Servers[0].EN)
	written, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(written), `class="mark"`)
	left, err := filepath.Glob(filepath.Join(filepath.Dir(page), ".lab-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestLabRun_ServerMissing_ReportsNotRun(t *testing.T) {
	code, out, complaint := play(t, nil, "run", "read-before-lock", "--embedded")
	require.Equal(t, cli.ExitFail, code)
	require.Contains(t, out, "not run")
	require.Contains(t, out, "the embedded SQLite has none")
	require.Empty(t, complaint)

	code, out, _ = play(t, nil, "run", "delete-anothers-lock", "--embedded")
	require.Equal(t, cli.ExitOK, code, out)
	require.Contains(t, out, "the embedded Redis")
}

func TestLab_UnknownArgument_IsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		says string
	}{
		"an unknown experiment": {[]string{"run", "nonsense"}, "nonsense"},
		"no experiment":         {[]string{"run"}, "name one experiment"},
		"an unknown language":   {[]string{"list", "--lang", "fr"}, "fr"},
		"both at once":          {[]string{"run", "all", "--embedded", "--redis", "127.0.0.1:1"}, "--embedded"},
		"a page that is none":   {[]string{"run", "defer-unlock", "--html", os.TempDir()}, "is a folder"},
		"an unknown command":    {[]string{"walk"}, "walk"},
		"a bad DSN":             {[]string{"run", "all", "--mysql", "secret:word@"}, "mysql.dsn"},
		"a bad address":         {[]string{"run", "all", "--redis", "here"}, "redis.addrs"},
		"a page nowhere":        {[]string{"run", "defer-unlock", "--embedded", "--html", "/no/such/place.html"}, "--html"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, complaint := play(t, nil, tc.args...)
			require.Equal(t, cli.ExitUsage, code)
			require.Contains(t, complaint, tc.says)
			require.NotContains(t, complaint, "word")
			require.Equal(t, 1, strings.Count(complaint, "\n"))
		})
	}
}

// TestLab_NoPrograms_NamesWhatEachExperimentLacks is a machine on which no
// server is installed.
func TestLab_NoPrograms_NamesWhatEachExperimentLacks(t *testing.T) {
	t.Setenv("PATH", "/nowhere")
	code, list, complaint := play(t, nil, "list")
	require.Equal(t, cli.ExitOK, code, complaint)
	code, table, complaint := play(t, nil, "run", "all")
	require.Equal(t, cli.ExitFail, code, "not everything was played")
	require.Empty(t, complaint)
	require.Contains(t, table, "name servers of your own")
	played := strings.Split(table, "\n")
	embedded := 0
	for n, e := range lab.All() {
		switch _, lacks := (harness.Config{}).Hosts(e.Needs); {
		case lacks == nil:
			require.Contains(t, listedOn(t, list, e.Name), "the embedded Redis")
			require.True(t, strings.HasPrefix(played[n], "ok "), played[n])
			require.Contains(t, played[n], "on the embedded Redis")
			embedded++
		case slices.Contains(e.Needs, harness.Database):
			require.Contains(t, listedOn(t, list, e.Name), "mariadbd is not installed: apt-get install mariadb-server")
			require.Contains(t, played[n], "mariadbd is not installed: apt-get install mariadb-server")
			require.True(t, strings.HasPrefix(played[n], "not run "), played[n])
		default:
			require.Contains(t, listedOn(t, list, e.Name), "redis-server is not installed: apt-get install redis-server")
			require.Contains(t, played[n], "redis-server is not installed: apt-get install redis-server")
		}
	}
	require.GreaterOrEqual(t, embedded, 5)
}

// listedOn returns what the list says about the servers of an experiment: the text of its mark.
func listedOn(t *testing.T, list, name string) string {
	t.Helper()
	mark := regexp.MustCompile(`(?m)^  ([A-Z]) ` + name + ` `).FindStringSubmatch(list)
	require.NotNil(t, mark, name)
	_, legend, found := strings.Cut(list, "\nWhere they run here:\n")
	require.True(t, found)
	text := regexp.MustCompile(`(?s)  ` + mark[1] + ` (.*?)\n(  [A-Z] |$)`).FindStringSubmatch(legend)
	require.NotNil(t, text, mark[1])
	return strings.Join(strings.Fields(text[1]), " ")
}

func TestLabList_EveryLine_Fits80Columns(t *testing.T) {
	for _, path := range []string{os.Getenv("PATH"), "/nowhere"} {
		t.Setenv("PATH", path)
		for _, language := range []string{"en", "zh"} {
			code, list, complaint := play(t, nil, "list", "--lang", language)
			require.Equal(t, cli.ExitOK, code, complaint)
			for line := range strings.Lines(list) {
				columns := 0
				for _, r := range strings.TrimSuffix(line, "\n") {
					if columns++; r >= 0x2e80 {
						columns++ // a Chinese character
					}
				}
				require.LessOrEqual(t, columns, 80, line)
			}
		}
	}
}

func TestLabList_FirstGroup_SaysStartHere(t *testing.T) {
	_, list, _ := play(t, nil, "list")
	require.True(t, strings.HasPrefix(list, lab.Groups()[0].Title.EN+": start here\n"), list)
	require.Equal(t, 1, strings.Count(list, "start here"))
	_, list, _ = play(t, nil, "list", "--lang", "zh")
	first, _, _ := strings.Cut(list, "\n")
	require.Regexp(t, "^"+lab.Groups()[0].Title.ZH+".+$", first)
	require.NotContains(t, list, "start here")
}

func TestLab_NoServers_ShowsRecording(t *testing.T) {
	t.Setenv("PATH", "/nowhere")
	code, out, _ := play(t, nil, "run", "unlock-before-commit")
	require.Equal(t, cli.ExitFail, code, "it was not played")
	require.Contains(t, out, "mariadbd is not installed")
	require.Contains(t, out, "▲ here it goes wrong")
	require.Regexp(t, `recorded on 20\d\d-\d\d-\d\d, on Redis [\d.]+ and MariaDB [\d.]+, and not played here`, out)

	page := filepath.Join(t.TempDir(), "lab.html")
	code, out, complaint := play(t, nil, "run", "all", "--recorded", "--html", page)
	require.Equal(t, cli.ExitOK, code, complaint)
	require.Equal(t, len(lab.All()), strings.Count(out, "recorded   "), out)
	require.NotContains(t, out, "not run ")
	require.NotContains(t, out, "ok ", "nothing was played")
	written, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Equal(t, len(lab.All()), strings.Count(string(written), "What follows was recorded on"))
}

func TestLabRun_AllInChinese_SumsUpInChinese(t *testing.T) {
	t.Setenv("PATH", "/nowhere")
	code, out, complaint := play(t, nil, "run", "all", "--recorded", "--lang", "zh")
	require.Equal(t, cli.ExitOK, code, complaint)
	require.Contains(t, out, fmt.Sprintf("符合预期 %[1]d 个，共 %[1]d 个，未运行 0 个", len(lab.All())))
	require.NotContains(t, out, "as expected")
}

// full is an output with no room.
type full struct{ written int }

func (f *full) Write([]byte) (int, error) {
	f.written++
	return 0, errors.New("no space left on device")
}

func TestLabRun_OutputFails_StopsAfterFirstExperiment(t *testing.T) {
	var out full
	var complaint strings.Builder
	code := run(t.Context(), []string{"lab", "run", "all", "--embedded"}, cli.Console{Out: &out, Err: &complaint, Environ: nil})
	require.Equal(t, cli.ExitFail, code)
	require.Equal(t, 1, out.written, "the first experiment, and no other")
	require.Contains(t, complaint.String(), "no space left")
}

func TestLab_OutputIsDeviceOrLink_WritesPage(t *testing.T) {
	code, _, complaint := play(t, nil, "run", "defer-unlock", "--embedded", "--html", "/dev/full")
	require.Equal(t, cli.ExitFail, code)
	require.Contains(t, complaint, "no space left")
	info, err := os.Stat("/dev/full")
	require.NoError(t, err)
	require.False(t, info.Mode().IsRegular(), "a page stands where a device was")

	dir := t.TempDir()
	link := filepath.Join(dir, "latest.html")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "1.html"), nil, 0o600))
	require.NoError(t, os.Symlink("1.html", link))
	code, out, complaint := play(t, nil, "run", "defer-unlock", "--embedded", "--html", link)
	require.Equal(t, cli.ExitOK, code, out+complaint)
	to, err := os.Readlink(link)
	require.NoError(t, err, "it was a link")
	page, err := os.ReadFile(filepath.Join(dir, to))
	require.NoError(t, err)
	require.Contains(t, string(page), `class="mark"`)
}
