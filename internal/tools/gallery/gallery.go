// Package gallery shows the planted bugs of the program as a collection of wrong implementations. For each
// it shows the fault, the change, the test that notices it, the message of that test, and the invariant
// that it breaks.
//
//	internal.Mutants ─▶ parse ─┐
//	internal.Results ──────────┼─▶ Gallery ─▶ the page, the command line
//	subjects.go ───────────────┘
package gallery

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"example.com/seckill/internal"
)

// Gallery is the whole collection.
type Gallery struct {
	Subjects []Subject `json:"subjects"`
	Mutants  []Mutant  `json:"mutants"` // by name; those of the subjects and the rest
}

// Subject is a group of instructive mutants, in reading order.
type Subject struct {
	Title Text     `json:"title"`
	Names []string `json:"names"`
}

// Text is a text in two languages.
type Text struct {
	EN string `json:"en"`
	ZH string `json:"zh"`
}

// In returns the text in a language, "en" or "zh".
func (t Text) In(language string) string {
	if language == "zh" {
		return t.ZH
	}
	return t.EN
}

// Mutant is one wrong implementation.
type Mutant struct {
	Name       string   `json:"name"` // PACKAGE/NAME
	What       string   `json:"what"` // the fault
	File       string   `json:"file"`
	Diff       []string `json:"diff"`                 // the lines of its hunks
	Killers    []string `json:"killers"`              // the tests that must notice it, as arguments of go test
	By         string   `json:"by,omitempty"`         // the test that failed in the last run
	Message    string   `json:"message,omitempty"`    // the message of that test
	Invariants []string `json:"invariants,omitempty"` // the invariants that it breaks, as INVARIANTS.md names them
}

// Find returns the mutant with that name. The name may leave out the package if only one mutant fits.
func (g *Gallery) Find(name string) (Mutant, bool) {
	var found []Mutant
	for _, m := range g.Mutants {
		if m.Name == name {
			return m, true
		}
		if path.Base(m.Name) == name {
			found = append(found, m)
		}
	}
	if len(found) != 1 {
		return Mutant{}, false
	}
	return found[0], true
}

// Matches reports whether words occur in the names, the fault, the file or the invariants of a mutant. It
// ignores case.
func (m Mutant) Matches(words string) bool {
	text := strings.ToLower(strings.Join(append([]string{m.Name, m.What, m.File, m.By}, m.Invariants...), " "))
	return strings.Contains(text, strings.ToLower(words))
}

// Load returns the gallery. It builds the gallery once.
var Load = sync.OnceValues(load)

func load() (*Gallery, error) {
	g := &Gallery{}
	results, err := readResults()
	if err != nil {
		return nil, err
	}
	breaks := map[string][]string{}
	for _, s := range subjects {
		shown := Subject{Title: s.title}
		for _, p := range s.picks {
			shown.Names = append(shown.Names, p.name)
			if p.breaks != "" {
				breaks[p.name] = strings.Fields(p.breaks)
			}
		}
		g.Subjects = append(g.Subjects, shown)
	}
	err = fs.WalkDir(internal.Mutants, ".", func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(internal.Mutants, at)
		if err != nil {
			return err //nolint:wrapcheck // it names the path
		}
		m := parse(strings.Replace(strings.TrimSuffix(at, ".patch"), "/testdata/mutants", "", 1), string(text))
		m.By, m.Message = results[m.Name].By, results[m.Name].Message
		m.Invariants = breaks[m.Name]
		g.Mutants = append(g.Mutants, m)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("gallery: %w", err)
	}
	return g, nil
}

// parse reads a patch, which package mutation has checked.
func parse(name, text string) Mutant {
	m := Mutant{Name: name}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case len(m.Diff) > 0 || strings.HasPrefix(line, "@@"):
			m.Diff = append(m.Diff, line)
		case strings.HasPrefix(line, "Mutation: "):
			m.What = strings.TrimPrefix(line, "Mutation: ")
		case strings.HasPrefix(line, "Killed by: "):
			m.Killers = append(m.Killers, strings.TrimPrefix(line, "Killed by: "))
		case strings.HasPrefix(line, "--- a/"):
			m.File = strings.TrimPrefix(line, "--- a/")
		}
	}
	return m
}

// result is the part of a mutant's outcome that the gallery shows.
type result struct {
	Name    string `json:"name"`
	By      string `json:"by"`
	Message string `json:"message"`
}

func readResults() (map[string]result, error) {
	all := map[string]result{}
	for line := range strings.Lines(internal.Results) {
		var r result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return nil, fmt.Errorf("gallery: results.jsonl: %w", err)
		}
		all[r.Name] = r
	}
	return all, nil
}

// Files returns the gallery for the page, as JSON, and the same JSON packed by gzip. It makes both once.
func Files() (text, packed []byte, err error) {
	f, err := files()
	return f.text, f.packed, err
}

type pageFiles struct{ text, packed []byte }

var files = sync.OnceValues(func() (f pageFiles, err error) {
	g, err := Load()
	if err != nil {
		return f, err
	}
	if f.text, err = json.Marshal(g); err != nil {
		return f, fmt.Errorf("gallery: %w", err)
	}
	var packed bytes.Buffer
	packer := gzip.NewWriter(&packed)
	if _, err := packer.Write(f.text); err != nil {
		return f, fmt.Errorf("gallery: %w", err)
	}
	if err := packer.Close(); err != nil {
		return f, fmt.Errorf("gallery: %w", err)
	}
	f.packed = packed.Bytes()
	return f, nil
})
