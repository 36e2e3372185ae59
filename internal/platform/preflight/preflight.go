// Package preflight looks at the servers before a sale depends on them.
//
//	Redis  ─▶ role, eviction, memory, persistence, connections, rights, a write
//	MySQL  ─▶ role, durability, binary log, settings of sessions, connections, rights
//	both   ─▶ clock
//
// Each finding is one line: the server, the subject, the finding and the remedy. It is fine, a warning or refused.
// The check refuses a setting that costs units or orders later without a word. It warns of one that may be intended.
// It reads settings, and tries the program's commands on keys of its own and without changing a row. It cannot know
// whether the servers stay as they are.
package preflight

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
)

// Level is how bad a finding is.
type Level int

// The levels, the worst last.
const (
	Fine Level = iota
	Warning
	Refused
)

// String names the level as the report does.
func (l Level) String() string { return [...]string{"fine", "warning", "refused"}[l] }

// Finding is one line about one server.
type Finding struct {
	Server string
	Name   string // what was looked at
	Level  Level
	Found  string
	Do     string // what mends it; empty if it is fine
}

// String is the line of an error or a log.
func (f Finding) String() string {
	text := fmt.Sprintf("%s: %s: %s", f.Server, f.Name, f.Found)
	if f.Do != "" {
		text += ": " + f.Do
	}
	return text
}

// Findings collects findings from several servers at once.
type Findings struct {
	mu  sync.Mutex
	all []Finding
}

// Add adds findings.
func (f *Findings) Add(more ...Finding) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, more...)
}

// Of returns those of a level, by server, in the order in which they were found.
func (f *Findings) Of(levels ...Level) []Finding {
	f.mu.Lock()
	defer f.mu.Unlock()
	found := slices.DeleteFunc(slices.Clone(f.all), func(one Finding) bool { return !slices.Contains(levels, one.Level) })
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(a.Server, b.Server) })
	return found
}

// Err joins the refused findings. It is nil if there are none.
func (f *Findings) Err() error {
	var err error
	for _, one := range f.Of(Refused) {
		err = errors.Join(err, errors.New(one.String()))
	}
	return err
}

// WriteText writes one line a finding.
func (f *Findings) WriteText(w io.Writer) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, one := range f.Of(Fine, Warning, Refused) {
		text := one.Found
		if one.Do != "" {
			text += ": " + one.Do
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", one.Level, one.Server, one.Name, strings.ReplaceAll(text, "\n", "; "))
	}
	return table.Flush() //nolint:wrapcheck // it is the writer's
}

// about adds a finding on one server.
func (f *Findings) about(server string) func(l Level, name, found, do string) {
	return func(l Level, name, found, do string) {
		if l == Fine {
			do = ""
		}
		f.Add(Finding{Server: server, Name: name, Level: l, Found: found, Do: do})
	}
}
