package e2e_test

import (
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/repository"
	"example.com/seckill/internal/tools/lab"
	"example.com/seckill/internal/tools/lab/harness"
)

// onServers are the commands of the program that need a MySQL and a Redis, or the address of an instance.
var onServers = []string{"archive", "audit", "chaos", "check", "health", "migrate", "seed"}

// documents runs the commands of the documents on a machine without servers.
type documents struct {
	shop   *instance      // nil before the first document starts one
	rushes int64          // so that each has its own buyers
	ran    map[string]int // by command of the program
}

// Every command for users that ends by itself and needs no server succeeds, in reading order. The sales are smaller
// than those of the documents. An experiment that the embedded Redis cannot show is read from its recording.
func TestDocuments_CommandsWithoutServers_Succeed(t *testing.T) {
	t.Parallel()
	all, err := repository.Commands(root)
	require.NoError(t, err)
	d, done := documents{ran: map[string]int{}}, map[string]bool{}
	for _, c := range all {
		args, isProgram := c.Program()
		switch {
		case isProgram && len(args) > 0:
			if line := strings.Join(args, " "); !done[line] {
				done[line] = true
				d.run(t, c, args)
			}
		case len(c.Args) > 0 && c.Args[0] == "grep":
			cmd := exec.CommandContext(t.Context(), c.Args[0], c.Args[1:]...)
			cmd.Dir = root
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s\n%s", c, out)
		}
		require.False(t, t.Failed(), c.String())
	}
	for _, name := range []string{"demo", "lab run", "lab list", "lab gallery", "rush"} {
		assert.Positive(t, d.ran[name], "no document shows %s", name)
	}
}

// run runs one command of the program.
func (d *documents) run(t *testing.T, c repository.Command, args []string) {
	t.Helper()
	name := args[0]
	if name == "lab" && len(args) > 1 {
		name += " " + args[1]
	}
	env := []string{"SECKILL_AUTH__SECRET=" + secret}
	switch name {
	case "serve":
		d.serve(t, args)
		return
	case "demo":
		if slices.Contains(args, "--keep-serving") || slices.Contains(args, "--open") {
			return // it serves until Ctrl-C
		}
		args = append(args, "--users", "300", "--stock", "20")
	case "rush":
		if d.shop == nil {
			d.serve(t, []string{"serve"})
		}
		d.rushes++
		args = append(args, "--url", d.shop.url, "--users", "200", "--first-user", strconv.FormatInt(1000*d.rushes, 10))
	case "lab run":
		args = append(args, labFlags(t, args[2:])...)
	case "lab list", "lab gallery", "token", "version":
	default:
		require.Contains(t, onServers, args[0], "%s: say how to run it here", c)
		return
	}
	d.ran[name]++
	p := launchBuild(t, plain, nil, env, args...)
	assert.Zero(t, p.await(t, busy), "%s\n%s%s", c, p.out.String(), p.err.String())
	switch name {
	case "demo":
		assert.Contains(t, p.out.String(), "AUDIT CLEAN", c)
	case "rush":
		assert.Contains(t, p.out.String(), "AUDIT CLEAN", c)
	default:
		assert.NotEmpty(t, p.out.String(), c)
	}
}

// serve starts an instance on embedded stores. One is enough for all documents.
func (d *documents) serve(t *testing.T, args []string) {
	t.Helper()
	if slices.Contains(args, "--config") || d.shop != nil {
		return
	}
	env := append([]string{"SECKILL_AUTH__SECRET=" + secret}, freePort...)
	d.shop = &instance{process: launchBuild(t, plain, nil, env, args...)}
	d.shop.url, d.shop.admin = d.shop.serving(t)
}

// labFlags returns what a command needs in addition, to play an experiment here or to show its recording.
func labFlags(t *testing.T, args []string) []string {
	t.Helper()
	switch {
	case slices.Contains(args, "--recorded"), slices.Contains(args, "--embedded"):
		return nil
	case args[0] == "all":
		return []string{"--recorded"}
	}
	e, err := lab.Find(args[0])
	require.NoError(t, err)
	if _, err := (harness.Config{Embedded: true}).Hosts(e.Needs); err != nil {
		return []string{"--recorded"}
	}
	return []string{"--embedded"}
}
