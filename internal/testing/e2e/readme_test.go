package e2e_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
)

var (
	// shown is what a reader may type: a block, or a command in the text, which may be there again.
	shown   = regexp.MustCompile("(?s)```sh\n(.*?)```|`((?:go run|go test|make|docker|bin/seckill|seckill|lab run) [^`\n]+)`")
	remark  = regexp.MustCompile(`\s+#\s.*$`)
	title   = regexp.MustCompile(`"title":"[^"]*"`)
	command = regexp.MustCompile(`^(?:go run -tags nomsgpack \./cmd/seckill|bin/seckill|seckill) ?`)
)

// commands returns the commands of a README, each where a reader first meets it.
func commands(t *testing.T, path string) (all []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	require.NoError(t, err)
	for _, m := range shown.FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(strings.ReplaceAll(m[1], "\\\n  ", "") + m[2]) {
			line = remark.ReplaceAllString(strings.TrimSpace(line), "")
			if m[1] != "" || !slices.Contains(all, line) {
				all = append(all, line)
			}
		}
	}
	return all
}

const root = "../../.."

// reader does what the README says, in a folder of its own and on ports of its own.
type reader struct {
	folder  string
	shop    *instance // what was served last
	first   *terminal // without servers
	servers *terminal // with the variables of .env
}

// READMEs tell what to type, and a reader who does is told what they say. What would take long, or
// needs what is not here, is looked at as far as can be, and says why.
func TestREADME_Commands_DoWhatIsWritten(t *testing.T) {
	t.Parallel()
	testservers.Need(t, testservers.Servers)
	english := commands(t, "README.md")
	chinese := commands(t, "README.zh-CN.md")
	for _, all := range [][]string{english, chinese} {
		for i := range all {
			all[i] = title.ReplaceAllString(all[i], `"title":"…"`)
		}
	}
	slices.Sort(chinese)
	chinese = slices.Compact(chinese)
	sorted := slices.Compact(slices.Sorted(slices.Values(english)))
	require.Equal(t, sorted, chinese, "both have the same")

	steps := theSteps()
	var known []string
	for _, s := range steps {
		known = append(known, s.command)
	}
	require.Equal(t, known, english, "what the README has, and what is tried here, in its order")
	r := &reader{folder: t.TempDir()}
	for _, s := range steps {
		t.Logf("$ %s", s.command)
		s.do(t, r, s.command)
		if s.why != "" {
			t.Logf("  looked at only: %s", s.why)
		}
		require.False(t, t.Failed(), s.command)
	}
}

// step is a command and what a reader sees; why says what kept it from being run.
type step struct {
	command, why string
	do           func(t *testing.T, r *reader, command string)
}

func theSteps() []step {
	const long = "it takes minutes, and has tests of its own"
	return []step{
		{command: "go run -tags nomsgpack ./cmd/seckill demo", do: demo},
		{command: "make demo", why: "the step before has run it", do: made("go run -tags nomsgpack ./cmd/seckill demo")},
		{command: "go run -tags nomsgpack ./cmd/seckill demo --open", why: "it opens a browser", do: nothing},
		{command: "go run -tags nomsgpack ./cmd/seckill serve", do: serveEmbedded},
		{command: "url=http://127.0.0.1:8080/api/v1", do: inFirst("")},
		{
			command: `token=$(curl -s $url/sessions -H 'Content-Type: application/json' -d '{"user_id":"42"}' | sed 's/.*"token":"\([^"]*\)".*/\1/')`,
			do:      inFirst(""),
		},
		{
			command: `curl -i -X POST $url/coupons/1/orders -H "Authorization: Bearer $token" -H 'Idempotency-Key: my-first'`,
			do:      buyTwice,
		},
		{command: "make loadtest", why: "its scripts have tests of their own", do: made("loadtest/run.sh")},
		{command: "go run -tags nomsgpack ./internal/testing/bench/cmd/bench", why: long, do: aProgram},
		{command: "go run -tags nomsgpack ./cmd/seckill lab run unlock-before-commit", do: labRun},
		{command: "go run -tags nomsgpack ./cmd/seckill demo --compare", why: long, do: nothing},
		{command: "make chaos", why: long, do: made("bin/seckill-chaos chaos", "--html bin/chaos.html")},
		{command: "make up", why: "it needs docker", do: containersOf("mysql", "redis")},
		{command: "make .env", do: writeEnv},
		{command: "make build", why: "the tests have built it", do: build},
		{command: "set -a; . ./.env; set +a", do: inServers("")},
		{command: "bin/seckill migrate", do: inServers("applied ")},
		{command: "bin/seckill check", do: inServers("fine")},
		{command: "bin/seckill serve", do: serveOnServers},
		{command: "set -a; . ./.env; set +a", do: inServers("")},
		{command: "url=http://127.0.0.1:8080/api/v1", do: inServers("")},
		{command: "admin=$(bin/seckill token --user 1 --role admin)", do: inServers("")},
		{
			command: `curl -X POST $url/admin/coupons -H "Authorization: Bearer $admin" -H 'Content-Type: application/json' ` +
				`-d '{"title":"…","stock":2000,"limit_per_user":1,"begins_at":"2026-01-01T00:00:00Z","ends_at":"2036-01-01T00:00:00Z"}'`,
			do: inServers(`"id":"1"`),
		},
		{command: `curl -X POST $url/admin/coupons/1/publication -H "Authorization: Bearer $admin"`, do: inServers(`"state":"on_sale"`)},
		{command: "bin/seckill rush --users 20000 --pay-percent 10 --cancel-percent 10", do: rushOnServers},
		{command: "bin/seckill audit", do: auditOnServers},
		{command: "bin/seckill help", do: inServers("lab")},
		{command: "make test", why: long, do: made("gotestsum", "-race")},
	}
}
