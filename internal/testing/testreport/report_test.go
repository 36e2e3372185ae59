package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"example.com/seckill/internal/testing/gobuild"
	"example.com/seckill/internal/testing/testservers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tried writes a module with these test files, one a package, tests it and returns what was printed.
func tried(t *testing.T, keep string, allowSkips bool, files map[string]string) (*report, string) {
	t.Helper()
	return triedWith(t, options{keep: keep}, allowSkips, []string{"-count=1", "-vet=off", "-ldflags=-w", "-p=1"}, files)
}

func triedWith(t *testing.T, o options, allowSkips bool, flags []string, files map[string]string) (*report, string) {
	t.Helper()
	return triedIn(t, t.TempDir(), o, allowSkips, flags, files)
}

func triedIn(t *testing.T, dir string, o options, allowSkips bool, flags []string, files map[string]string) (*report, string) {
	t.Helper()
	files["go.mod"] = "module tiny\n\ngo 1.26.0\n"
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	t.Chdir(dir)
	var out strings.Builder
	r := &report{out: &out, now: time.Now, allowSkips: allowSkips, slowest: 3}
	o.first = []string{"d", "b"}
	require.NoError(t, run(t.Context(), r, o, append(flags, "./...")))
	return r, out.String()
}

// bothWays runs a test with the binaries that go test makes, or with those that are kept, in a folder that is
// empty: one of them is drawn.
func bothWays(t *testing.T, test func(t *testing.T, keep string)) {
	t.Helper()
	ways := map[string]string{"of go test": "", "kept": t.TempDir()}
	for _, way := range testservers.Sample(t, 1, slices.Sorted(maps.Keys(ways))) {
		t.Run(way, func(t *testing.T) { test(t, ways[way]) })
	}
}

func body(statement string) string {
	const imports = "import (\n\t\"testing\"\n\t\"time\"\n)\n\nvar _ = time.Now // whether the statement uses it or not\n\n"
	return "package x\n\n" + imports + "func TestIt(t *testing.T) { " + statement + " }\n\nfunc TestQuiet(t *testing.T) { t.Log(\"quiet\") }\n"
}

func TestARunThatPassesIsCountedAndItsTestsAreSilent(t *testing.T) { bothWays(t, runThatPasses) }

func runThatPasses(t *testing.T, keep string) {
	t.Helper()
	r, out := tried(t, keep, false, map[string]string{
		"a/a_test.go": body("time.Sleep(time.Second)"), "c/c.go": "package c\n",
		"b/b_test.go": body(`t.Run("inside", func(t *testing.T) { t.Log("loud") })`),
	})
	assert.True(t, r.ok())
	assert.Contains(t, out, "2 packages")
	assert.Contains(t, out, "2 of 2 packages")
	assert.Regexp(t, `the slowest tests:\n +[0-9.]+ s  tiny/a TestIt\n`, out)
	assert.Contains(t, out, "\n4 passed, 0 failed, 0 skipped\n")
	assert.NotContains(t, out, "loud")
	assert.Less(t, strings.Index(out, "tiny/b  "), strings.Index(out, "tiny/a  "), "b is to come first")
}

func TestWhatFailsIsPrintedAndWhatPassesIsNot(t *testing.T) { bothWays(t, runThatFails) }

func runThatFails(t *testing.T, keep string) {
	t.Helper()
	r, out := tried(t, keep, false, map[string]string{
		"a/a_test.go": body(`t.Run("inside", func(t *testing.T) { t.Error("it is wrong") })`), "b/b_test.go": body(""),
	})
	assert.False(t, r.ok())
	assert.Contains(t, out, "it is wrong")
	assert.NotContains(t, out, "quiet")
	assert.Contains(t, out, "\n3 passed, 1 failed, 0 skipped\n")
}

func TestWhatEndsOrDoesNotBuildFails(t *testing.T) { bothWays(t, runThatEnds) }

func runThatEnds(t *testing.T, keep string) {
	t.Helper()
	for name, test := range map[string]struct{ body, want string }{
		"a panic":           {body(`panic("it broke")`), "it broke"},
		"an unknown name":   {body(`missing()`), "undefined: missing"},
		"what is no Go":     {"package x\n\nfunc {\n", "expected 'IDENT'"},
		"a TestMain's word": {body("") + "\nfunc TestMain(m *testing.M) { m.Run(); println(\"left behind\"); panic(1) }\n", "left behind"},
	} {
		t.Run(name, func(t *testing.T) {
			r, out := tried(t, keep, false, map[string]string{"a/a_test.go": test.body, "b/b_test.go": body("")})
			assert.False(t, r.ok(), out)
			assert.Contains(t, out, test.want)
			assert.NotContains(t, out, ", 0 failed")
		})
	}
}

// TestWhatOnlyComputesHasNoRaceDetector tells the two apart by the tag that -race brings along.
func TestWhatOnlyComputesHasNoRaceDetector(t *testing.T) { bothWays(t, runWithoutRace) }

func runWithoutRace(t *testing.T, keep string) {
	t.Helper()
	files := map[string]string{}
	for _, pkg := range []string{"a", "b", "c"} {
		files[pkg+"/a_test.go"] = body(`t.Log("raced:", raced); t.Fail()`)
		files[pkg+"/race_test.go"] = "//go:build race\n\npackage x\n\nconst raced = \"" + pkg + " yes\"\n"
		files[pkg+"/norace_test.go"] = "//go:build !race\n\npackage x\n\nconst raced = \"" + pkg + " no\"\n"
	}
	r, out := triedWith(t, options{noRace: []string{"b"}, keep: keep}, false, append(gobuild.RaceFlags(), "-count=1", "-vet=off", "-p=2"), files)
	assert.False(t, r.ok(), "what fails in either fails")
	for _, want := range []string{"raced: a yes", "raced: b no", "raced: c yes", "3 of 3 packages", "3 passed, 3 failed"} {
		assert.Contains(t, out, want)
	}
}

func TestWhatIsSkippedFailsUnlessItMay(t *testing.T) {
	for _, may := range []bool{false, true} {
		r, out := tried(t, "", may, map[string]string{"a/a_test.go": body(`t.Skip("needs a moon")`), "b/b_test.go": body(`t.Run("inside", func(t *testing.T) { t.Skip("needs a moon") })`)})
		assert.Equal(t, may, r.ok())
		assert.Regexp(t, `(?m)^ +2 +needs a moon$`, out)
		assert.Contains(t, out, "3 passed, 0 failed, 2 skipped")
		assert.Equal(t, !may, strings.Contains(out, "nothing may be left out"))
	}
}

// TestWhatIsNotDrawnIsCountedAndNoFailure also holds the words to those of package testservers.
func TestWhatIsNotDrawnIsCountedAndNoFailure(t *testing.T) {
	assert.Equal(t, testservers.NotDrawn, notDrawn)
	r, out := tried(t, "", false, map[string]string{"a/a_test.go": body(`t.Skip("` + testservers.NotDrawn + ` 7")`), "b/b_test.go": body("")})
	assert.True(t, r.ok())
	assert.Contains(t, out, "\n3 passed, 0 failed, 0 skipped, 1 not drawn this time\n")
}

// TestWhatHasNotChangedIsNotLinkedAgain changes one of two packages. A file that is written anew is another file; its
// time go sets in any case.
func TestWhatHasNotChangedIsNotLinkedAgain(t *testing.T) {
	dir, keep := t.TempDir(), t.TempDir()
	linked := func(a string) (files []os.FileInfo) {
		_, out := triedIn(t, dir, options{keep: keep}, false, []string{"-count=1", "-vet=off"},
			map[string]string{"a/a_test.go": body(a), "b/b_test.go": body("")})
		for _, pkg := range []string{"a", "b"} {
			info, err := os.Stat(filepath.Join(keep, "tiny", pkg+".test"))
			require.NoError(t, err, out)
			files = append(files, info)
		}
		return files
	}
	first, again := linked(`t.Log("one")`), linked(`t.Log("two")`)
	assert.False(t, os.SameFile(first[0], again[0]), "it has changed")
	assert.True(t, os.SameFile(first[1], again[1]))
}

// TestWhatAPackageCostsIsToldWithItsProcesses has the work done by a process of the test.
func TestWhatAPackageCostsIsToldWithItsProcesses(t *testing.T) {
	works := "package x\n\nimport (\n\t\"os/exec\"\n\t\"testing\"\n)\n\nfunc TestIt(t *testing.T) {\n" +
		"\t_ = exec.Command(\"sh\", \"-c\", \"i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done\").Run()\n}\n"
	r, out := tried(t, t.TempDir(), false, map[string]string{"a/a_test.go": body(""), "b/b_test.go": works})
	require.Len(t, r.costs, 2)
	assert.Equal(t, "tiny/b", r.costs[0].pkg)
	assert.Greater(t, r.costs[0].processor, r.costs[1].processor+100*time.Millisecond)
	assert.Contains(t, out, "processor time of the dearest packages")
}

// TestAProcessThatIsLeftWithTheOutputFails leaves one that lives for longer than the output is waited for.
func TestAProcessThatIsLeftWithTheOutputFails(t *testing.T) {
	leaves := "package x\n\nimport (\n\t\"os\"\n\t\"os/exec\"\n\t\"testing\"\n)\n\n" +
		"func TestIt(t *testing.T) { c := exec.Command(\"sleep\", \"60\"); c.Stdout = os.Stdout; _ = c.Start() }\n"
	began := time.Now()
	r, out := tried(t, t.TempDir(), false, map[string]string{"a/a_test.go": leaves, "b/b_test.go": body("")})
	assert.False(t, r.ok(), out)
	assert.Contains(t, out, exec.ErrWaitDelay.Error())
	assert.Less(t, time.Since(began), 50*time.Second)
}

func TestAFlagThatIsNotKnownIsNamed(t *testing.T) {
	for _, flag := range []string{"-fuzz=It", "30m", "-p=many", "-timeout=long"} {
		_, err := parted([]string{"-race", flag})
		require.ErrorContains(t, err, flag)
	}
}

// watched is what was printed, and how long nothing was at most.
type watched struct {
	strings.Builder

	last   time.Time
	silent time.Duration
}

func (w *watched) Write(p []byte) (int, error) {
	if !w.last.IsZero() {
		w.silent = max(w.silent, time.Since(w.last))
	}
	w.last = time.Now()
	return w.Builder.Write(p)
}

func TestALineComesAtLeastEveryTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out watched
		r := &report{out: &out, now: time.Now}
		all := make(chan event)
		go func() {
			defer close(all)
			time.Sleep(25 * time.Second)
			all <- event{Action: "start", Package: "example.com/seckill/internal/slow"}
			all <- event{Action: "run", Package: "example.com/seckill/internal/slow", Test: "TestLong"}
			time.Sleep(time.Minute)
			all <- event{Action: "pass", Package: "example.com/seckill/internal/slow", Test: "TestLong", Elapsed: 60}
			all <- event{Action: "pass", Package: "example.com/seckill/internal/slow", Elapsed: 60}
		}()
		r.begin(2)
		time.Sleep(time.Second / 2) // between two looks
		r.follow(all)
		assert.LessOrEqual(t, out.silent, 10*time.Second, out.String())
		assert.Equal(t, 2, strings.Count(out.String(), "compiling"), out.String())
		assert.Equal(t, 7, strings.Count(out.String(), "internal/slow TestLong ("), out.String())
		assert.Contains(t, out.String(), "1 of 2 packages after 1m25s")
	})
}

func TestNoTestsAtAllIsNoSuccess(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("go.mod", []byte("module tiny\n\ngo 1.26.0\n"), 0o600))
	require.NoError(t, os.WriteFile("a.go", []byte("package a\n"), 0o600))
	r := &report{out: &strings.Builder{}, now: time.Now}
	require.ErrorContains(t, run(t.Context(), r, options{}, []string{"-count=1", "./..."}), "no tests in ./...")
}
