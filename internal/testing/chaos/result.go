package chaos

import (
	"cmp"
	"time"
)

// Result is what became of one round. Its JSON is a line of the log.
type Result struct {
	Cell         string         `json:"cell"`
	Seed         uint64         `json:"seed"` // of this round alone
	Lock         string         `json:"lock"`
	Mode         string         `json:"mode,omitempty"`     // of the fleet; none: sync
	Hit          bool           `json:"struck"`             // the fault happened
	Asked        int            `json:"asked"`              // taps; however often one was sent, it is one
	Acknowledged int            `json:"acknowledged"`       // different orders that buyers were told of
	Committed    int            `json:"committed"`          // orders in the database
	Doubts       int            `json:"doubts"`             // answers 202, in queue mode those of queued requests too
	Open         int            `json:"open"`               // taps whose end is unknown
	Unanswered   int            `json:"unanswered"`         // requests whose answer was lost
	Repeats      int            `json:"repeats"`            // requests sent again
	Repeated     int            `json:"repeated,omitempty"` // requests with a key that was refused for good
	Coupons      int            `json:"coupons,omitempty"`  // small ones, whose counts are in the others
	Refused      map[string]int `json:"refused"`            // by code
	Lost         int            `json:"lost"`               // acknowledged, and not there or not as told
	Oversold     int            `json:"oversold"`
	AboveLimit   int            `json:"above_limit"`
	Undone       int            `json:"undone,omitempty"` // acknowledged, and lost with the database that was set back
	Leaked       int            `json:"leaked"`           // units by which Redis and the database differ at the end
	Settled      time.Duration  `json:"settled_ns"`       // from the last fault until everything was at rest
	Recovered    time.Duration  `json:"recovered_ns"`     // from the last fault to the next order; 0: none was left to sell
	Slowest      time.Duration  `json:"slowest_ns"`       // of all answers
	Beside       *Beside        `json:"beside,omitempty"` // a flood
	Seconds      float64        `json:"seconds"`
	Problems     []string       `json:"problems,omitempty"` // every broken promise that was found
	Logs         []string       `json:"logs,omitempty"`     // what the instances said, if there is a problem
}

// Failed reports whether a promise was broken.
func (r Result) Failed() bool { return len(r.Problems) > 0 }

func (r Result) mode() string { return cmp.Or(r.Mode, Sync) }
