package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"seckill/internal/lab"
	"seckill/internal/lab/bench"
	"seckill/internal/servers/testservers"
)

// play runs a command line of the lab and gives its exit code and what it said.
func play(t *testing.T, environ []string, args ...string) (code int, out, complaint string) {
	t.Helper()
	var said, complained strings.Builder
	code = run(t.Context(), append([]string{"lab"}, args...), console{&said, &complained, environ})
	return code, said.String(), complained.String()
}

func TestTheLabListsEveryExperimentInBothLanguages(t *testing.T) {
	for _, language := range []string{"en", "zh"} {
		code, out, _ := play(t, nil, "list", "--lang", language)
		require.Equal(t, exitOK, code)
		require.Equal(t, len(lab.All()), strings.Count(out, "\n"))
		for _, e := range lab.All() {
			require.Contains(t, out, e.Title.In(language))
		}
	}
}

func TestAnExperimentRunsOnTheConfiguredServersAndLeavesNothing(t *testing.T) {
	environ := []string{"SECKILL_MYSQL__DSN=" + testservers.MariaDB(t).DSN(""), "SECKILL_REDIS__ADDRS=" + testservers.Redis(t).Addr()}
	page := filepath.Join(t.TempDir(), "lab.html")
	code, out, complaint := play(t, environ, "run", "unlock-before-commit", "--html", page, "--json")
	require.Equal(t, exitOK, code, complaint)
	var r bench.Result
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.True(t, r.AsExpected())
	require.Contains(t, strings.Join(r.Servers, " "), testservers.Redis(t).Addr())
	written, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(written), "<svg")
	left, err := filepath.Glob(filepath.Join(filepath.Dir(page), ".lab-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestWhatHasNoServerIsNotRunAndSaidSo(t *testing.T) {
	code, out, complaint := play(t, nil, "run", "read-before-lock", "--embedded")
	require.Equal(t, exitFail, code)
	require.Contains(t, out, "not run")
	require.Contains(t, out, "SQLite has no row locks")
	require.Empty(t, complaint)

	code, out, _ = play(t, nil, "run", "delete-anothers-lock", "--embedded")
	require.Equal(t, exitOK, code, out)
	require.Contains(t, out, "the embedded Redis")
}

func TestTheLabRefusesWhatItDoesNotKnow(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		says string
	}{
		"an unknown experiment": {[]string{"run", "nonsense"}, "nonsense"},
		"no experiment":         {[]string{"run"}, "name one experiment"},
		"an unknown language":   {[]string{"list", "--lang", "fr"}, "fr"},
		"an unknown command":    {[]string{"walk"}, "walk"},
		"a bad DSN":             {[]string{"run", "all", "--mysql", "secret:word@"}, "mysql.dsn"},
		"a bad address":         {[]string{"run", "all", "--redis", "here"}, "redis.addrs"},
		"a page nowhere":        {[]string{"run", "defer-unlock", "--embedded", "--html", "/no/such/place.html"}, "--html"},
	} {
		t.Run(name, func(t *testing.T) {
			code, _, complaint := play(t, nil, tc.args...)
			require.Equal(t, exitUsage, code)
			require.Contains(t, complaint, tc.says)
			require.NotContains(t, complaint, "word")
			require.Equal(t, 1, strings.Count(complaint, "\n"))
		})
	}
}
