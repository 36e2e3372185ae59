package faults

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/seckill/internal/platform/system"
)

// Action is what happens at a point.
type Action string

// The actions.
const (
	Kill  Action = "kill"  // SIGKILL of this process, by itself
	Stop  Action = "stop"  // SIGSTOP of this process; another process must send SIGCONT
	Lose  Action = "lose"  // an error as of a cut connection: before a step the request is lost, after it the reply
	Delay Action = "delay" // the step takes half a second longer
)

// Fault is one thing that will go wrong.
type Fault struct {
	Point  string
	Action Action
	Nth    int // the pass, from 1, at which it strikes
	Every  int // above 0: and at every so many passes after
}

// String returns the form that Parse reads.
func (f Fault) String() string {
	text := fmt.Sprintf("%s:%s:%d", f.Point, f.Action, f.Nth)
	if f.Every > 0 {
		text += "/" + strconv.Itoa(f.Every)
	}
	return text
}

// strikes reports whether the fault strikes at this pass.
func (f Fault) strikes(pass int) bool {
	return pass == f.Nth || f.Every > 0 && pass > f.Nth && (pass-f.Nth)%f.Every == 0
}

// Parse reads faults separated by commas: point:action:n, or point:action:n/every.
func Parse(text string) ([]Fault, error) {
	var all []Fault
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		f, err := parse(one)
		if err != nil {
			return nil, fmt.Errorf("fault %q: %w", one, err)
		}
		all = append(all, f)
	}
	return all, nil
}

func parse(text string) (f Fault, err error) {
	words := strings.Split(text, ":")
	if len(words) != 3 {
		return f, errors.New("want point:action:n")
	}
	f.Point, f.Action = words[0], Action(words[1])
	nth, every, repeated := strings.Cut(words[2], "/")
	if f.Nth, err = strconv.Atoi(nth); err != nil || f.Nth < 1 {
		return f, fmt.Errorf("%q is not the number of a pass", nth)
	}
	if repeated {
		if f.Every, err = strconv.Atoi(every); err != nil || f.Every < 1 {
			return f, fmt.Errorf("%q is not a number of passes", every)
		}
	}
	if !slices.Contains(Names(), f.Point) {
		return f, errors.New("there is no such point")
	}
	return f, f.possible()
}

// loses reports whether a request or a reply can be lost at the point. After the work under a lock,
// its outcome is known here, and stays known.
func (f Fault) loses() bool { return f.Point != "work.after" && f.Point != "lock.after" }

// possible returns an error for an action that has no meaning at the point.
func (f Fault) possible() error {
	during := strings.HasSuffix(f.Point, ".during")
	switch f.Action {
	case Kill:
		return nil
	case Stop:
		if !canStop {
			return &system.UnsupportedError{Thing: "the action stop", Instead: "use kill, lose or delay"}
		}
		return nil
	case Lose, Delay:
		if during {
			return fmt.Errorf("%s is for before or after a step", f.Action)
		}
		if f.Action == Lose && !f.loses() {
			return errors.New("nothing is sent there that could be lost")
		}
		return nil
	}
	return errors.New("the action is kill, stop, lose or delay")
}
