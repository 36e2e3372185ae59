package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/cmd/seckill/internal/cli"
)

func TestHelp_EveryCommand_FitsIn80Columns(t *testing.T) {
	t.Parallel()
	count := 0
	var check func(*cobra.Command)
	check = func(cmd *cobra.Command) {
		if cmd.Name() == "completion" || cmd.Hidden { // cobra's own texts
			return
		}
		count++
		_, out, complaint := typed(t, nil, append(strings.Fields(cmd.CommandPath())[1:], "--help")...)
		require.Empty(t, complaint)
		for line := range strings.Lines(out) {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), cli.HelpWidth, "%s: %s", cmd.CommandPath(), line)
		}
		for _, one := range cmd.Commands() {
			check(one)
		}
	}
	check(newRoot(cli.Console{}))
	require.Greater(t, count, 10)
}

func TestMigrate_OnlyTheDSN_AsksForNothingElse(t *testing.T) {
	t.Parallel()
	environ := []string{"SECKILL_MYSQL__DSN=user:password@tcp(127.0.0.1:1)/seckill?timeout=2s&readTimeout=5s&writeTimeout=5s"}
	code, _, complaint := typed(t, environ, "migrate")
	require.Equal(t, cli.ExitFail, code, complaint)
	require.Contains(t, complaint, "127.0.0.1:1")
	require.NotContains(t, complaint, "redis.addrs")
	require.NotContains(t, complaint, "auth.secret")
}

func TestLabRun_PageCannotBeWritten_NamesTheInput(t *testing.T) {
	t.Parallel()
	page := t.TempDir() + "/none/x.html"
	code, _, complaint := typed(t, nil, "lab", "run", "stale-holder", "--embedded", "--html", page)
	require.Equal(t, cli.ExitUsage, code)
	require.Contains(t, complaint, "--html: cannot write "+page+": no such file or directory")
	require.NotContains(t, complaint, ".lab-")
}
