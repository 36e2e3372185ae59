package report

import (
	"slices"
	"strings"

	"example.com/seckill/internal/tools/lab/harness"
)

// moved returns the turns of a case's schedule in which a step happened, and whether steps were left when the
// schedule was over. A schedule serves all cases of an experiment, and a turn may move nothing in one of them:
// its actor has ended, or still waits.
func moved(c harness.CaseResult) (turns []harness.Planned, rest bool) {
	m := mover{events: c.Events, waits: map[string]bool{}}
	for _, t := range c.Schedule {
		if m.turn(t) {
			turns = append(turns, t)
		}
	}
	return turns, len(m.events) > 0
}

// mover replays a schedule over the events of a case.
type mover struct {
	events []harness.Event // those after the turns so far
	waits  map[string]bool // actors in a step that waits
}

// turn takes the events of one turn and reports whether the turn has any.
func (m *mover) turn(t harness.Planned) (took bool) {
	for steps := 0; len(m.events) > 0; {
		e := m.events[0]
		switch {
		case e.Actor != t.Actor && (!took || !m.waits[e.Actor]):
			return took // another one's turn
		case e.Actor != t.Actor: // it waited for this turn
		case m.waits[t.Actor]:
			steps++
		case t.Steps > 0 && steps >= t.Steps || begins(t.Until, e.What):
			return took
		case !e.Waits:
			steps++
		}
		took = true
		m.waits[e.Actor] = e.Waits
		m.events = m.events[1:]
	}
	return took
}

// begins reports whether a step begins with one of these words.
func begins(words []string, what string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(what, w) })
}
