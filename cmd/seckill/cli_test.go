package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/cmd/seckill/internal/cli"
)

// typed runs a command line and returns its exit code and what it printed.
func typed(t *testing.T, environ []string, args ...string) (code int, out, complaint string) {
	t.Helper()
	var said, complained strings.Builder
	code = run(t.Context(), args, cli.Console{Out: &said, Err: &complained, Environ: environ})
	return code, said.String(), complained.String()
}

func TestVersion_FlagOrCommand_PrintsSameLine(t *testing.T) {
	_, want, _ := typed(t, nil, "version")
	require.True(t, strings.HasPrefix(want, "seckill "), want)
	for _, flag := range []string{"--version", "-v"} {
		code, out, complaint := typed(t, nil, flag)
		require.Equal(t, cli.ExitOK, code, complaint)
		require.Equal(t, want, out)
	}
}

func TestCLI_MisspeltCommandOrFlag_SuggestsNearest(t *testing.T) {
	for line, want := range map[string]string{
		"dmeo":                         `did you mean "demo"?`,
		"serv":                         `did you mean "serve"?`,
		"help rsh":                     `did you mean "rush"?`,
		"lab lst":                      `did you mean "list"?`,
		"lab run unlock-befor-commit":  `did you mean "unlock-before-commit"?`,
		"lab run unlock":               `did you mean "unlock-before-commit"?`,
		"lab run lo":                   `did you mean "longer-than-lease" or "loss-told-late" or "lost-reply" or "lock-table"?`,
		"demo --usres 5":               "did you mean --users?",
		"rush --double-tap-ever 5":     "did you mean --double-tap-every?",
		"audit --cupon 7":              "did you mean --coupon?",
		"lab run all --htlm page.html": "did you mean --html?",
	} {
		code, out, complaint := typed(t, nil, strings.Fields(line)...)
		assert.Equal(t, cli.ExitUsage, code, line)
		assert.Contains(t, complaint, want, line)
		assert.Equal(t, 1, strings.Count(complaint, "\n"), complaint)
		assert.Empty(t, out, line)
	}
	_, _, complaint := typed(t, nil, "sell")
	require.NotContains(t, complaint, "did you mean")
}

func TestCLI_RenamedFlag_NamesItsReplacement(t *testing.T) {
	for line, want := range map[string]string{
		"rush --pay 10":         "--pay is gone: use --pay-percent",
		"rush --cancel 10":      "--cancel is gone: use --cancel-percent",
		"rush --taps 5":         "--taps is gone: use --same-user",
		"demo --keep":           "--keep is gone: use --keep-serving",
		"demo --opens-in 2s":    "--opens-in is gone: use --starts-in",
		"demo --visitors 20":    "--visitors is gone: use --background-rate",
		"rush --pay-percents 9": "did you mean --pay-percent?",
	} {
		code, out, complaint := typed(t, nil, strings.Fields(line)...)
		assert.Equal(t, cli.ExitUsage, code, line)
		assert.Contains(t, complaint, want, line)
		assert.Empty(t, out, line)
	}
}

func TestCLI_WrongValueOfAFlag_SaysWhatWasExpected(t *testing.T) {
	for line, want := range map[string]string{
		"demo --users abc":    `--users: "abc" is not a whole number: see seckill demo --help`,
		"demo --rate fast":    `--rate: "fast" is not a number`,
		"demo --starts-in 5":  `--starts-in: "5" is not a time such as 30s`,
		"demo --open=maybe":   `--open: "maybe" is not true or false`,
		"demo --addr nowhere": `--addr "nowhere" must be host:port, such as 127.0.0.1:8080`,

		"rush --pay-percent 101":     `--pay-percent must be from 0 to 100, not 101: see seckill rush --help`,
		"rush --url 127.0.0.1:18060": `--url "127.0.0.1:18060" needs http:// or https://`,

		"demo --addr 127.0.0.1:99999": "with a port from 0 to 65535",
		"seed --stock 0":              "--stock must be from 1 to",
		"seed --limit 0":              "--limit must be from 1 to",
		"token --user 1 --role king":  `--role: "king" is neither user nor admin`,
		"lab gallery nope-zzz":        `no gallery entry matches "nope-zzz"`,
		"health --url foo":            "--url must be http://host:port or https://host:port",
		"health --url http://":        "--url must be http://host:port or https://host:port",
	} {
		code, out, complaint := typed(t, nil, strings.Fields(line)...)
		assert.Equal(t, cli.ExitUsage, code, line)
		assert.Contains(t, complaint, want, line)
		assert.NotContains(t, complaint, "strconv", line)
		assert.Equal(t, 1, strings.Count(complaint, "\n"), complaint)
		assert.Empty(t, out, line)
	}
}

func TestReport_WithDetails_AdvisesNoDetails(t *testing.T) {
	for name, next := range map[string]func(details bool) [][2]string{
		"rush":        func(details bool) [][2]string { return rushNext("http://127.0.0.1:8080", details) },
		"demo":        func(details bool) [][2]string { return demoNext(false, details) },
		"demo --open": func(details bool) [][2]string { return demoNext(true, details) },
	} {
		require.Contains(t, fmt.Sprint(next(false)), "--details", name)
		require.NotContains(t, fmt.Sprint(next(true)), "--details", name)
	}
}

func TestRush_NobodyAtHome_AsksWhetherTheServerIsRunning(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	code, out, complaint := typed(t, nil, "rush", "--url", closed.URL)
	require.Equal(t, cli.ExitFail, code)
	require.Contains(t, complaint, "no server answers at "+closed.URL+": is it running? Start it with seckill serve")
	require.Empty(t, out)
}

func TestCompletion_EachCommand_OffersItsArguments(t *testing.T) {
	for line, want := range map[string][]string{
		"lab run ":            {"all", "unlock-before-commit", "defence-in-depth"},
		"lab list --lang ":    {"en", "zh"},
		"lab run all --lang ": {"en", "zh"},
		"token --role ":       {"user", "admin"},
		"serve ":              {},
		"demo --users ":       {},
		"audit --coupon ":     {},
	} {
		code, out, complaint := typed(t, nil, append([]string{"__complete"}, strings.Split(line, " ")...)...)
		require.Equal(t, cli.ExitOK, code, complaint)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		require.Equal(t, ":4", lines[len(lines)-1], "%s: no files", line)
		var offered []string
		for _, one := range lines[:len(lines)-1] {
			word, _, _ := strings.Cut(one, "\t")
			offered = append(offered, word)
		}
		if len(want) == 0 {
			require.Empty(t, offered, line)
		}
		require.Subset(t, offered, want, line)
	}
	_, out, _ := typed(t, nil, "__complete", "serve", "--config", "")
	require.Contains(t, out, "yaml\n", "a file is a file")
}

func TestHealth_Result_IsTheExitCode(t *testing.T) {
	ready := true
	admin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/healthz":
			_, _ = w.Write([]byte(`{"status":"ok"}`))
		case r.URL.Path != "/readyz":
			http.NotFound(w, r)
		case ready:
			_, _ = w.Write([]byte(`{"status":"ready"}`))
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"status":"not ready","reason":"database_read_only: the database is read-only"}`))
		}
	}))
	defer admin.Close()
	public := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v1/features" {
			http.NotFound(w, r)
		}
	}))
	defer public.Close()
	// The configuration may say every network; the check asks on its own machine.
	environ := []string{
		"SECKILL_ADMIN__ADDR=0.0.0.0:" + port(admin.URL), "SECKILL_HTTP__ADDR=:" + port(public.URL),
	}
	for _, c := range []struct {
		args  string
		ready bool
		code  int
		says  string
	}{
		{"health", true, cli.ExitOK, "ready"},
		{"health", false, cli.ExitFail, "database_read_only"},
		{"health --live", false, cli.ExitOK, "ok"},
		{"health --public", false, cli.ExitOK, "ok"},
		{"health --url " + admin.URL, true, cli.ExitOK, "ready"},
		{"health --url " + public.URL, true, cli.ExitFail, "404"},
		{"health --url http://127.0.0.1:1", true, cli.ExitFail, "does not answer"},
		{"health --live --public", true, cli.ExitUsage, "--public"},
		{"health --timeout 0s", true, cli.ExitUsage, "--timeout"},
	} {
		ready = c.ready
		code, out, complaint := typed(t, environ, strings.Fields(c.args)...)
		assert.Equal(t, c.code, code, c.args)
		assert.Contains(t, out+complaint, c.says, c.args)
	}
}

func port(url string) string { return url[strings.LastIndexByte(url, ':')+1:] }

func TestDemo_AddressInUse_AdvisesOnlyItsFlag(t *testing.T) {
	t.Parallel()
	taken := httptest.NewServer(http.NotFoundHandler())
	defer taken.Close()
	addr := strings.TrimPrefix(taken.URL, "http://")
	for _, more := range []string{"", " --compare"} {
		code, _, complaint := typed(t, nil, strings.Fields("demo --users 1 --addr "+addr+more)...)
		assert.Equal(t, cli.ExitFail, code)
		assert.Contains(t, complaint, "choose another address with --addr")
		assert.NotContains(t, complaint, "SECKILL_HTTP__ADDR")
		assert.NotContains(t, complaint, "http.addr")
	}
}

func TestDemo_EnvironmentHasSettings_WarnsThatTheyAreIgnored(t *testing.T) {
	t.Parallel()
	environ := []string{"SECKILL_HTTP__ADDR=:1", "PATH=/bin", "SECKILL_ALLOW_WRONG_DESIGN=1", "SECKILL_PORT=tcp://10.0.0.7:8080", "SECKILL_NOPE=1"}
	_, _, complaint := typed(t, environ, "demo", "--users", "0")
	require.Contains(t, complaint, "seckill: demo uses its own settings and ignores SECKILL_HTTP__ADDR, SECKILL_NOPE\n")
	_, _, complaint = typed(t, environ[1:4], "demo", "--users", "0")
	require.NotContains(t, complaint, "ignores")
}

func TestDemo_OutputIsClosed_StopsAndRemovesItsFolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	read, write, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, read.Close())
	defer func() { require.NoError(t, write.Close()) }()
	var complained strings.Builder
	args := strings.Fields("demo --users 10 --stock 5 --keep-serving --starts-in 1h") // it would never end
	code := run(t.Context(), args, cli.Console{Out: write, Err: &complained})
	require.Equal(t, cli.ExitFail, code)
	require.Empty(t, complained.String())
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestFlag_Address_OverridesConfiguration(t *testing.T) {
	taken := httptest.NewServer(http.NotFoundHandler())
	defer taken.Close()
	addr := strings.TrimPrefix(taken.URL, "http://")
	for _, args := range [][]string{{"serve", "--addr", addr}, {"demo", "--users", "1", "--addr", addr}} {
		code, _, complaint := typed(t, []string{"SECKILL_HTTP__ADDR=127.0.0.1:0", "SECKILL_ADMIN__ADDR=127.0.0.1:0"}, args...)
		assert.Equal(t, cli.ExitFail, code, args)
		assert.Contains(t, complaint, addr, args)
		assert.Contains(t, complaint, "--addr", args)
	}
	code, _, complaint := typed(t, nil, "serve", "--addr", "here")
	assert.Equal(t, cli.ExitUsage, code)
	assert.Contains(t, complaint, "http.addr must be host:port")
}
