package repository_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/repository"
)

// others are commands of the system that the documents use. A command that is neither among them nor one of this
// repository is a mistake of the document.
var others = []string{".", "cd", "curl", "export", "git", "grep", "openssl", "sed", "set"}

// A test of cmd/seckill holds the commands of the program.
func TestDocuments_CommandsForUsers_AreThere(t *testing.T) {
	commands, err := repository.Commands(root)
	require.NoError(t, err)
	require.NotEmpty(t, commands)
	makefile := read(t, "Makefile")
	for _, c := range commands {
		if err := check(t, makefile, c); err != nil {
			t.Errorf("%s: %v", c, err)
		}
	}
}

// check returns an error if a command cannot work in this repository.
func check(t *testing.T, makefile string, c repository.Command) error {
	t.Helper()
	if _, is := c.Program(); is || len(c.Args) == 0 {
		return nil
	}
	switch name := c.Args[0]; {
	case name == "go":
		return checkGo(c.Args[1:])
	case name == "make":
		return checkMake(t, makefile, c)
	case name == "bin/k6" && len(c.Args) > 2 && c.Args[1] == "run":
		return checkK6(t, c)
	case strings.Contains(name, "/"):
		return checkScript(t, name, namesOf(c.Env))
	case !slices.Contains(others, name):
		return fmt.Errorf("unknown command %s", name)
	}
	return nil
}

// checkGo checks that a package that go runs or tests is there.
func checkGo(args []string) error {
	if len(args) == 0 || !slices.Contains([]string{"build", "run", "test"}, args[0]) {
		return fmt.Errorf("unknown command go %s", strings.Join(args, " "))
	}
	for _, arg := range args[1:] {
		folder, isLocal := strings.CutPrefix(strings.TrimSuffix(arg, "/..."), "./")
		if !isLocal {
			continue
		}
		if sources, _ := filepath.Glob(filepath.Join(root, folder, "*.go")); len(sources) == 0 && !strings.HasSuffix(arg, "...") {
			return fmt.Errorf("no package %s", arg)
		}
	}
	return nil
}

// script is a path of a script in the recipe of a target.
var script = regexp.MustCompile(`(?m)^\t@?((?:\.ci|loadtest)/[\w./-]+)`)

// checkMake checks that the Makefile has the targets, and that one of them uses each variable.
func checkMake(t *testing.T, makefile string, c repository.Command) error {
	t.Helper()
	var recipes, scripts strings.Builder
	var variables []string
	for _, arg := range c.Args[1:] {
		if name, _, isVariable := strings.Cut(arg, "="); isVariable {
			variables = append(variables, name)
			continue
		}
		rule := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(arg) + `:.*\n(?:\t.*\n|.*\\\n)*`)
		found := rule.FindAllString(makefile, -1)
		if found == nil {
			return fmt.Errorf("the Makefile has no target %s", arg)
		}
		recipes.WriteString(strings.Join(found, ""))
	}
	for _, m := range script.FindAllStringSubmatch(recipes.String(), -1) {
		scripts.WriteString(readScript(t, m[1]))
	}
	for _, name := range append(variables, namesOf(c.Env)...) {
		isUsed := strings.Contains(recipes.String(), "$("+name+")") || uses(scripts.String(), name) ||
			strings.Contains(makefile, "export "+name+" ")
		if !isUsed {
			return fmt.Errorf("no target of %q uses the variable %s", c.Text, name)
		}
	}
	return nil
}

// checkScript checks that a script is there, and that it uses each variable.
func checkScript(t *testing.T, path string, variables []string) error {
	t.Helper()
	info, err := os.Stat(filepath.Join(root, path))
	switch {
	case err != nil:
		return fmt.Errorf("no script %s", path)
	case info.Mode()&0o100 == 0:
		return fmt.Errorf("the script %s is not executable", path)
	}
	text := readScript(t, path)
	for _, name := range variables {
		if !uses(text, name) {
			return fmt.Errorf("the script %s does not use the variable %s", path, name)
		}
	}
	return nil
}

// checkK6 checks that the script that k6 runs is there, and that it uses each variable. The variables of k6 itself begin
// with K6_.
func checkK6(t *testing.T, c repository.Command) error {
	t.Helper()
	path := c.Args[len(c.Args)-1]
	if _, err := os.Stat(filepath.Join(root, path)); err != nil {
		return fmt.Errorf("no script %s", path)
	}
	text := readScript(t, path)
	for _, name := range namesOf(c.Env) {
		if !uses(text, name) && !strings.HasPrefix(name, "K6_") {
			return fmt.Errorf("the script %s does not use the variable %s", path, name)
		}
	}
	return nil
}

// readScript returns the text of a script and of the JavaScript files in its folder, which k6 runs for it.
func readScript(t *testing.T, path string) string {
	t.Helper()
	var text strings.Builder
	text.WriteString(read(t, path))
	files, err := filepath.Glob(filepath.Join(root, filepath.Dir(path), "*.js"))
	require.NoError(t, err)
	for _, file := range files {
		text.WriteString(read(t, strings.TrimPrefix(file, root+"/")))
	}
	return text.String()
}

// uses reports whether a script reads a variable of the environment, or has it in the table of loadtest/settings.js.
func uses(text, variable string) bool {
	return regexp.MustCompile(`\$\{?` + variable + `\b|: '` + variable + `',|\benv\.` + variable + `\b`).MatchString(text)
}

func namesOf(assignments []string) (all []string) {
	for _, a := range assignments {
		name, _, _ := strings.Cut(a, "=")
		all = append(all, name)
	}
	return all
}

// Each of the commands is a mistake that a document may have.
func TestCheck_WrongCommands_AreErrors(t *testing.T) {
	makefile := read(t, "Makefile")
	for command, want := range map[string]string{
		"k7 run spike.js":                        "unknown command k7",
		"go fetch ./cmd/seckill":                 "unknown command go fetch",
		"go run ./cmd/secskill":                  "no package ./cmd/secskill",
		"make loadtests":                         "no target loadtests",
		"make loadtest LT_PEEK=200":              "the variable LT_PEEK",
		"make loadtest PEAK=200":                 "the variable PEAK",
		"make chaos BENCH=-quick":                "the variable BENCH",
		"loadtest/runs.sh":                       "no script loadtest/runs.sh",
		"loadtest/smoke.js":                      "is not executable",
		"LT_PEEK=200 loadtest/run.sh":            "the variable LT_PEEK",
		"bin/k6 run loadtest/spikes.js":          "no script loadtest/spikes.js",
		"LT_PEEK=1 bin/k6 run loadtest/spike.js": "the variable LT_PEEK",
		"x=$(k7 version) make build":             "unknown command k7",
		"make build; k7 version":                 "unknown command k7",
		"curl http://127.0.0.1 | jqq -r":         "unknown command jqq",
	} {
		require.ErrorContains(t, checkText(t, makefile, command), want, command)
	}
	for _, command := range []string{
		"make loadtest LT_PEAK=200 LT_SCENARIOS=spike", `make chaos CHAOS="--rounds 5"`, "make test TEST_SEED=7",
		"LT_SOAK_DURATION=2m loadtest/run.sh", "K6_OUT=json=spike.json LT_URL=http://127.0.0.1:8080 bin/k6 run loadtest/spike.js",

		`curl -d '{"a; k7": "b"}' "$url/$(curl x)" >k7 2>k7 # k7`, "go test ./internal/...",
	} {
		require.NoError(t, checkText(t, makefile, command), command)
	}
}

// checkText checks a line as if a document had it.
func checkText(t *testing.T, makefile, line string) error {
	t.Helper()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "README.md"), []byte("```sh\n"+line+"\n```\n"), 0o600))
	commands, err := repository.Commands(folder)
	require.NoError(t, err)
	for _, c := range commands {
		if err := check(t, makefile, c); err != nil {
			return err
		}
	}
	return nil
}
