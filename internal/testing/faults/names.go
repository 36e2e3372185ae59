package faults

import "slices"

// steps are the places of the path in the order in which an order passes them, then those of its
// later changes, then those of the background work.
var steps = []struct {
	name    string
	moments string // of before, during and after: which of them exist
}{
	{"reserve", "bda"}, // RESERVE
	{"lock", "ba"},     // before: a hold and no lock yet; after: unlocked, not confirmed
	{"acquire", "bda"}, // the call that acquires the lock
	{"work", "ba"},     // the work under the lock; before: the lock is held; after: the outcome is known, the lock not released
	{"begin", "a"},
	{"fence", "ba"}, // the statements of the transaction
	{"slot", "ba"},
	{"insert", "ba"},
	{"take", "ba"},
	{"commit", "bda"},
	{"void", "bda"},   // asks what became of a commit
	{"unlock", "bda"}, // the call that releases the lock
	{"confirm", "bda"},
	{"release", "bda"},
	{"unresolved", "ba"}, // what a request in doubt leaves behind

	{"next", "a"},          // entries of the queue were delivered to this instance
	{"claim", "a"},         // entries of other instances were delivered to this one
	{"acknowledge", "bda"}, // the entry of a queued request is removed
	{"dead-letter", "bda"}, // the entry becomes a dead letter

	{"pay", "ba"}, // the statement, and its transaction's commit
	{"pay.commit", "bda"},
	{"cancel", "ba"},
	{"giveback", "ba"}, // the unit goes back in the database
	{"cancel.commit", "bda"},
	{"restock", "bda"}, // the unit goes back to the shards

	{"raise", "bda"}, // units added to the running sale go to the shards; before: the database has them, and no shard

	{"expire", "ba"},
	{"expire.commit", "bda"},
	{"relay.restock", "bda"}, // the same, from the outbox
	{"relay.done", "bda"},    // the outbox forgets it
	{"reconcile.void", "bda"},
	{"reconcile.confirm", "bda"},
	{"reconcile.release", "bda"},
}

var moments = []struct{ letter, name string }{{"b", ".before"}, {"d", ".during"}, {"a", ".after"}}

var names = func() []string {
	var all []string
	for _, s := range steps {
		for _, m := range moments {
			if slices.Contains([]byte(s.moments), m.letter[0]) {
				all = append(all, s.name+m.name)
			}
		}
	}
	return all
}()

// Names lists every point.
func Names() []string { return slices.Clone(names) }
