package mutation

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// Mutant is one way to break one source file.
type Mutant struct {
	// Path is where the patch was read from.
	Path string
	// Mutation says in a sentence what no longer holds.
	Mutation string
	// Killers are the tests that must turn red, each alone.
	Killers []Killer
	// Quick marks a mutant that the ordinary tests try as well.
	Quick bool
	// Tries is how often it must be killed in as many tries, if timing is in it.
	Tries int
	// Race marks one that only the race detector sees.
	Race bool

	file *gitdiff.File
}

// Killer names tests as `go test` takes them.
type Killer struct {
	Package string // "./internal/lock"
	Run     string // the pattern of -run
}

func (c Killer) String() string { return c.Package + " -run " + c.Run }

// Load reads the patches of folders, sorted by name. A folder without any is an
// error: it was misspelt.
func Load(folders ...string) ([]Mutant, error) {
	var all []Mutant
	for _, folder := range folders {
		paths, err := filepath.Glob(filepath.Join(folder, "*.patch"))
		if err != nil {
			return nil, fmt.Errorf("mutation: %s: %w", folder, err)
		}
		if len(paths) == 0 {
			return nil, fmt.Errorf("mutation: no patch in %s", folder)
		}
		slices.Sort(paths)
		for _, path := range paths {
			m, err := read(path)
			if err != nil {
				return nil, fmt.Errorf("mutation: %s: %w", path, err)
			}
			all = append(all, m)
		}
	}
	return all, nil
}

// Folders finds every folder testdata/mutants below root/internal that holds patches.
func Folders(root string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || d.Name() != "mutants" {
			return err
		}
		if patches, _ := filepath.Glob(filepath.Join(path, "*.patch")); len(patches) > 0 {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("mutation: look for folders: %w", err)
	}
	return found, nil
}

func read(path string) (Mutant, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Mutant{}, fmt.Errorf("read: %w", err)
	}
	files, preamble, err := gitdiff.Parse(bytes.NewReader(text))
	if err != nil {
		return Mutant{}, fmt.Errorf("not a diff: %w", err)
	}
	if len(files) != 1 || files[0].IsNew || files[0].IsDelete || files[0].IsRename || len(files[0].TextFragments) == 0 {
		return Mutant{}, errors.New("a mutant changes exactly one file")
	}
	m := Mutant{Path: path, file: files[0]}
	return m, m.readHeader(preamble)
}

func (m *Mutant) readHeader(preamble string) error {
	for line := range strings.Lines(preamble) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "Mutation":
			m.Mutation = value
		case "Killed by":
			in, run, ok := strings.Cut(value, " -run ")
			if !ok || in == "" || run == "" {
				return fmt.Errorf("%q does not say which tests: ./package -run Pattern", value)
			}
			m.Killers = append(m.Killers, Killer{in, run})
		case "Quick":
			m.Quick = value == "yes"
		case "Race":
			m.Race = value == "yes"
		case "Tries":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 {
				return fmt.Errorf("%q is no number of tries", value)
			}
			m.Tries = n
		default:
			return fmt.Errorf("unknown line %q", line)
		}
	}
	if m.Mutation == "" || len(m.Killers) == 0 {
		return errors.New("it must say what the mutation is and what it is killed by")
	}
	return nil
}
