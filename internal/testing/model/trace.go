package model

import (
	"fmt"
	"io"
)

// name is an attempt in words: whose, with which key, and the how-manieth.
func (m *Sale) name(i int8) string { return names[m.user(i)][m.Wishes[i].Key&1][m.time(i)] }

// time counts how often the same was asked for before.
func (m *Sale) time(i int8) (n int) {
	for j := range i {
		if m.Wishes[j] == m.Wishes[i] {
			n++
		}
	}
	return n
}

// names are made once, because a name is told with every action.
var names = [users][2][attempts]string{
	{{"user 1, key b", "user 1, key b again", "user 1, key b once more"}, {"user 1, key a", "user 1, key a again", "user 1, key a once more"}},
	{{"user 2, key b", "user 2, key b again", "user 2, key b once more"}, {"user 2, key a", "user 2, key a again", "user 2, key a once more"}},
}

// Write prints a trace: a line for each action, with the numbers that it led to. An
// action of the adversary is marked.
func (m *Sale) Write(w io.Writer, f Found[State]) {
	wide := len("who")
	for _, step := range f.Trace {
		wide = max(wide, len(line(step.Action)))
	}
	_, _ = fmt.Fprintf(w, "      %-*s   D  A   shards   h  G\n", wide, "")
	for n, step := range f.Trace {
		sign := ' '
		if step.Fault {
			sign = '!'
		}
		c := m.Numbers(step.State)
		_, _ = fmt.Fprintf(w, "%3d %c %-*s  %2d %2d   %2d + %-2d %2d %2d\n", n, sign, wide, line(step.Action),
			c.Stock, c.Live, c.Units[0], c.Units[1], c.Held, c.Owed)
	}
	if f.Violated != "" {
		_, _ = fmt.Fprintf(w, "violated: %s (%s)\n", f.Violated, promises[f.Violated])
	}
}

func line(a Action) string {
	text := a.Did
	if a.Who != "" {
		text = a.Who + ": " + a.Did
	}
	if a.Said != "" {
		text += " → " + a.Said
	}
	return text
}
