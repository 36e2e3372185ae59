package mutation

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Result is one line of the file of results.
type Result struct {
	Name string `json:"name"`
	// Hash is that of what was tried: see Mutant.hash.
	Hash string `json:"hash"`
	Outcome
}

// results are the last outcome of each mutant, and the file that they are added to.
type results struct {
	path string // "" keeps them for this run only
	last map[string]Result
}

// loadResults reads what an earlier run has written. A last line that was torn when that
// run was killed is dropped.
func loadResults(path string) (*results, error) {
	r := &results{path: path, last: map[string]Result{}}
	if path == "" {
		return r, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err != nil {
		return nil, fmt.Errorf("mutation: read the results: %w", err)
	}
	end := bytes.LastIndexByte(text, '\n') + 1
	if end < len(text) {
		if err := os.Truncate(path, int64(end)); err != nil {
			return nil, fmt.Errorf("mutation: drop a torn line: %w", err)
		}
	}
	for line := range bytes.Lines(text[:end]) {
		var one Result
		if err := json.Unmarshal(line, &one); err != nil {
			return nil, fmt.Errorf("mutation: %s: %w", path, err)
		}
		r.last[one.Name] = one
	}
	return r, nil
}

// keep adds a result to the file before the next mutant is begun.
func (r *results) keep(one Result) error {
	r.last[one.Name] = one
	if r.path == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(r.path), 0o750); err != nil {
		return fmt.Errorf("mutation: %w", err)
	}
	f, err := os.OpenFile(r.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // it is for all to read
	if err != nil {
		return fmt.Errorf("mutation: %w", err)
	}
	if err := errors.Join(json.NewEncoder(f).Encode(one), f.Close()); err != nil {
		return fmt.Errorf("mutation: keep a result: %w", err)
	}
	return nil
}

// Tidy writes the file of results anew, with the last of each mutant alone, by name.
func Tidy(o Options, all []Mutant) error {
	kept, err := loadResults(o.Results)
	if err != nil || o.Results == "" {
		return err
	}
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	for _, m := range all {
		one, ok := kept.last[m.Name()]
		if !ok {
			continue
		}
		if err := lines.Encode(one); err != nil {
			return fmt.Errorf("mutation: %w", err)
		}
	}
	tidy := o.Results + ".tidy"
	if err := os.WriteFile(tidy, text.Bytes(), 0o644); err != nil { //nolint:gosec // it is for all to read
		return fmt.Errorf("mutation: %w", err)
	}
	if err := os.Rename(tidy, o.Results); err != nil {
		return fmt.Errorf("mutation: %w", err)
	}
	return nil
}

// of returns the last result of m, if there is one, and reports whether it still holds:
// nothing that it concerns has changed, and it was tried as often as is asked for now.
func (r *results) of(m Mutant, o Options) (Result, bool, error) {
	hash, err := m.hash(o.Root)
	if err != nil {
		return Result{}, false, err
	}
	one, ok := r.last[m.Name()]
	return one, ok && one.Hash == hash && one.Verdict.settled() && one.Tries >= o.triesOf(m), nil
}

// hash is that of the patch and of all files but documents in the folders of the mutated file,
// of the killers' packages and of the suite that the patch is beside, whose cases several
// packages may run. What else these import is not in it, or every commit would begin the table
// anew: a change there is noticed only by a run with Options.Fresh.
func (m Mutant) hash(root string) (string, error) {
	folders := []string{filepath.Dir(m.file.OldName)}
	for _, k := range m.Killers {
		folders = append(folders, filepath.Clean(k.Package))
	}
	if suite, err := filepath.Rel(root, m.suite()); err == nil && filepath.IsLocal(suite) {
		folders = append(folders, suite)
	}
	slices.Sort(folders)
	paths := []string{m.Path}
	for _, folder := range slices.Compact(folders) {
		entries, err := os.ReadDir(filepath.Join(root, folder))
		if err != nil {
			return "", fmt.Errorf("mutation: %s: %w", m.Path, err)
		}
		for _, e := range entries {
			if e.Type().IsRegular() && filepath.Ext(e.Name()) != ".md" {
				paths = append(paths, filepath.Join(root, folder, e.Name()))
			}
		}
	}
	sum := sha256.New()
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("mutation: %w", err)
		}
		_, _ = fmt.Fprintf(sum, "%s %d\n%s", filepath.Base(path), len(text), text)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}
