package testservers

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/gofrs/flock"

	"example.com/seckill/internal/testing/gobuild"
)

// built keeps the programs open for as long as the tests run, by package and flags. The list sources has the files
// that they were built from.
var (
	building sync.Mutex
	built    = map[string]*os.File{}
	sources  []string
)

// BuildFlags returns the flags by which the tests were built, if they were by the Makefile: with
// others, a program that they start would be compiled from scratch.
func BuildFlags(tags ...string) []string {
	flags := []string{"-tags=" + strings.Join(append(tags, "nomsgpack"), ",")}
	if race {
		flags = append(flags, gobuild.RaceFlags()...)
	}
	return flags
}

// DrawnFlags returns BuildFlags, with the race detector in one of eight runs. TEST_SEED and the package of the tests
// draw the run. It is for fleets of programs: the detector makes each three times as slow. With TEST_ALL it always
// is.
func DrawnFlags(tags ...string) []string {
	flags := BuildFlags(tags...)
	folder, _ := os.Getwd()
	if All() || rand.New(rand.NewPCG(seed, hash(filepath.Base(folder)))).IntN(8) == 0 {
		return flags
	}
	return flags[:1]
}

// BuildDrawn is Build with DrawnFlags.
func BuildDrawn(pkg string, tags ...string) (path string, err error) {
	return build(pkg, DrawnFlags(tags...))
}

// Build compiles a program, with the race detector if the tests have it, and returns the path to
// run it by. It is run through a descriptor: its file, in bin/tests, is there to be linked again only if
// something has changed, and may be replaced by other tests meanwhile.
func Build(pkg string, tags ...string) (path string, err error) {
	return build(pkg, BuildFlags(tags...))
}

// BuildPlain is Build without the race detector, which makes a program several times as slow. It is for tests of a
// program's output and not of its goroutines. With TEST_ALL it is Build.
func BuildPlain(pkg string) (path string, err error) {
	if All() {
		return Build(pkg)
	}
	return build(pkg, BuildFlags()[:1])
}

func build(pkg string, flags []string) (path string, err error) {
	building.Lock()
	defer building.Unlock()
	key := pkg + " " + strings.Join(flags, " ")
	if open, again := built[key]; again {
		return openPath(open), nil
	}
	open, err := buildFile(pkg, flags)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", pkg, err)
	}
	built[key] = open
	if resultIsKept() {
		if err := addSources(pkg, flags[0]); err != nil {
			return "", fmt.Errorf("build %s: %w", pkg, err)
		}
	}
	return openPath(open), nil
}

// buildFile builds the file of a program, and opens it before other tests can replace it.
func buildFile(pkg string, flags []string) (*os.File, error) {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return nil, fmt.Errorf("find the module: %w", err)
	}
	folder := filepath.Join(strings.TrimSpace(string(root)), "bin", "tests", "programs")
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return nil, err
	}
	file := filepath.Join(folder, fmt.Sprintf("%s-%x", filepath.Base(pkg), hash(strings.Join(flags, " "))))
	lock := flock.New(file + ".lock")
	if err := lock.Lock(); err != nil {
		return nil, fmt.Errorf("lock %s: %w", file, err)
	}
	defer func() { _ = lock.Close() }() // which unlocks it
	if err := gobuild.Build(context.Background(), "", file, pkg, append(flags, "-ldflags=-w")...); err != nil {
		return nil, err
	}
	return os.Open(file)
}

// resultIsKept reports whether go test may keep the result of this run. Then the tests write a log of the files that
// they read.
func resultIsKept() bool {
	if !flag.Parsed() {
		flag.Parse() // TestMain comes before
	}
	return flag.Lookup("test.testlogfile").Value.String() != ""
}

// addSources lists the files of this module that a program is built from.
func addSources(pkg, tags string) error {
	const files = `{{$dir := .Dir}}{{if .Module}}{{if .Module.Main}}{{range .GoFiles}}{{$dir}}/{{.}}{{"\n"}}{{end}}` +
		`{{range .EmbedFiles}}{{$dir}}/{{.}}{{"\n"}}{{end}}{{end}}{{end}}`
	cmd := exec.Command("go", "list", "-deps", tags, "-f", files, pkg)
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("list its files: %w", err)
	}
	for line := range strings.Lines(string(out)) { // a folder's name may have spaces
		sources = append(sources, strings.TrimSuffix(line, "\n"))
	}
	return nil
}

// DependOnSources makes the calling test depend on the files of the programs that were built. Otherwise go test
// keeps the result of a test while the files that it imports or reads do not change.
func DependOnSources() {
	building.Lock()
	defer building.Unlock()
	for _, file := range sources {
		_, _ = os.Stat(file)
	}
}
