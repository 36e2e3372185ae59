package model

import "slices"

// Action is one step of the system: its actor, the operation and the answer.
type Action struct {
	Who, Did, Said string
	Fault          bool // done by the adversary: no required event may depend on it
}

// System is the subject of Explore: a start, all steps from a state, and the judgment of a state.
type System[S comparable] interface {
	Start() S
	// Next calls tell with every action that is possible in s and the state that it leads to.
	Next(s S, tell func(Action, S))
	// Violated returns the promise that s breaks, or "".
	Violated(s S) string
	// AtRest reports whether everything that has begun has ended well.
	AtRest(s S) bool
}

// Step is an action and its resulting state.
type Step[S comparable] struct {
	Action
	State S
}

// Found is the result of an exploration.
type Found[S comparable] struct {
	States, Edges, Resting int
	// Violated is the first broken promise, which may be Stuck, or "".
	Violated string
	// Trace leads from the start to the violation with the fewest actions.
	Trace []Step[S]
}

// Stuck is violated by a state from which the system cannot come to rest without a fault.
const Stuck = "stuck"

// Explore visits every state of the system, nearest first, and stops at the first violation. If there is none,
// it goes backwards from the states at rest, along the actions that are not faults. A state that this search
// does not reach is stuck.
func Explore[S comparable](sys System[S]) Found[S] {
	start := sys.Start()
	x := explorer[S]{seen: map[S]int32{start: 0}, states: []S{start}, from: []int32{-1}, by: []Action{{Did: "the sale begins"}}}
	for at := int32(0); int(at) < len(x.states); at++ {
		if broken := sys.Violated(x.states[at]); broken != "" {
			return x.found(broken, at)
		}
		sys.Next(x.states[at], func(a Action, to S) { x.reach(at, a, to) })
	}
	met := x.canRest(sys)
	if lost := slices.Index(met, false); lost >= 0 {
		return x.found(Stuck, int32(lost)) //nolint:gosec // as many states as fit into memory
	}
	return x.found("", -1)
}

// explorer numbers the states in the order of discovery. For each state it stores the state and the action that
// led there first.
type explorer[S comparable] struct {
	seen    map[S]int32
	states  []S
	from    []int32
	by      []Action
	edges   int
	resting int
	useful  [][2]int32 // edges that are not faults
}

func (x *explorer[S]) reach(from int32, a Action, to S) {
	at, known := x.seen[to]
	if !known {
		at = int32(len(x.states)) //nolint:gosec // as above
		x.seen[to] = at
		x.states, x.from, x.by = append(x.states, to), append(x.from, from), append(x.by, a)
	}
	x.edges++
	if !a.Fault && at != from {
		x.useful = append(x.useful, [2]int32{from, at})
	}
}

// canRest returns for each state whether the system can come to rest from it.
func (x *explorer[S]) canRest(sys System[S]) []bool {
	// The edges into all states, grouped by state. The edges into state n are into[first[n]:first[n+1]].
	first := make([]int32, len(x.states)+2)
	for _, e := range x.useful {
		first[e[1]+2]++
	}
	for n := 2; n < len(first); n++ {
		first[n] += first[n-1]
	}
	into := make([]int32, len(x.useful))
	for _, e := range x.useful {
		into[first[e[1]+1]] = e[0]
		first[e[1]+1]++
	}
	met := make([]bool, len(x.states))
	var todo []int32
	for n, s := range x.states {
		if sys.AtRest(s) {
			met[n] = true
			todo = append(todo, int32(n))
		}
	}
	x.resting = len(todo)
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, from := range into[first[n]:first[n+1]] {
			if !met[from] {
				met[from] = true
				todo = append(todo, from)
			}
		}
	}
	return met
}

func (x *explorer[S]) found(broken string, at int32) Found[S] {
	f := Found[S]{States: len(x.states), Edges: x.edges, Resting: x.resting, Violated: broken}
	for ; at >= 0; at = x.from[at] {
		f.Trace = append(f.Trace, Step[S]{Action: x.by[at], State: x.states[at]})
	}
	slices.Reverse(f.Trace)
	return f
}
