package faults

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"example.com/seckill/internal/lock"
	"example.com/seckill/internal/lock/etcdlock"
	"example.com/seckill/internal/lock/mysqllock"
	"example.com/seckill/internal/lock/nolock"
	"example.com/seckill/internal/lock/redislock"
	"example.com/seckill/internal/lock/redlock"
	"example.com/seckill/internal/lock/zklock"
	"example.com/seckill/internal/order"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// armed returns points at which the process does not die, and the actions that would have ended it.
func armed(t *testing.T, spec string) (*Points, *[]Action) {
	t.Helper()
	all, err := Parse(spec)
	require.NoError(t, err)
	p, seen := &Points{}, &[]Action{}
	p.die = func(a Action) { *seen = append(*seen, a) }
	p.Arm(all...)
	return p, seen
}

func TestFault_String_RoundTrips(t *testing.T) {
	for _, text := range []string{"commit.after:kill:17", "reserve.during:stop:1", "pay.commit.before:lose:3/10", "lock.before:delay:2"} {
		all, err := Parse(" " + text + ", ")
		require.NoError(t, err, text)
		require.Len(t, all, 1)
		assert.Equal(t, text, all[0].String())
	}
}

func TestFault_Invalid_IsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"no pass":                        "commit.after:kill",
		"a pass of 0":                    "commit.after:kill:0",
		"every 0th":                      "commit.after:lose:1/0",
		"an unknown point":               "commit.afterwards:kill:1",
		"an unknown action":              "commit.after:explode:1",
		"a reply lost during":            "commit.during:lose:1",
		"a reply lost where none is":     "work.after:lose:1",
		"one good and one without sense": "commit.after:kill:1,reserve:kill:1",
	} {
		_, err := Parse(text)
		assert.Error(t, err, name)
	}
}

func TestFault_Pass_StrikesOnlyThere(t *testing.T) {
	p, seen := armed(t, "reserve.before:kill:3")
	for range 5 {
		require.NoError(t, p.hit(t.Context(), "reserve.before", nil))
		require.NoError(t, p.hit(t.Context(), "reserve.after", nil))
	}
	assert.Equal(t, []Action{Kill}, *seen)
	assert.Equal(t, map[string]int{"reserve.before": 5, "reserve.after": 5}, p.State().Passes)
	assert.Equal(t, map[string]int{"reserve.before:kill:3": 1}, p.State().Struck)
}

func TestFault_Repeated_StrikesAgain(t *testing.T) {
	p, _ := armed(t, "reserve.before:lose:2/3")
	var lost []int
	for pass := 1; pass <= 9; pass++ {
		if p.hit(t.Context(), "reserve.before", nil) != nil {
			lost = append(lost, pass)
		}
	}
	assert.Equal(t, []int{2, 5, 8}, lost)
}

func TestPoints_NoFaults_CountNothing(t *testing.T) {
	p := &Points{}
	require.NoError(t, p.at(t.Context(), "reserve", nil, func() error { return nil }))
	assert.Empty(t, p.State().Passes)
}

func TestFault_RequestOrReplyLost_IsNotDoneOrDone(t *testing.T) {
	for point, done := range map[string]bool{"reserve.before": false, "reserve.after": true} {
		p, _ := armed(t, point+":lose:1")
		did := false
		err := p.at(t.Context(), "reserve", order.ErrUnavailable, func() error { did = true; return nil })
		require.ErrorIs(t, err, order.ErrUnavailable)
		require.ErrorIs(t, err, errCut)
		assert.Equal(t, done, did, point)
	}
}

func TestPoint_StepFails_DoesNotReachItsEnd(t *testing.T) {
	p, seen := armed(t, "reserve.after:kill:1")
	failed := errors.New("sold out")
	require.ErrorIs(t, p.at(t.Context(), "reserve", nil, func() error { return failed }), failed)
	assert.Empty(t, *seen)
}

func TestFault_DuringStep_StrikesWhileStepGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, seen := armed(t, "commit.during:stop:1")
		require.NoError(t, p.at(t.Context(), "commit", nil, func() error {
			time.Sleep(while + time.Millisecond)
			synctest.Wait()
			assert.Equal(t, []Action{Stop}, *seen)
			return nil
		}))
	})
}

func TestDelay_ContextEnds_Ends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := armed(t, "reserve.before:delay:1/1")
		began := time.Now()
		require.NoError(t, p.hit(t.Context(), "reserve.before", nil))
		assert.Equal(t, slow, time.Since(began))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, p.hit(ctx, "reserve.before", nil))
		assert.Equal(t, slow, time.Since(began))
	})
}

// paid is a transaction in which every payment succeeds.
type paid struct{ order.Tx }

// committed is a database of one transaction, and records how that ended.
type committed struct {
	order.Database
	done bool
}

func (c *committed) InTx(ctx context.Context, work func(context.Context, order.Tx) error) error {
	if err := work(ctx, paid{}); err != nil {
		return fmt.Errorf("rolled back: %w", err)
	}
	c.done = true
	return nil
}

func (paid) Pay(context.Context, int64, int64, time.Time) (bool, error) { return true, nil }

func TestCommitPoint_Lost_IsUnknownEitherWay(t *testing.T) {
	for spec, happened := range map[string]bool{
		"commit.before:lose:1": false, "commit.after:lose:1": true,
	} {
		p, _ := armed(t, spec)
		c := &committed{}
		err := database{c, p, ""}.InTx(t.Context(), func(context.Context, order.Tx) error { return nil })
		require.ErrorIs(t, err, order.ErrCommitUnknown, spec)
		assert.Equal(t, happened, c.done, spec)

		p, _ = armed(t, spec)
		done := false
		a := &order.Attempt{}
		p.hook(t.Context(), order.StepCommit, []*order.Attempt{a}, func(context.Context) { done = true })
		require.ErrorIs(t, a.Err, order.ErrCommitUnknown, spec)
		assert.Equal(t, happened, done, spec)
	}
}

// A fault before the commit strikes an order that shares its transaction, too, and writes
// nothing.
func TestPoints_Place_CrossesThoseOfATransaction(t *testing.T) {
	for _, point := range []string{"begin.after", "fence.before", "slot.after", "insert.before", "take.after"} {
		p, _ := armed(t, point+":lose:1")
		written := 0
		commit := func(a *order.Attempt) {
			p.hook(t.Context(), order.StepCommit, []*order.Attempt{a}, func(context.Context) { written++ })
		}
		a, again := &order.Attempt{}, &order.Attempt{}
		commit(a)
		require.ErrorIs(t, a.Err, order.ErrUnavailable, point)
		require.Zero(t, written, point)
		commit(again)
		require.NoError(t, again.Err, point)
		require.Equal(t, 1, written, point)
	}
}

func TestCommitPoint_Name_FollowsItsTransaction(t *testing.T) {
	p, _ := armed(t, "pay.commit.after:lose:1,commit.after:lose:1")
	pay := func(ctx context.Context, tx order.Tx) error {
		_, err := tx.Pay(ctx, 1, 2, time.Time{})
		return err
	}
	require.ErrorIs(t, database{&committed{}, p, ""}.InTx(t.Context(), pay), order.ErrCommitUnknown)
	assert.Equal(t, map[string]int{"pay.commit.after:lose:1": 1}, p.State().Struck)
}

func TestFaultServer_HTTP_ArmsAndReports(t *testing.T) {
	p := &Points{}
	h := p.Handler(http.NotFoundHandler())
	ask := func(method, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, Path, strings.NewReader(body)))
		return w
	}
	require.Equal(t, http.StatusOK, ask(http.MethodPut, "commit.after:lose:1").Code)
	require.Error(t, p.hit(t.Context(), "commit.after", nil))
	assert.Contains(t, ask(http.MethodGet, "").Body.String(), `"struck":{"commit.after:lose:1":1}`)
	assert.Equal(t, http.StatusBadRequest, ask(http.MethodPut, "nonsense").Code)
	require.Equal(t, http.StatusOK, ask(http.MethodPut, "").Code)
	require.NoError(t, p.hit(t.Context(), "commit.after", nil))
}

// Only a build with the tag faults has points.
func TestPoints_OrdinaryBuild_HasNone(t *testing.T) {
	for tags, want := range map[string]bool{"": false, "faults": true} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", tags, "example.com/seckill/cmd/seckill").Output()
		require.NoError(t, err)
		assert.Equal(t, want, slices.Contains(strings.Fields(string(out)), "example.com/seckill/internal/testing/faults"), "tags %q", tags)
	}
}

func TestBackend_EveryBackend_KeepsItsInterfaces(t *testing.T) {
	for _, b := range []lock.Backend{
		(*redislock.Backend)(nil), (*redlock.Backend)(nil), (*mysqllock.LeaseRow)(nil), (*etcdlock.Backend)(nil),
		(*zklock.Backend)(nil),
		nolock.Backend{},
	} {
		with := (&Points{}).Backend(b)
		for name, implements := range map[string]func(any) bool{
			"FenceAdvancer": func(b any) bool { _, ok := b.(lock.FenceAdvancer); return ok },
			"Notifier":      func(b any) bool { _, ok := b.(lock.Notifier); return ok },
			"FairBackend":   func(b any) bool { _, ok := b.(lock.FairBackend); return ok },
			"Batcher":       func(b any) bool { _, ok := b.(lock.Batcher); return ok },
			"Handoffer":     func(b any) bool { _, ok := b.(lock.Handoffer); return ok },
		} {
			require.Equal(t, implements(b), implements(with), "%T is a %s", b, name)
		}
	}
}

// plain implements no optional interface.
type plain struct{ lock.Backend }

func TestBackend_UnknownCombination_IsRefused(t *testing.T) {
	require.PanicsWithValue(t,
		"faults: faults.plain implements other optional interfaces than every known backend: add its combination",
		func() { (&Points{}).Backend(plain{}) })
}
