package model_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/seckill/internal/testing/model"
)

// restless is a sale without a reconciler where one is not needed to see a second order.
type restless struct{ *model.Sale }

// AtRest is not asked for.
func (restless) AtRest(model.State) bool { return true }

// The model plays two requests of one user, with every set of the four lines of defence and against every kind of
// fault. While nothing is lost, one line is enough. After a loss, one of the two lines in the database is enough. The
// lock is not, because its lease may end before a COMMIT arrives. The count in the shard is not, because a failover
// forgets it.
func TestModel_Defences_SomeCombinationsAreEnough(t *testing.T) {
	lines := []struct {
		bit  model.Bugs
		name string
	}{{model.NoCount, "count"}, {model.LyingLock, "lock"}, {model.NoFence, "fence"}, {model.NoSlotIndex, "index"}}
	hazards := []struct {
		name  string
		under model.Sale
	}{
		{"none", model.Sale{Reconcilers: 1}},
		{"killed", model.Sale{Reconcilers: 1, Faults: model.Faults{Crashes: 1}}},
		{"an answer lost", model.Sale{Faults: model.Faults{Losses: 1}}},
		{"error 1205", model.Sale{Faults: model.Faults{Waits: 1}}},
		{"lease ends", model.Sale{Faults: model.Faults{Leases: 1}}},
		{"failover", model.Sale{Faults: model.Faults{Failovers: 1}}},
		{"data lost", model.Sale{Faults: model.Faults{Wipes: 1}}},
		{"reload", model.Sale{Reloads: 1}},
	}
	var table strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&table, "%-6s", l.name)
	}
	for _, h := range hazards {
		fmt.Fprintf(&table, " │ %s", h.name)
	}
	table.WriteByte('\n')
	for down := range model.Lines + 1 {
		for _, l := range lines {
			stands := "yes"
			if down.Has(l.bit) {
				stands = "-"
			}
			fmt.Fprintf(&table, "%-6s", stands)
		}
		for _, h := range hazards {
			m := h.under
			m.Units, m.Limit, m.Wishes, m.Without = 2, 1, other, down
			violated := model.Explore(restless{&m}).Violated
			if violated == "" {
				violated = "ok"
			}
			fmt.Fprintf(&table, " │ %-*s", len(h.name), violated)
		}
		table.WriteByte('\n')
	}
	t.Logf("\n%s", table.String())
	golden(t, "lines-of-defence.txt", []byte(table.String()))
}

// No process dies and no lease ends early. The answers to COMMIT and to the void order are lost, so the lock is left to
// run out. It runs out while the server still decides.
func TestModel_TwoLostAnswers_DefeatTheLockAlone(t *testing.T) {
	m := model.Sale{
		Units: 2, Limit: 1, Wishes: other, Without: model.Lines &^ model.LyingLock, Faults: model.Faults{Losses: 2},
	}
	f := model.Explore(restless{&m})
	if f.Violated != model.I3 {
		t.Errorf("violated %q\n%s", f.Violated, trace(&m, f))
	}
	golden(t, "lock-alone-falls.txt", []byte(trace(&m, f)))
}

// The lock and the count together stand against either fault and not against both.
func TestModel_LockAndCount_CanBothFail(t *testing.T) {
	m := model.Sale{
		Units: 2, Limit: 1, Wishes: other, Without: model.NoFence | model.NoSlotIndex,
		Faults: model.Faults{Leases: 1, Failovers: 1},
	}
	f := model.Explore(&m)
	if f.Violated != model.I3 {
		t.Errorf("violated %q\n%s", f.Violated, trace(&m, f))
	}
	golden(t, "lock-and-count-both-fall.txt", []byte(trace(&m, f)))
}
