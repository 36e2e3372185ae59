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
	// Hash is the hash of the files that the run tried: see Mutant.hash.
	Hash string `json:"hash"`
	Outcome
}

// results holds the last outcome of each mutant, and the path of the file to which it appends outcomes.
type results struct {
	path string // "" keeps them for this run only
	last map[string]Result
}

// loadResults reads the results of an earlier run. If that run was killed while it wrote the last line,
// loadResults drops this torn line.
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

// keep appends a result to the file before the next mutant starts.
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

// Tidy rewrites the file of results with only the last result of each mutant, in the order of all.
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

// of returns the last result of m, if there is one, and reports whether the result is still valid. It is valid
// if no relevant file has changed and the number of tries was at least the number that o requests.
func (r *results) of(m Mutant, o Options) (Result, bool, error) {
	hash, err := m.hash(o.Root)
	if err != nil {
		return Result{}, false, err
	}
	one, ok := r.last[m.Name()]
	return one, ok && one.Hash == hash && one.Verdict.settled() && one.Tries >= o.triesOf(m), nil
}

// hash returns a hash of the patch and of the files in the relevant folders, except documents. The folders are
// those of the mutated file and of the killers' packages. The folder of the suite that has the patch is also
// relevant, because several packages may run its cases.
//
// The hash does not include the other imports of these packages. Otherwise every commit would invalidate all
// results. Only a run with Options.Fresh detects a change there.
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
