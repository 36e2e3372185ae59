package model

// The largest sale that a State has room for.
const (
	users    = 2
	attempts = 3
	shards   = 2
)

// State is all that is true at one moment: the shards, the locks, the database, how
// far every process has come, and what the adversary may still do. It is compared as a
// whole, so whatever no longer matters is set to zero.
type State struct {
	redis      [shards]shard
	replica    [shards]shard // where a failover of the shard leads, while it lags
	lags       [shards]bool
	locks      [users]lease
	db         database
	copied     database // the earlier state that the database may be set back to
	hasCopy    bool
	behind     bool  // the database was set back, and no heartbeat has noticed it
	newest     uint8 // the largest epoch that was ever begun
	tries      [attempts]attempt
	reconciler reconciler
	relays     [2]relay
	loader     loader
	raisers    [2]raiser
	raises     int8 // units that an administrator may still add
	reloads    int8 // that an administrator may still ask for
	left       Faults
	wrong      wrong            // set by an action that may not be
	final      [attempts]status // the first final status that each order had
}

// shard is one shard in Redis.
type shard struct {
	epoch    uint8 // 0: it knows of none
	open     bool  // it has a counter
	units    int8
	holds    [attempts]hold // by order
	opens    [users]int8    // open requests
	bought   [users]int8
	known    [attempts]int8 // by request: its order, counted from 1
	returned set            // orders
	filling  int8           // the units that it will open with
	raised   int8           // units that were added since the epoch began
	noted    int8           // how many users all shards have, or sealed
	moved    bool           // what is here is older than what was last written
	layout   uint8          // of the version that has loaded it
}

type kind uint8

const (
	none kind = iota
	own
	mark // the buyer is noted at home, a sibling lends the unit
	lent
)

type hold struct {
	kind   kind
	shares set // attempts
	text   uint8
}

// set has small numbers in it.
type set uint8

func (s set) has(n int8) bool    { return s&(1<<n) != 0 }
func (s set) with(n int8) set    { return s | 1<<n }
func (s set) without(n int8) set { return s &^ (1 << n) }

// lease is a user's lock.
type lease struct {
	holder int8  // an attempt counted from 1, reconciling, or 0
	fence  uint8 // the last one given
}

// reconciling is the holder of a lock that a reconciler has.
const reconciling = attempts + 1

// database is what is committed.
type database struct {
	stock   int8
	epoch   uint8
	onSale  bool
	added   int8          // units, to those that the sale began with
	raised  int8          // of them since the epoch began
	opening bool          // every shard was filled, and some may be open
	rows    [attempts]row // by order
	fences  [users]uint8
	due     [attempts]uint8 // the outbox, by order: the epoch of the return, or 0
}

type status uint8

const (
	absent status = iota
	pending
	paid
	cancelled
	expired
	void
)

func (s status) live() bool { return s == pending || s == paid }

// order reports whether it is an order at all.
func (s status) order() bool { return s != absent && s != void }

type row struct {
	status status
	slot   int8
	shard  int8
}
