package mutation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// together is the source with all mutants in it at once, each asleep until the environment names it. So a package's
// tests are compiled and linked once and not for each mutant. It holds the mutants that change nothing but bodies of
// functions, or embedded files; the others get a build of their own.
type together struct {
	o       Options
	dir     string
	overlay string
	convert string          // the path of test2json
	holds   map[string]bool // by the mutant's name
	// originals are the files, below the root, that the copies are of, by the copies' names without their folder.
	originals map[string]string

	mu       sync.Mutex
	binaries map[binary]func() (path string, err error)
}

// binary names the tests of a package as they are compiled.
type binary struct {
	pkg  string
	race bool
}

// newTogether lays out the source. It leaves out mutants that do not compile together with the others, and all
// mutants of the same file. Call close in the end.
func newTogether(ctx context.Context, o Options, all []Mutant) (*together, error) {
	dir, err := os.MkdirTemp("", "seckill-mutants-")
	if err != nil {
		return nil, fmt.Errorf("mutation: %w", err)
	}
	t := &together{o: o, dir: dir, overlay: filepath.Join(dir, "overlay.json"), binaries: map[binary]func() (string, error){}}
	if t.convert, err = t.run(ctx, "tool", "-n", "test2json"); err != nil {
		return nil, fmt.Errorf("mutation: find test2json: %w\n%s", err, t.convert)
	}
	t.convert = strings.TrimSpace(t.convert)
	for broken := map[string]bool{}; ; {
		packages, err := t.write(all, broken)
		if err != nil || len(packages) == 0 {
			return t, err
		}
		said, err := t.run(ctx, slices.Concat([]string{"build", "-o", os.DevNull}, o.buildFlags(t.overlay, o.Race), packages)...)
		if err == nil || ctx.Err() != nil {
			return t, ctx.Err()
		}
		before := len(broken)
		for _, found := range sourceFile.FindAllStringSubmatch(said, -1) {
			// The compiler shortens the path of the folder, by its place and the working directory's.
			if original := t.originals[filepath.Base(found[1])]; original != "" {
				broken[original] = true
			}
		}
		if len(broken) == before {
			return t, fmt.Errorf("mutation: the mutants do not compile together: %w\n%s", err, said)
		}
	}
}

func (t *together) close() { _ = os.RemoveAll(t.dir) }

// sourceFile is the copy in which the compiler found an error.
var sourceFile = regexp.MustCompile(`(?m)^(.+\.go):\d+`)

// write lays out all mutants whose files are not broken and returns the packages that
// they are in.
func (t *together) write(all []Mutant, broken map[string]bool) (packages []string, err error) {
	t.holds, t.originals = map[string]bool{}, map[string]string{}
	found := map[string]*sleepers{} // by folder
	for _, m := range all {
		folder := packageOf(t.o.Root, m.file.OldName)
		if found[folder] == nil {
			if found[folder], err = readSleepers(t.o.Root, folder); err != nil {
				return nil, err
			}
		}
		if !broken[m.file.OldName] && found[folder].add(t.o.Root, m) {
			t.holds[m.Name()] = true
		}
	}
	return t.writeOverlay(found)
}

// writeOverlay writes the files that hold mutants, and the overlay that puts them in the place of
// the originals.
func (t *together) writeOverlay(found map[string]*sleepers) (packages []string, err error) {
	replace := map[string]string{}
	for i, folder := range slices.Sorted(maps.Keys(found)) {
		files := found[folder].files()
		if len(files) == 0 {
			continue
		}
		packages = append(packages, "./"+folder)
		for name, text := range files {
			original, err := filepath.Abs(filepath.Join(t.o.Root, folder, name))
			if err != nil {
				return nil, fmt.Errorf("mutation: %w", err)
			}
			copied := fmt.Sprintf("%d-%s", i, name)
			replace[original] = filepath.Join(t.dir, copied)
			t.originals[copied] = path.Join(folder, name)
			if err := os.WriteFile(replace[original], []byte(text), 0o600); err != nil {
				return nil, fmt.Errorf("mutation: %w", err)
			}
		}
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return nil, fmt.Errorf("mutation: %w", err)
	}
	if err := os.WriteFile(t.overlay, text, 0o600); err != nil {
		return nil, fmt.Errorf("mutation: %w", err)
	}
	return packages, nil
}

// test runs one killer with m awake, or with all asleep if it is nil.
func (t *together) test(ctx context.Context, k Killer, race bool, m *Mutant) (*testRun, error) {
	file, err := t.binary(ctx, binary{k.Package, race})
	if err != nil {
		return nil, err
	}
	flags := []string{"-overlay=" + t.overlay}
	var env []string
	if m != nil {
		env = append(env, awakeVariable+"="+m.Name())
		flags = append(flags, "-ldflags=-X="+m.symbol(t.o.Root)+"="+m.Name())
	}
	limit := timeout
	if m == nil {
		limit = wholeTimeout
	}
	return t.o.start(ctx, k, testCommand{
		args: []string{
			t.convert, "-t", "-p", k.Package, file, "-test.v=test2json", "-test.paniconexit0", "-test.failfast",
			"-test.timeout=" + limit.String(), "-test.run=" + k.Run,
		},
		dir: filepath.Join(t.o.Root, k.Package), env: env, flags: flags,
	})
}

// binary compiles the tests of a package at the first call.
func (t *together) binary(ctx context.Context, b binary) (string, error) {
	t.mu.Lock()
	compiled := t.binaries[b]
	if compiled == nil {
		path := filepath.Join(t.dir, fmt.Sprintf("%d.test", len(t.binaries)))
		compiled = sync.OnceValues(func() (string, error) {
			args := slices.Concat([]string{"test", "-c", "-vet=off", "-ldflags=-w", "-o", path}, t.o.buildFlags(t.overlay, b.race), []string{b.pkg})
			if said, err := t.run(ctx, args...); err != nil {
				return "", fmt.Errorf("mutation: compile the tests of %s: %w\n%s", b.pkg, err, said)
			}
			return path, nil
		})
		t.binaries[b] = compiled
	}
	t.mu.Unlock()
	return compiled()
}

// run runs go and returns its output.
func (t *together) run(ctx context.Context, args ...string) (string, error) {
	args = slices.Concat(t.o.Under, []string{"go"}, args)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // the patches are ours
	cmd.Dir = t.o.Root
	said, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return "", fmt.Errorf("mutation: %s: %w", strings.Join(args, " "), err)
	}
	return string(said), err
}
