// Package gallery shows the planted bugs of the program as a collection of wrong implementations: what
// each does wrong, the change, the test that notices it and what that test says, and which invariant it
// breaks.
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

// Gallery is all of it.
type Gallery struct {
	Subjects []Subject `json:"subjects"`
	Mutants  []Mutant  `json:"mutants"` // by name; those of the subjects and the rest
}

// Subject is a group of instructive mutants, in the order in which they are best read.
type Subject struct {
	Title Text     `json:"title"`
	Names []string `json:"names"`
}

// Text is said in two languages.
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
	Name       string   `json:"name"` // ROOM/NAME
	What       string   `json:"what"` // what it does wrong
	File       string   `json:"file"`
	Diff       []string `json:"diff"`                 // the lines of its hunks
	Killers    []string `json:"killers"`              // what must notice it, as go test takes it
	By         string   `json:"by,omitempty"`         // the test that was red when it was last tried
	Message    string   `json:"message,omitempty"`    // what that test said
	Invariants []string `json:"invariants,omitempty"` // which it breaks, as INVARIANTS.md names them
}

// Find returns the mutant with that name, or with that name within its room if it is the only one.
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

// Matches reports whether a mutant has what is searched for.
func (m Mutant) Matches(words string) bool {
	text := strings.ToLower(strings.Join(append([]string{m.Name, m.What, m.File, m.By}, m.Invariants...), " "))
	return strings.Contains(text, strings.ToLower(words))
}

// Load returns the gallery. It is put together once.
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

// parse reads a patch, which package mutation has found to be one.
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

// result is what is shown of the outcome of a mutant.
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

// Files returns the gallery as the page has it, as JSON and packed by gzip. Both are made once.
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
