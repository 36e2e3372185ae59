package history

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"
)

// kind is what happened, as far as a client was told.
type kind string

const (
	acquired   kind = "acquired"   // a grant was handed to a client
	refused    kind = "refused"    // the server said: another has it
	reentered  kind = "re-entered" // the holder was told that it still is
	released   kind = "released"   // the holder's release was confirmed
	notHeld    kind = "not held"   // the holder's release was refused
	ended      kind = "ended"      // the lease ran out, or a release without an answer was carried out
	perhaps    kind = "perhaps"    // an acquire without an answer
	wrote      kind = "wrote"      // the register took a write
	turnedAway kind = "turned away"
	flushed    kind = "flushed" // the server lost its data
)

// event is one operation on one key. Tenure tells one grant from all others: its
// fence, or a negative number if no client was told the fence.
type event struct {
	kind   kind
	key    string
	tenure int64
}

func (e event) String() string {
	if e.tenure == 0 {
		return string(e.kind)
	}
	return fmt.Sprintf("%s %d", e.kind, e.tenure)
}

// state is a key with its register. A tenure of zero is none.
type state struct {
	holder   int64
	last     int64 // the largest fence given
	register int64 // the largest fence written with
}

// step returns in which states a perfect lock may be after e; none if it could
// not have answered so. An acquire without an answer has two operations, perhaps
// and ended; taken in the wrong order they would hold the key for ever, so a
// history must end with a client that acquires it.
func step(s state, e event) []state {
	after := func(holder int64) []state { return []state{{holder, s.last, s.register}} }
	same := []state{s}
	switch {
	case e.kind == acquired && s.holder == 0 && e.tenure > s.last:
		return []state{{e.tenure, e.tenure, s.register}}
	case e.kind == refused && s.holder != 0,
		e.kind == reentered && s.holder == e.tenure,
		e.kind == notHeld && s.holder != e.tenure:
		return same
	case e.kind == released && s.holder == e.tenure,
		e.kind == ended && s.holder == e.tenure,
		e.kind == flushed:
		return after(0)
	case e.kind == ended:
		return same
	case e.kind == perhaps && s.holder == 0:
		return append(after(e.tenure), s)
	case e.kind == perhaps:
		return same
	case e.kind == wrote && e.tenure >= s.register:
		return []state{{s.holder, s.last, e.tenure}}
	case e.kind == turnedAway && e.tenure < s.register:
		return same
	default:
		return nil
	}
}

var model = (&porcupine.NondeterministicModel{
	Partition: byKey,
	Init:      func() []any { return []any{state{}} },
	Step: func(s, in, _ any) []any {
		var all []any
		for _, next := range step(s.(state), in.(event)) {
			all = append(all, next)
		}
		return all
	},
	Hash: func(s any) uint64 {
		h := s.(state)
		return uint64(h.holder)*31 + uint64(h.last)*17 + uint64(h.register)
	},
	DescribeOperation: func(in, _ any) string { return in.(event).String() },
	DescribeState:     func(s any) string { return fmt.Sprintf("%+v", s) },
}).ToModel()

// byKey parts a history: keys have nothing to do with each other.
func byKey(all []porcupine.Operation) [][]porcupine.Operation {
	of := map[string][]porcupine.Operation{}
	for _, o := range all {
		key := o.Input.(event).key
		of[key] = append(of[key], o)
	}
	var parts [][]porcupine.Operation
	for _, part := range of {
		slices.SortFunc(part, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
		parts = append(parts, part)
	}
	return parts
}
