package model_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/model"
)

// The sales are small and their faults few, so that every state can be looked at;
// together they have every fault in every place.
func TestModel_EveryFault_KeepsAllPromises(t *testing.T) {
	type faults = model.Faults
	away := [2]int8{1, 1} // the only unit is at the sibling of everybody's home
	states := 0
	sales := map[string]model.Sale{
		"one buyer, killed twice, and whatever becomes of the order": {
			Units: 1, Limit: 1, Wishes: once, Relays: 1, Changes: all, Faults: faults{Crashes: 2, Losses: 1},
		},
		"one buyer, two answers lost, and two relays": {
			Units: 1, Limit: 1, Wishes: once, Relays: 2, Changes: all, Faults: faults{Crashes: 1, Losses: 2, Leases: 1, Waits: 1},
		},
		"one buyer whose unit is lent": {
			Units: 1, Limit: 1, Wishes: once, Homes: away, Relays: 1, Changes: model.Cancel, Faults: faults{Crashes: 1, Losses: 2},
		},
		"one buyer, two reloads": {
			Units: 1, Limit: 1, Wishes: once, Relays: 1, Changes: model.Cancel, Reloads: 2, Faults: faults{Crashes: 1},
		},
		"one buyer in doubt, and a reload": {
			Units: 1, Limit: 1, Wishes: once, Reloads: 1, Faults: faults{Losses: 2},
		},
		"one buyer, a shard loses its data": {
			Units: 1, Limit: 1, Wishes: once, Relays: 1, Changes: model.Cancel, Faults: faults{Losses: 1, Wipes: 1, Crashes: 1},
		},
		"one buyer, both shards lose their data": {
			Units: 2, Limit: 1, Wishes: once, Homes: away, Faults: faults{Wipes: 2, Crashes: 1},
		},
		"one buyer whose unit is lent, a failover to old data": {
			Units: 1, Limit: 1, Wishes: once, Homes: away, Relays: 1, Changes: model.Cancel, Faults: faults{Failovers: 1, Losses: 1},
		},
		"one buyer, one unit, two failovers": {
			Units: 1, Limit: 1, Wishes: once, Relays: 1, Changes: model.Cancel, Faults: faults{Failovers: 2},
		},
		"the same key twice at once": {
			Units: 1, Limit: 1, Wishes: again, Faults: faults{Crashes: 1, Losses: 1},
		},
		"the same key twice at once, and a lease that ends": {
			Units: 1, Limit: 1, Wishes: again, Faults: faults{Losses: 1, Leases: 1},
		},
		"the same key twice at once, lent": {
			Units: 1, Limit: 1, Wishes: again, Homes: away, Faults: faults{Losses: 1},
		},
		"the same key twice at once, a limit of two": {
			Units: 2, Limit: 2, Wishes: again, Faults: faults{Losses: 1, Leases: 1},
		},
		"the same key twice at once, and a reload": {
			Units: 1, Limit: 1, Wishes: again, Reloads: 1,
		},
		"the same key twice at once, and a failover": {
			Units: 2, Limit: 2, Wishes: again, Faults: faults{Failovers: 1},
		},
		"two keys of a user": {
			Units: 2, Limit: 1, Wishes: other, Faults: faults{Crashes: 1, Losses: 1},
		},
		"two keys of a user, and a lease that ends": {
			Units: 2, Limit: 1, Wishes: other, Faults: faults{Crashes: 1, Leases: 1},
		},
		"two keys of a user, and a lock that lets everybody in": {
			Units: 2, Limit: 1, Wishes: other, Without: model.LyingLock, Faults: faults{Crashes: 1, Losses: 1},
		},
		"the same key twice, and a lock that lets everybody in": {
			Units: 1, Limit: 1, Wishes: again, Without: model.LyingLock, Faults: faults{Crashes: 1, Losses: 1},
		},
		"two keys of a user, a lock that lies and a failover": {
			Units: 2, Limit: 1, Wishes: other, Without: model.LyingLock, Faults: faults{Failovers: 1},
		},
		"two buyers of one unit": {
			Units: 1, Limit: 1, Wishes: two, Homes: [2]int8{0, 1}, Faults: faults{Losses: 1},
		},
		"two buyers of one unit that comes back": {
			Units: 1, Limit: 1, Wishes: two, Homes: [2]int8{0, 1}, Relays: 1, Changes: model.Cancel, Faults: faults{Crashes: 1},
		},
		"two buyers of one unit, and a failover": {
			Units: 1, Limit: 1, Wishes: two, Faults: faults{Failovers: 1},
		},
		"one key twice and another": {
			Units: 2, Limit: 1, Wishes: three,
		},
		"one buyer, and the database is set back": {
			Units: 1, Limit: 1, Wishes: once, Relays: 1, Changes: model.Cancel, Faults: faults{SetBacks: 1, Crashes: 1},
		},
		"one buyer in doubt, and the database is set back": {
			Units: 1, Limit: 1, Wishes: once, Faults: faults{SetBacks: 1, Losses: 2},
		},
		"one buyer, a reload, and the database is set back": {
			Units: 1, Limit: 1, Wishes: once, Relays: 1, Changes: model.Cancel, Reloads: 1, Faults: faults{SetBacks: 1},
		},
		"the same key twice at once, and the database is set back": {
			Units: 1, Limit: 1, Wishes: again, Faults: faults{SetBacks: 1},
		},
		"two keys of a user, and the database is set back": {
			Units: 2, Limit: 1, Wishes: other, Faults: faults{SetBacks: 1},
		},
		"two keys of a user and another buyer": {
			Units: 2, Limit: 1, Wishes: crowd, Homes: [2]int8{0, 1},
		},
		"one buyer, two units are added, and processes are killed": {
			Units: 1, Limit: 1, Wishes: once, Raises: 2, Faults: faults{Crashes: 1, Losses: 1},
		},
		"two buyers of one unit, and one is added": {
			Units: 1, Limit: 1, Wishes: two, Homes: [2]int8{0, 1}, Raises: 1, Faults: faults{Losses: 1},
		},
		"one buyer whose unit comes back, one is added, and a reload": {
			Units: 1, Limit: 1, Wishes: once, Relays: 1, Changes: model.Cancel, Raises: 1, Reloads: 1, Faults: faults{Crashes: 1},
		},
		"one buyer, a unit is added, and a shard loses its data": {
			Units: 1, Limit: 1, Wishes: once, Homes: away, Raises: 1, Faults: faults{Wipes: 1, Crashes: 1},
		},
		"one buyer, a unit is added, and a failover to old data": {
			Units: 1, Limit: 1, Wishes: once, Raises: 1, Faults: faults{Failovers: 1, Crashes: 1},
		},
		"one buyer, a unit is added, and the database is set back": {
			Units: 1, Limit: 1, Wishes: once, Raises: 1, Faults: faults{SetBacks: 1, Crashes: 1},
		},
		"a unit is added, and two versions": {
			Units: 1, Limit: 1, Wishes: again, Raises: 1, Versions: []uint8{2, 1},
		},
		"the same key at two neighbouring versions, and a reload": {
			Units: 1, Limit: 1, Wishes: again, Versions: []uint8{2, 1}, Reloads: 1,
		},
		"the same key at a newer version and one before, and an answer lost": {
			Units: 1, Limit: 1, Wishes: again, Versions: []uint8{0, 1}, Faults: faults{Losses: 1},
		},
		"the same key at two versions apart, and a reload": {
			Units: 1, Limit: 1, Wishes: again, Versions: apart, Reloads: 1,
		},
		"two keys at two versions apart, and a shard loses its data": {
			Units: 2, Limit: 1, Wishes: other, Versions: apart, Faults: faults{Wipes: 1},
		},
		"one unit that comes back, and two versions": {
			Units: 1, Limit: 1, Wishes: two, Homes: [2]int8{0, 1}, Relays: 1, Changes: model.Cancel, Versions: apart,
		},
	}
	for _, name := range sample(t, slices.Sorted(maps.Keys(sales))) {
		t.Run(name, func(t *testing.T) {
			sale := sales[name]
			sale.Reconcilers = 1
			start := time.Now()
			f := model.Explore(&sale)
			t.Logf("%d states, %d actions, %d at rest, in %v", f.States, f.Edges, f.Resting, time.Since(start))
			states += f.States
			require.Empty(t, f.Violated, trace(&sale, f))
			require.Positive(t, f.Resting)
		})
	}
	t.Logf("%d states in all", states)
}
