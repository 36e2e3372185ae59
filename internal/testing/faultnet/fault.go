package faultnet

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// Fault is a kind of damage to a network.
type Fault struct{ toxics []toxic }

// toxic is a fault in the terms of toxiproxy.
type toxic struct{ kind, stream, attributes string }

// The streams of a connection.
const (
	requests = "upstream"
	replies  = "downstream"
)

var (
	// Reset breaks each connection at its next request. Unlike Cut it keeps the port, so that no other program
	// can take the port in the meantime.
	Reset = fault("reset_peer", requests, `"timeout":0`)

	// NoRequests lets no request through and closes nothing.
	NoRequests = fault("timeout", requests, `"timeout":0`)

	// NoReplies lets requests through, and no reply. The server executes a request, and the client does not
	// learn it.
	NoReplies = fault("timeout", replies, `"timeout":0`)

	// BlackHole lets nothing through in either direction and closes nothing.
	BlackHole = Fault{slices.Concat(NoRequests.toxics, NoReplies.toxics)}
)

// CutRepliesAfter closes each connection after the given number of bytes of replies, even in the middle of a
// reply.
func CutRepliesAfter(bytes int) Fault {
	return fault("limit_data", replies, fmt.Sprintf(`"bytes":%d`, bytes))
}

// DelayRequests delays every request by d, in whole milliseconds.
func DelayRequests(d time.Duration) Fault {
	return fault("latency", requests, fmt.Sprintf(`"latency":%d`, d.Milliseconds()))
}

// DelayReplies delays every reply by d, plus or minus up to jitter. Both count in whole milliseconds.
func DelayReplies(d, jitter time.Duration) Fault {
	return fault("latency", replies, fmt.Sprintf(`"latency":%d,"jitter":%d`, d.Milliseconds(), jitter.Milliseconds()))
}

func fault(kind, stream, attributes string) Fault {
	return Fault{[]toxic{{kind, stream, attributes}}}
}

// lastToxic makes names unique, so that several faults of one kind can be active.
var lastToxic atomic.Int64

func (t toxic) json() string {
	return fmt.Sprintf(`{"name":"%s-%d","type":%q,"stream":%q,"attributes":{%s}}`,
		t.kind, lastToxic.Add(1), t.kind, t.stream, t.attributes)
}
