package harness

import "time"

// Result is the result of an experiment.
type Result struct {
	Name    string       `json:"name"`
	Title   Text         `json:"title"`
	Lesson  Text         `json:"lesson"`
	Wild    Text         `json:"wild"`
	Asks    Text         `json:"asks,omitzero"`     // the question to a learner
	NotRun  *Text        `json:"not_run,omitempty"` // why it could not be run
	Failed  string       `json:"failed,omitempty"`  // what went wrong with running it
	Cases   []CaseResult `json:"cases"`
	Servers []Text       `json:"servers"` // what it ran on

	Code  []Block `json:"code,omitempty"`  // of the scripts
	Place *Place  `json:"place,omitempty"` // where the program does it right

	Recorded *Recorded `json:"recorded,omitempty"` // nil if the cases were played just now

	Seconds float64 `json:"seconds"`
}

// AsExpected reports whether every wrong case showed its anomaly and no right one did.
func (r Result) AsExpected() bool {
	if r.NotRun != nil || r.Failed != "" || len(r.Cases) == 0 {
		return false
	}
	for _, c := range r.Cases {
		if c.NotRun == nil && c.Anomaly != c.Wrong {
			return false
		}
	}
	return true
}

// CaseResult is the result of one case.
type CaseResult struct {
	Label   Text     `json:"label"`
	Wrong   bool     `json:"wrong"`
	Anomaly bool     `json:"anomaly"`           // a rule did not hold
	NotRun  *Text    `json:"not_run,omitempty"` // why these servers cannot show it
	Numbers []Number `json:"numbers"`
	Actors  []string `json:"actors"`
	Events  []Event  `json:"events"`
	Spans   []Span   `json:"spans"`

	Schedule []Planned `json:"schedule"` // what was planned; each then went on to its end

	Chinese map[string]string `json:"chinese"` // translations of the words in its actors, events and spans
}

// Planned is a turn of a schedule. An actor goes on to its end, or stops before a step that begins with
// one of some words, or after a number of steps.
type Planned struct {
	Actor string   `json:"actor"`
	Until []string `json:"until,omitempty"`
	Steps int      `json:"steps,omitempty"`
}

// Number is a rule and the number that was counted.
type Number struct {
	Name    Text   `json:"name"`
	Value   int64  `json:"value"`
	Bound   string `json:"bound"` // "≤ 1" or "= 1"; empty if it is only reported
	Held    bool   `json:"held"`
	Decides bool   `json:"decides"` // it is a rule
}

// Kind is the kind of a step; it decides the colour that it is drawn in.
type Kind string

// The kinds of steps.
const (
	Acquire  Kind = "lock"    // of a lock
	Release  Kind = "release" // of a lock
	Begin    Kind = "begin"
	Read     Kind = "read"
	Write    Kind = "write"
	Commit   Kind = "commit"
	Rollback Kind = "rollback"
	Work     Kind = "work"    // inside the process
	Fault    Kind = "trouble" // a pause, a crash, a lost reply
)

// Event is one step, or the part of it before or after a wait.
type Event struct {
	N       int     `json:"n"` // 0, 1, 2, … in the order of time
	AtMS    float64 `json:"at_ms"`
	Actor   string  `json:"actor"`
	Server  Server  `json:"server"`
	Kind    Kind    `json:"kind"`
	What    string  `json:"what"`             // as it was sent to the server
	Note    string  `json:"note,omitempty"`   // what the server returned
	Waits   bool    `json:"waits,omitempty"`  // it waits here
	Failed  bool    `json:"failed,omitempty"` // it was refused
	Anomaly *Text   `json:"anomaly,omitempty"`
	Line    []int   `json:"line,omitempty"` // of which block of the code, and which line of it

	trace []string
}

// Trace returns the lines of the experiment's source that the step came from, as file:line, the
// script's own last. A result that was read back has none.
func (e Event) Trace() []string { return e.trace }

// Block is a part of an experiment's source.
type Block struct {
	File  string `json:"file"`
	Lines []Line `json:"lines"`
}

// Line is a line of source, and by which cases it was run.
type Line struct {
	Text  string `json:"text"`
	Wrong bool   `json:"wrong,omitempty"`
	Right bool   `json:"right,omitempty"`
	// Differs says that the wrong cases did another thing there than the right ones.
	Differs bool `json:"differs,omitempty"`
	// Folded reports that the line is far from the lines that ran. A drawing leaves it out.
	Folded bool `json:"folded,omitempty"`
}

// Place is a place in the program.
type Place struct {
	File string `json:"file"`
	Code string `json:"code"` // the line
	Why  Text   `json:"why"`

	// Absent reports that the program does nothing of the kind. Code is the line that the program has instead, and
	// Why the reason.
	Absent bool `json:"absent,omitempty"`
}

// SpanKind says which state a span shows.
type SpanKind string

// The kinds of spans.
const (
	LeaseSpan  SpanKind = "lease"       // the server would refuse the lock to others
	TxSpan     SpanKind = "transaction" // open in the database
	InsideSpan SpanKind = "inside"      // at work as if it were alone
	WaitSpan   SpanKind = "wait"        // for another actor
)

// Span lasts from one event to another.
type Span struct {
	Kind  SpanKind `json:"kind"`
	Actor string   `json:"actor"`
	Label string   `json:"label"`
	From  int      `json:"from"` // the number of an event
	To    int      `json:"to"`   // the number of an event; −1 if it never ended
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
