package history

import (
	"sync"
	"time"

	"github.com/anishathalye/porcupine"
)

// book records the observed operations, with the times of one clock.
type book struct {
	began time.Time
	but   Exceptions

	mu      sync.Mutex
	all     []porcupine.Operation
	tenures map[tenureID]*tenure
	unknown int64
}

// tenureID identifies a tenure. The fence is not enough, because two keys may have the same fence.
type tenureID struct {
	key   string
	fence int64
}

// tenure records the calls about one grant, as the network layer observes them.
type tenure struct {
	confirmed time.Time // the start of the last call for it that the server granted
	touched   time.Time // the end of the last call that may have lengthened it
	asked     time.Time // the start of the first release that the server did not reject
	doubtful  bool      // one release had no answer
	refused   bool      // the server rejected one release
	granted   [2]time.Time
	claimed   bool // a client received it
	settled   bool // the server confirmed its release
}

func newBook(but Exceptions) *book {
	return &book{began: time.Now(), but: but, tenures: map[tenureID]*tenure{}}
}

func (b *book) note(client int, e event, call, end time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.add(client, e, call, end)
}

func (b *book) add(client int, e event, call, end time.Time) {
	b.all = append(b.all, porcupine.Operation{
		ClientId: client, Input: e, Call: int64(call.Sub(b.began)), Return: int64(end.Sub(b.began)),
	})
}

// change updates the record of a tenure.
func (b *book) change(id tenureID, f func(*tenure)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tenures[id] == nil {
		b.tenures[id] = &tenure{}
	}
	f(b.tenures[id])
}

// seen returns the record of a tenure.
func (b *book) seen(id tenureID) tenure {
	b.mu.Lock()
	defer b.mu.Unlock()
	if t := b.tenures[id]; t != nil {
		return *t
	}
	return tenure{}
}

// unanswered records an acquire that the server may have executed, at the latest when the network has dropped
// the call.
func (b *book) unanswered(client int, key string, lease time.Duration, call, end time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unknown--
	b.add(client, event{perhaps, key, b.unknown}, call, end.Add(memory))
	b.add(client, event{ended, key, b.unknown}, call, end.Add(memory+lease+b.but.Late))
}

const (
	// memory is how long the network may take to deliver a call whose caller has given up. It is longer than
	// any fault of the network here.
	memory = 500 * time.Millisecond
	// grain is the most by which the server may round the end of a lease down.
	grain = 2 * time.Millisecond
)

// close adds the operations that only the end shows, and returns all operations. It adds the end of each lease
// that was not released, and the grants that came too late for their callers.
func (b *book) close(lease time.Duration) []porcupine.Operation {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, t := range b.tenures {
		earliest := t.confirmed.Add(lease - grain)
		if !t.claimed {
			b.add(0, event{acquired, id.key, id.fence}, t.granted[0], t.granted[1])
			earliest = t.granted[0] // the cleaner freed it
		}
		if b.but.Session {
			earliest = t.granted[0]
		}
		if !t.asked.IsZero() && t.asked.Before(earliest) {
			earliest = t.asked
		}
		if !t.settled {
			b.add(0, event{ended, id.key, id.fence}, earliest, t.touched.Add(memory+lease+b.but.Late))
		}
	}
	return pruned(b.all)
}
