package chaos

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// These tests look inside the package: the record and the judge's arithmetic are what
// everything else rests on.

func TestRecord_ForbiddenAnswer_IsNoticed(t *testing.T) {
	for name, tc := range map[string]struct {
		said func(r *record)
		want string
	}{
		"the same order again is no news": {func(r *record) {
			w := &purchase{user: 1}
			r.acknowledge(w, 10, time.Time{}, time.Time{})
			r.acknowledge(w, 10, time.Time{}, time.Time{})
		}, ""},
		"two orders for one request": {func(r *record) {
			w := &purchase{user: 1}
			r.acknowledge(w, 10, time.Time{}, time.Time{})
			r.acknowledge(w, 11, time.Time{}, time.Time{})
		}, "two orders for one request"},
		"one order for two requests": {func(r *record) {
			r.acknowledge(&purchase{user: 1}, 10, time.Time{}, time.Time{})
			r.acknowledge(&purchase{user: 2}, 10, time.Time{}, time.Time{})
		}, "one order for two requests"},
		"an order for a request that was given up": {func(r *record) {
			r.acknowledge(&purchase{user: 1, gone: true}, 10, time.Time{}, time.Time{})
		}, "given up"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRecord()
			tc.said(r)
			if tc.want == "" {
				assert.Empty(t, r.problems)
				return
			}
			require.Len(t, r.problems, 1)
			assert.Contains(t, r.problems[0], tc.want)
		})
	}
}

func TestRecord_KeyThatIsRefused_MayHaveNoUnitAndNoOrder(t *testing.T) {
	soldOut, busy := answer{status: http.StatusConflict, code: "sold_out"}, answer{status: http.StatusConflict, code: "request_in_progress"}
	for name, tc := range map[string]struct {
		a             answer
		before, after knowledge
		setBack       bool
		want          string
	}{
		"nothing is known":               {soldOut, knowledge{}, knowledge{}, false, ""},
		"an order was told":              {soldOut, knowledge{told: 10}, knowledge{}, false, "was told of order 10, and its key was refused as sold_out"},
		"the database had an order":      {soldOut, knowledge{order: 10}, knowledge{order: 10}, false, "the database had its order 10"},
		"the order is gone since":        {soldOut, knowledge{order: 10}, knowledge{}, false, ""},
		"it had a unit":                  {soldOut, knowledge{hold: 10}, knowledge{hold: 10}, false, "it had a unit, for order 10"},
		"the unit went back":             {soldOut, knowledge{hold: 10}, knowledge{}, false, ""},
		"another attempt has a unit now": {soldOut, knowledge{hold: 10}, knowledge{hold: 11}, false, ""},
		"the database was set back":      {soldOut, knowledge{order: 10}, knowledge{order: 10}, true, ""},
		"it is told to ask again":        {busy, knowledge{told: 10, order: 10, hold: 10}, knowledge{order: 10, hold: 10}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r, w := newRecord(), &purchase{user: 1}
			tc.before.at = time.Now()
			r.sent(w, &knowledge{})
			if tc.setBack {
				r.setBack(&history{at: time.Now()})
			}
			r.answered(w, tc.a, tc.before, tc.after)
			if tc.want == "" {
				assert.Empty(t, r.problems)
				return
			}
			require.Len(t, r.problems, 1)
			assert.Contains(t, r.problems[0], tc.want)
		})
	}
}

func TestRecord_OrderOfARefusedKey_IsMadeAfterTheRefusal(t *testing.T) {
	const apart = time.Second
	soldOut := answer{status: http.StatusConflict, code: "sold_out"}
	lost := answer{}
	for name, tc := range map[string]struct {
		during []answer // to requests before the refusal
		open   bool     // another request is not answered at that moment
		skewed bool
		made   time.Duration // after the refusal
		want   bool          // a problem
	}{
		"before":                                {nil, false, false, -apart, true},
		"after":                                 {nil, false, false, apart, false},
		"before, and refused twice":             {[]answer{soldOut}, false, false, -apart, true},
		"before, by a request without answer":   {[]answer{lost}, false, false, -apart, false},
		"before, by a request at the same time": {nil, true, false, -apart, false},
		"before, by a wrong clock":              {nil, false, true, -apart, false},
	} {
		t.Run(name, func(t *testing.T) {
			r, w := newRecord(), &purchase{user: 1}
			r.skewed = tc.skewed
			for _, a := range tc.during {
				r.sent(w, &knowledge{})
				r.answered(w, a, knowledge{}, knowledge{})
			}
			if tc.open {
				r.sent(w, &knowledge{})
			}
			r.sent(w, &knowledge{})
			r.answered(w, soldOut, knowledge{}, knowledge{})
			r.madeAfter(w, orderJSON{ID: "10", CreatedAt: time.Now().Add(tc.made)})
			if !tc.want {
				assert.Empty(t, r.problems)
				return
			}
			require.Len(t, r.problems, 1)
			assert.Contains(t, r.problems[0], "and its key was refused as sold_out")
		})
	}
}

func TestResult_SmallCoupons_AreAdded(t *testing.T) {
	r := Result{Asked: 10, Acknowledged: 3, Settled: time.Second, Refused: map[string]int{"sold_out": 1}}
	r.add(Result{Asked: 3, Acknowledged: 1, Settled: 2 * time.Second, Lost: 1, Refused: map[string]int{"sold_out": 2}})
	r.add(Result{Asked: 5, Acknowledged: 2, Settled: time.Millisecond, Leaked: 1})
	assert.Equal(t, Result{
		Coupons: 2, Asked: 18, Acknowledged: 6, Settled: 2 * time.Second, Lost: 1, Leaked: 1, Refused: map[string]int{"sold_out": 3},
	}, r)
}

func TestFaults_VariantsOfAFault_HaveNamesThatItsPatternDoesNotMatch(t *testing.T) {
	all, err := Faults(Queue, "")
	require.NoError(t, err)
	variant := regexp.MustCompile("^(distance|many|repeat):")
	for _, f := range all {
		if variant.MatchString(f.Name) {
			continue
		}
		same, err := Faults(Queue, regexp.QuoteMeta(f.Name)+"$")
		require.NoError(t, err)
		for _, other := range same {
			assert.False(t, variant.MatchString(other.Name) && strings.Contains(f.Name, ":"), "%s matches %s", f.Name, other.Name)
		}
	}
}

func TestAcknowledgedOrder_ImpossibleStatus_IsNotAllowed(t *testing.T) {
	now := time.Now()
	later, before := now.Add(time.Hour), now.Add(-time.Hour)
	for name, tc := range map[string]struct {
		o      acknowledged
		status string
		want   bool
	}{
		"left alone":                       {acknowledged{expires: later}, "pending", true},
		"left alone, and cancelled":        {acknowledged{expires: later}, "cancelled", false},
		"expired too early":                {acknowledged{expires: later}, "expired", false},
		"expired in time":                  {acknowledged{expires: before}, "expired", true},
		"paid for certain":                 {acknowledged{want: "paid", sure: true, expires: before}, "paid", true},
		"paid for certain, and expired":    {acknowledged{want: "paid", sure: true, expires: before}, "expired", false},
		"asked to be paid":                 {acknowledged{want: "paid", expires: later}, "paid", true},
		"asked to be paid, and is not yet": {acknowledged{want: "paid", expires: later}, "pending", true},
		"refused to be paid, and is":       {acknowledged{want: "paid", refused: true, expires: before}, "paid", false},
	} {
		assert.Equal(t, tc.want, tc.o.allows(tc.status, now), name)
	}
}

func TestRecord_OrderChanged_OnlyAfterDatabaseLoss(t *testing.T) {
	moment := time.Now()
	before, after := moment.Add(-time.Second), moment.Add(time.Second)
	r := newRecord()
	mine, yours := &purchase{user: 1}, &purchase{user: 2}
	lost, kept := r.acknowledge(mine, 10, time.Time{}, before), r.acknowledge(yours, 20, time.Time{}, before)
	assert.False(t, r.replaced(lost, "11"), "nothing was set back")
	r.setBack(&history{at: moment, orders: map[int64]row{20: {2, "pending"}}})
	assert.False(t, r.replaced(lost, "11"), "nobody was told of it")
	again := r.acknowledge(mine, 11, time.Time{}, after)
	other := r.acknowledge(&purchase{user: 3}, 30, time.Time{}, after)
	assert.True(t, r.replaced(lost, "11"))
	assert.False(t, r.replaced(lost, "10"), "it is the order itself")
	assert.False(t, r.replaced(lost, "30"), "of another request")
	assert.False(t, r.replaced(again, "10"), "it is there")
	assert.False(t, r.replaced(kept, "30"), "the copy has it")
	assert.False(t, r.replaced(other, ""))
	assert.Empty(t, r.problems)
}

func TestRecord_Stores_AreCounted(t *testing.T) {
	whole := storeState{total: 3, stock: 1, limit: 1, units: 1, loaded: true, orders: map[int64]row{
		1: {1, "pending"}, 2: {2, "paid"}, 3: {3, "cancelled"}, 4: {3, "expired"},
	}}
	assert.EqualValues(t, 2, whole.live())
	assert.Zero(t, whole.above())
	assert.Equal(t, 1, whole.pending())
	require.NoError(t, whole.rest())
	for name, change := range map[string]func(*storeState){
		"a unit is missing":      func(t *storeState) { t.units-- },
		"a hold is open":         func(t *storeState) { t.holds++ },
		"a return is owed":       func(t *storeState) { t.returns++ },
		"a shard is not loaded":  func(t *storeState) { t.loaded = false },
		"a unit has come back 2": func(t *storeState) { t.units++ },
	} {
		one := whole
		change(&one)
		require.Error(t, one.rest(), name)
	}
	whole.orders[5] = row{2, "pending"}
	assert.Equal(t, 1, whole.above())
}

func TestStoreState_InvariantBroken_ReturnsError(t *testing.T) {
	orders := map[int64]row{1: {7, "pending"}, 2: {7, "paid"}, 3: {8, "cancelled"}}
	require.NoError(t, storeState{total: 5, stock: 3, limit: 2, orders: orders}.broken())
	require.ErrorContains(t, storeState{total: 5, stock: 2, limit: 2, orders: orders}.broken(), "D 2 + A 2, and T is 5")
	require.ErrorContains(t, storeState{total: 1, stock: -1, limit: 2, orders: orders}.broken(), "D -1")
	require.ErrorContains(t, storeState{total: 5, stock: 3, limit: 1, orders: orders}.broken(), "1 orders are above the limit")
}

func TestResults_SeveralRuns_AreAddedUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.jsonl")
	for range 2 {
		b, err := OpenRunLog(path)
		require.NoError(t, err)
		b.Add(Result{Cell: "a", Lock: "redis", Hit: true, Asked: 10, Acknowledged: 3, Committed: 3, Settled: time.Second})
		b.Add(Result{Cell: "b", Lock: "none", Mode: Queue, Asked: 20, Lost: 1, Leaked: 2, Settled: 3 * time.Second, Problems: []string{"one is lost"}})
		require.NoError(t, b.Close())
	}
	b, err := OpenRunLog(path)
	require.NoError(t, err)
	sum := b.Summary()
	require.NoError(t, b.Close())
	assert.Equal(t, 4, sum.Total.Rounds)
	assert.Equal(t, 60, sum.Total.Asked)
	assert.Equal(t, 2, sum.Total.Lost)
	assert.Equal(t, 4, sum.Total.Leaked)
	assert.Equal(t, 2, sum.Failed)
	assert.InDelta(t, 3, sum.Total.AtRestMax, 0.001)
	require.Len(t, sum.Cells, 2)
	assert.Equal(t, 2, sum.Cells[1].Struck)

	var text bytes.Buffer
	require.NoError(t, sum.WriteText(&text))
	assert.Contains(t, text.String(), "b (mode: queue) (lock: none)")
	assert.Contains(t, text.String(), "4 rounds, 60 requests, 6 orders acknowledged: 2 lost, 0 oversold, 0 above the limit, 4 leaked; 2 rounds broke a promise")
	file := filepath.Join(t.TempDir(), "page.html")
	require.NoError(t, sum.WritePage(file))
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Contains(t, string(page), "2 of 4 rounds broke a promise")
	assert.Contains(t, string(page), "one is lost")
}

func TestRounds_Dealt_CoverEveryCellBeforeRepeating(t *testing.T) {
	cells, err := Faults(Queue, "")
	require.NoError(t, err)
	o := Options{Faults: cells, Rounds: 2*len(cells) + 5, Seed: 100}.withDefaults()
	played, seeds := map[string]int{}, map[uint64]bool{}
	for _, batch := range o.batches() {
		require.LessOrEqual(t, len(batch), roundsPerEnvironment)
		for _, j := range batch {
			require.Equal(t, batch[0].cell.kind, j.cell.kind, "one environment")
			played[j.cell.Name]++
			seeds[j.seed] = true
		}
	}
	assert.Len(t, seeds, o.Rounds)
	assert.Len(t, played, len(cells))
	for n, c := range cells {
		want := 2
		if n < 5 {
			want = 3
		}
		assert.Equal(t, want, played[c.Name], c.Name)
	}
}

func TestDoubted_AnswerAfterLastFault_ReturnsAnswerTime(t *testing.T) {
	r := &round{workload: &workload{rec: newRecord()}}
	healed := r.rec.heal()
	early, late := &purchase{told: healed.Add(-time.Second)}, &purchase{told: healed.Add(time.Second)}
	r.wishes = []*purchase{{}, early}
	assert.Equal(t, healed, r.doubted(), "what was told before has it from the fault's end")
	r.wishes = append(r.wishes, late, early)
	assert.Equal(t, late.told, r.doubted())
}
