package model

import "slices"

// Sale is a sale that is small enough to explore. It also lists the allowed faults of the adversary and the
// planted bugs. It is a System of State.
type Sale struct {
	Units, Limit int8
	Wishes       []Wish // one for each purchase request of a client; three at most
	Homes        [users]int8
	Changes      Changes
	Reconcilers  int8 // 0 or 1
	Relays       int8 // 0 to 2
	Raises       int8 // units that an administrator adds while the sale runs
	Reloads      int8 // loadings that an administrator starts while nothing is lost
	// Versions lists the versions of the instances that run the attempts. It has two different versions at most. If
	// it is nil, all instances have one version. The instance with the oldest version loaded the shards.
	Versions []uint8
	Faults   Faults
	Without  Bugs
}

// Wish is one purchase request that a user's client sends. Wishes with the same user and key are one request. The
// client sends it again, or twice at once.
type Wish struct {
	User int8
	Key  byte
}

// Changes is the set of the allowed changes of a pending order.
type Changes uint8

// The changes of a pending order.
const (
	Pay Changes = 1 << iota
	Cancel
	Expire
)

// Faults limits how often the adversary causes each kind of fault.
type Faults struct {
	Crashes   int8 // kill -9 of any process, at any line
	Losses    int8 // a call whose answer is lost: the server did it, did not do it, or does it late
	Waits     int8 // error 1205 or 1213 in a transaction
	Leases    int8 // a lease that ends while its holder works without notice of it
	Failovers int8 // of a shard to a lagging replica
	Wipes     int8 // a shard that loses everything
	SetBacks  int8 // rollbacks of the database to a state before the last heartbeat
}

// request returns the number of the wish's request: the number of its first wish.
func (m *Sale) request(i int8) int8 {
	if m.Without.Has(KeyIgnored) {
		return i
	}
	return m.intent(i)
}

// intent returns the number of the request that the client means.
func (m *Sale) intent(i int8) int8 {
	for j := range i {
		if m.Wishes[j] == m.Wishes[i] {
			return j
		}
	}
	return i
}

func (m *Sale) user(i int8) int8 { return m.Wishes[i].User }
func (m *Sale) home(i int8) int8 { return m.Homes[m.user(i)] }
func (m *Sale) has(b Bugs) bool  { return m.Without.Has(b) }
func (m *Sale) wishes() int8     { return int8(len(m.Wishes)) } //nolint:gosec // three at most
func (m *Sale) share(units, k int8) int8 {
	if share := units / shards; k >= units%shards {
		return share
	}
	return units/shards + 1
}

// Start returns the state after the publication: the shards are loaded, and the sale is open.
func (m *Sale) Start() State {
	s := State{left: m.Faults, reloads: m.Reloads, raises: m.Raises}
	s.db = database{stock: m.Units, epoch: 1, onSale: true}
	s.newest = 1
	for k := range int8(shards) {
		s.redis[k] = shard{epoch: 1, open: true, units: m.share(m.Units, k), layout: slices.Min(m.fleet())}
	}
	return s
}

// Next calls tell with every action that is possible in s, and with the state after the action.
func (m *Sale) Next(s State, tell func(Action, State)) {
	for i := range m.wishes() {
		m.attempt(s, i, tell)
		m.server(s, i, tell)
		m.change(s, i, tell)
		m.crash(s, i, tell)
	}
	m.reconcile(s, tell)
	for n := range m.Relays {
		m.relay(s, n, tell)
	}
	m.addUnit(s, tell)
	for n := range min(m.Raises, int8(len(s.raisers))) {
		m.raise(s, n, tell)
	}
	m.reload(s, tell)
	m.heartbeat(s, tell)
	m.leases(s, tell)
	m.disasters(s, tell)
	m.setBack(s, tell)
}
