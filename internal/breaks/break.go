package breaks

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
)

// Break is one way to break one source file.
type Break struct {
	// Path is where the patch was read from.
	Path string
	// Broken says in a sentence what no longer holds.
	Broken string
	// Catchers are the tests that must turn red, each alone.
	Catchers []Catcher
	// Quick marks a break that the ordinary tests try as well.
	Quick bool

	file *gitdiff.File
}

// Catcher names tests as `go test` takes them.
type Catcher struct {
	Package string // "./internal/lock"
	Run     string // the pattern of -run
}

func (c Catcher) String() string { return c.Package + " -run " + c.Run }

// Load reads the patches of folders, sorted by name. A folder without any is an
// error: it was misspelt.
func Load(folders ...string) ([]Break, error) {
	var all []Break
	for _, folder := range folders {
		paths, err := filepath.Glob(filepath.Join(folder, "*.patch"))
		if err != nil {
			return nil, fmt.Errorf("breaks: %s: %w", folder, err)
		}
		if len(paths) == 0 {
			return nil, fmt.Errorf("breaks: no patch in %s", folder)
		}
		slices.Sort(paths)
		for _, path := range paths {
			b, err := read(path)
			if err != nil {
				return nil, fmt.Errorf("breaks: %s: %w", path, err)
			}
			all = append(all, b)
		}
	}
	return all, nil
}

// Folders finds every folder called breaks below root/internal that holds patches.
func Folders(root string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || d.Name() != "breaks" {
			return err
		}
		if patches, _ := filepath.Glob(filepath.Join(path, "*.patch")); len(patches) > 0 {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("breaks: look for folders: %w", err)
	}
	return found, nil
}

func read(path string) (Break, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Break{}, fmt.Errorf("read: %w", err)
	}
	files, preamble, err := gitdiff.Parse(bytes.NewReader(text))
	if err != nil {
		return Break{}, fmt.Errorf("not a diff: %w", err)
	}
	if len(files) != 1 || files[0].IsNew || files[0].IsDelete || files[0].IsRename || len(files[0].TextFragments) == 0 {
		return Break{}, errors.New("a break changes exactly one file")
	}
	b := Break{Path: path, file: files[0]}
	return b, b.readHeader(preamble)
}

func (b *Break) readHeader(preamble string) error {
	for line := range strings.Lines(preamble) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "Broken":
			b.Broken = value
		case "Caught by":
			in, run, ok := strings.Cut(value, " -run ")
			if !ok || in == "" || run == "" {
				return fmt.Errorf("%q does not say which tests: ./package -run Pattern", value)
			}
			b.Catchers = append(b.Catchers, Catcher{in, run})
		case "Quick":
			b.Quick = value == "yes"
		default:
			return fmt.Errorf("unknown line %q", line)
		}
	}
	if b.Broken == "" || len(b.Catchers) == 0 {
		return errors.New("it must say what is broken and what it is caught by")
	}
	return nil
}
