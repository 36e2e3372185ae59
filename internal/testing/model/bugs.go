package model

import "strings"

// Bugs is a set of things that are broken on purpose.
type Bugs uint64

// The four lines of defence against a second order of one user, each left out, and
// the planted bugs.
const (
	NoCount     Bugs = 1 << iota // the shard's script does not count the user's units
	LyingLock                    // the lock admits every caller
	NoFence                      // the fence row is not asked
	NoSlotIndex                  // the index on coupon, user and slot is not unique

	NoRequestIndex        // the index on the request id is not unique
	UnlockBeforeCommit    // the lease is released with the transaction open
	UnlockInDoubt         // the lease is released although the outcome is unknown
	GiveBackOnCommitError // a failed commit is taken for a rollback
	ReserveNotByRequest   // the shard does not know a request that it has seen
	KeyIgnored            // asking again with the same key is a new request
	NoReconciler          // what the dead leave is left
	ReconcilerWithoutVoid // the reconciler looks for the order and writes nothing
	NoConditionalUpdate   // the stock is lowered whatever it is
	ReleaseWithoutOwner   // a release frees the key of any holder
	AnswerBeforeCommit    // 201 is said before the commit
	ReturnedTwice         // the shard does not remember what came back
	SnapshotBeforeLock    // the orders are counted before the lock is held
	LockWaitIgnored       // after error 1205 the transaction goes on
	ExpiringHolds         // holds have a time to live
	TakeIgnoresEpoch      // an order of an older epoch takes its unit
	ReturnIgnoresEpoch    // the outbox does not say which epoch is owed the unit
	ReloadAdds            // a loading adds to what is there
	ReleaseForAll         // one attempt gives back what another one shares
	SoldOutAtHome         // the home shard alone says sold out
	CancelWhatever        // a change does not ask for the state that it changes
	ReturnWithoutConfirm  // a unit comes back while its hold is still open
	DoubtStays            // asking about an order in doubt decides nothing
	SentAgain             // no matter what the name in it was used for in between
	OutboxNotCounted      // a loading counts the buyers without what came back since it began
	UnitsOfNow            // a loading goes on with the stock of now
	FilledAgain           // a loading fills a shard again that may have been open
	EpochsCountOn         // an epoch is the one before and one more, and not unique
	MarkNotCompared       // no heartbeat notices that the database was set back
	ForgottenWhatever     // a row of the outbox goes, whatever epoch is owed its unit
	NewerUsed             // a script uses the shard of a newer version
	OlderUsed             // a version sells on a layout that is older than it knows
	OlderUsedByOrders     // it loads that again, and sells on it until then
	TextInOneRelease      // the first release that reads a new text writes it, too
	RaiseAdds             // the shard does not compare what it has with what was added
	RaiseIgnoresEpoch     // units are added to the shard of another epoch, which began with them
	RaisedWhileFilled     // units are added to an epoch whose shards are still filled
)

// Lines are the four lines of defence.
const Lines = NoCount | LyingLock | NoFence | NoSlotIndex

var bugNames = []string{
	"no count in the shard", "a lock that lies", "no fence", "no unique slot",
	"no unique request", "unlock before commit", "unlock in doubt", "unit given back on a commit error",
	"admission not keyed by request", "client retries without idempotency", "no reconciler", "reconciler without the void order",
	"no conditional update", "release without owner", "acknowledged before commit", "returned twice",
	"snapshot before the lock", "1205 ignored", "expiring holds", "epoch not checked by take",
	"outbox without epoch", "reload that adds blindly", "release for all", "sold out at home",
	"cancelled whatever it is", "return without confirmation", "doubt that stays",
	"every command is sent again", "outbox not counted",
	"resumed with the units of now", "filled again after it was open", "epochs that are not unique",
	"mark not compared", "return forgotten whatever its epoch",
	"newer layout used", "older layout used", "older layout used until it is loaded again", "new text in one release",
	"raise that adds blindly", "raise without epoch", "raised while it is filled",
}

// Has reports whether one of b is in the set.
func (s Bugs) Has(b Bugs) bool { return s&b != 0 }

// String names what is broken.
func (s Bugs) String() string {
	var names []string
	for n, name := range bugNames {
		if s.Has(1 << n) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}
