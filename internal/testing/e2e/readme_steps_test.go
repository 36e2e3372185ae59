package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"example.com/seckill/internal/testing/testservers"
)

func nothing(*testing.T, *reader, string) {}

// demo runs the default sale, with nothing made smaller, and compares the output with the quotation of the README.
func demo(t *testing.T, _ *reader, _ string) {
	t.Helper()
	p := launchBuild(t, plain, nil, nil, "demo")
	p.await(t, busy)
	require.Zero(t, p.code(), p.err.String())
	for _, part := range []string{"10000 people", "500 coupons", "AUDIT CLEAN"} {
		assert.Contains(t, strings.ReplaceAll(p.out.String(), ",", ""), part)
	}
	for _, file := range []string{"README.md", "README.zh-CN.md"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		quoted := quotedOutput.FindStringSubmatch(string(text))
		require.NotNil(t, quoted, file)
		for line := range strings.Lines(quoted[1]) {
			if !differs.MatchString(line) {
				assert.Contains(t, spaced(p.out.String()), spaced(line), "%s quotes the output", file)
			}
		}
	}
}

// spaced returns the text with one space between words: the width of a column depends on the reasons in it.
func spaced(text string) string { return strings.Join(strings.Fields(text), " ") }

var (
	// quotedOutput matches the first block that is not a command.
	quotedOutput = regexp.MustCompile("(?s)\n\n```\n(.*?)```")
	// differs matches the lines of the output that are not the same in each run, and the mark of a line that is left out.
	differs = regexp.MustCompile(`sold_out|limit_reached|Sold out after|First come|…`)
)

// made returns a step that prints the commands of a make target. Each of the parts is in them.
func made(parts ...string) func(*testing.T, *reader, string) {
	return func(t *testing.T, _ *reader, command string) {
		t.Helper()
		out := makeWould(t, command)
		for _, part := range parts {
			assert.Contains(t, out, part, command)
		}
	}
}

func makeWould(t *testing.T, command string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", "make -n "+strings.TrimPrefix(command, "make"))
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// aProgram is a command of this module.
func aProgram(t *testing.T, _ *reader, command string) {
	t.Helper()
	assert.FileExists(t, filepath.Join(root, strings.TrimPrefix(command, "go run -tags nomsgpack "), "main.go"))
}

// freePort has the program listen on free ports.
var freePort = []string{"SECKILL_HTTP__ADDR=127.0.0.1:0", "SECKILL_ADMIN__ADDR=127.0.0.1:0", "SECKILL_HTTP__DRAIN_DELAY=1s"}

func serveEmbedded(t *testing.T, r *reader, command string) {
	t.Helper()
	r.served(t, freePort, command)
	assert.Equal(t, http.StatusOK, httpStatus(t, r.shop.url+"/"), "the page")
	assert.Equal(t, http.StatusOK, httpStatus(t, r.shop.url+"/openapi.json"))
	r.first = open(t, r.folder)
}

// served starts the server of a command.
func (r *reader) served(t *testing.T, env []string, line string) {
	t.Helper()
	r.shop = &instance{process: launchBuild(t, plain, nil, env, strings.Fields(command.ReplaceAllString(line, ""))...)}
	r.shop.url, r.shop.admin = r.shop.serving(t)
	within(t, busy, func() error {
		if status := httpStatus(t, r.shop.admin+"/readyz"); status != http.StatusOK {
			return fmt.Errorf("it is not ready: %d", status)
		}
		return nil
	})
}

// here returns the command with the address of the server.
func (r *reader) here(command string) string {
	return strings.ReplaceAll(command, "http://127.0.0.1:8080", r.shop.url)
}

func inFirst(says string) func(*testing.T, *reader, string) {
	return func(t *testing.T, r *reader, command string) {
		t.Helper()
		assert.Contains(t, r.first.types(t, r.here(command)), says)
	}
}

// buyTwice sends the request twice with the same key: the order is the same, as the README says.
func buyTwice(t *testing.T, r *reader, command string) {
	t.Helper()
	order := regexp.MustCompile(`"id":"(\d+)"`)
	first, again := r.first.types(t, command), r.first.types(t, command)
	assert.Contains(t, first, " 201 ")
	require.NotEmpty(t, order.FindStringSubmatch(first), first)
	assert.Equal(t, order.FindStringSubmatch(first), order.FindStringSubmatch(again))
}

func containersOf(names ...string) func(*testing.T, *reader, string) {
	return func(t *testing.T, _ *reader, command string) {
		t.Helper()
		assert.Contains(t, makeWould(t, command), "docker compose up -d --wait")
		var file struct {
			Services map[string]struct{ Profiles []string }
		}
		text, err := os.ReadFile(filepath.Join(root, "docker-compose.yml"))
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(text, &file))
		var up []string
		for name, c := range file.Services {
			if len(c.Profiles) == 0 {
				up = append(up, name)
			}
		}
		assert.ElementsMatch(t, names, up)
	}
}

// writeEnv writes .env into the reader's folder, and then changes it to the servers of the test.
func writeEnv(t *testing.T, r *reader, command string) {
	t.Helper()
	here, err := filepath.Abs(root)
	require.NoError(t, err)
	for _, name := range []string{"Makefile", ".ci"} {
		require.NoError(t, os.Symlink(filepath.Join(here, name), filepath.Join(r.folder, name)))
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", command)
	cmd.Dir = r.folder
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	path := filepath.Join(r.folder, ".env")
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for name, value := range map[string]string{
		"SECKILL_MYSQL__DSN": "'" + testservers.DSN(t) + "'", "SECKILL_REDIS__ADDRS": testservers.NewRedis(t).Addr(), "SECKILL_REDIS__PASSWORD": "",
	} {
		line := regexp.MustCompile(`(?m)^` + name + `=.*$`)
		require.Regexp(t, line, string(text), "the variables that the README names")
		text = line.ReplaceAllLiteral(text, []byte(name+"="+value))
	}
	require.Regexp(t, `(?m)^SECKILL_AUTH__SECRET=\w{32,}$`, string(text))
	require.NoError(t, os.WriteFile(path, text, 0o600))
}

func build(t *testing.T, r *reader, command string) {
	t.Helper()
	assert.Contains(t, makeWould(t, command), "go build -tags nomsgpack -o bin/seckill ./cmd/seckill")
	require.NoError(t, os.Mkdir(filepath.Join(r.folder, "bin"), 0o755))
	require.NoError(t, os.Symlink(plain, filepath.Join(r.folder, "bin/seckill")))
	r.servers = open(t, r.folder)
}

func inServers(says string) func(*testing.T, *reader, string) {
	return func(t *testing.T, r *reader, command string) {
		t.Helper()
		assert.Contains(t, r.servers.types(t, r.here(strings.Replace(command, "…", "Flash sale", 1))), says)
	}
}

func serveOnServers(t *testing.T, r *reader, command string) {
	t.Helper()
	r.served(t, slices.Concat(r.servers.variables(t), freePort), command)
	r.servers.types(t, "export SECKILL_ADMIN__ADDR="+strings.TrimPrefix(r.shop.admin, "http://"))
}

func auditOnServers(t *testing.T, r *reader, _ string) {
	t.Helper()
	assert.Contains(t, r.servers.types(t, "seckill audit"), "clean")
	assert.Contains(t, r.servers.types(t, "seckill audit --repair"), "clean")
	assert.Contains(t, r.servers.types(t, "seckill archive"), "nothing to archive")
}

// rushOnServers sends fewer buyers, to the address of the server.
func rushOnServers(t *testing.T, r *reader, command string) {
	t.Helper()
	fewer := strings.Replace(command, "--users 20000", "--users 1000", 1)
	require.NotEqual(t, command, fewer)
	out := r.servers.types(t, fewer+" --url "+r.shop.url)
	for _, part := range []string{"bought ", "paid", "cancelled", "AUDIT CLEAN"} {
		assert.Contains(t, out, part)
	}
}

// labRun runs in the terminal without the variables, so that the lab starts its own servers.
func labRun(t *testing.T, r *reader, line string) {
	t.Helper()
	out := r.first.types(t, command.ReplaceAllString(line, "seckill "))
	assert.Contains(t, out, "COMMIT")
	assert.Contains(t, out, "wrong 2, right 1")
}
