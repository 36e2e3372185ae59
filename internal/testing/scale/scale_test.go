package scale

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/schedlatency"
	"example.com/seckill/internal/testing/testservers"
	"example.com/seckill/internal/tools/servers"
)

var program, latency string

func TestMain(m *testing.M) {
	if testservers.Servers() == nil {
		var err error
		if program, err = testservers.BuildDrawn("../../../cmd/seckill"); err == nil {
			latency, err = testservers.BuildPlain(schedlatency.Command)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	testservers.Main(m)
}

// lent are servers that the tests share; Redis is emptied, so it is this test's own.
func lent(t *testing.T) Starter {
	maria, redis := testservers.MariaDB(t), testservers.NewRedis(t)
	return func(context.Context) (*servers.Env, error) {
		return &servers.Env{MariaDB: maria, Redis: redis}, nil
	}
}

// small is a sale of every phase, without a bound on anything that a busy machine breaks.
func small(t *testing.T) Options {
	t.Helper()
	testservers.Need(t, testservers.Servers)
	testservers.DependOnSources()
	give := lent(t)
	t.Setenv("TMPDIR", t.TempDir())
	return Options{
		Once:   true,
		Buyers: 1000, Coupons: 12, Root: "../../..", Program: program, Latency: latency, Servers: give, Tick: 10 * time.Millisecond, Calm: 100 * time.Millisecond, Busy: true,
		Limits: Limits{Call: time.Minute, Short: time.Minute, Memory: 1 << 30},
	}
}

func TestScale_SmallSale_RunsFromLoadingToArchive(t *testing.T) {
	testservers.OneOf(t, 2)
	o := small(t)
	told := 0
	o.OnRow = func(*Report) error { told++; return nil }
	r, err := Run(t.Context(), o)
	require.NoError(t, err)
	require.NoError(t, r.Verdict())
	require.Equal(t, 2*len(phases), told)
	require.Equal(t, []int64{500, 1000}, []int64{r.Sales[0].Buyers, r.Sales[1].Buyers})
	items := map[string]int64{}
	for _, row := range r.Sales[1].Rows {
		items[row.Phase] = row.Items
		require.Positive(t, min(row.Memory.Program, row.Memory.Redis, row.Memory.Database), row.Phase)
		if row.Phase != referencePhase { // which takes less than can be read
			require.Positive(t, row.CPU, row.Phase)
		}
	}
	require.Equal(t, map[string]int64{
		"calm": 0, "sale": 1000, "audit": audits * 1000, "migration": 1000, "publication": 1000, "restore": 1000, "settling": 20, "expiry": 500, "end": 1000,
		"archive":          1010, // with the holds that were committed
		"draw":             1000,
		"reference":        1000,
		"many-publication": 12, "many-sale": 36, "many-idle": 12, "many-restore": 12, "many-failover": 12, "many-reconcile": 12,
		"many-queue": 12, "many-audit": 12,
	}, items)
	var text bytes.Buffer
	require.NoError(t, r.WriteMarkdown(&text))
	require.Contains(t, text.String(), "| settling | 20 |")
	require.Contains(t, text.String(), "20 holds, 10 of them committed")
	require.Contains(t, text.String(), "Every bound holds")
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left, "its folder is gone")

	// A call of Redis that takes a moment is above a bound of no time at all.
	r.Limits.Call = time.Nanosecond
	r.Sales[1].Rows[1].Call = Call{Median: time.Microsecond}
	require.ErrorContains(t, r.Verdict(), "sale, 1000 buyers: every second call of a command keeps Redis busy for 1µs")
}

func TestScale_OnePhase_RunsAfterFilling(t *testing.T) {
	o := small(t)
	o.Phases = []string{"expiry"}
	r, err := Run(t.Context(), o)
	require.NoError(t, err)
	require.NoError(t, r.Verdict())
	require.Len(t, r.Sales[1].Rows, 1)
	require.Equal(t, "the sale: 1000 orders; the time to pay of half of the orders is over", r.Sales[1].Rows[0].Filled)
}

// What is filled in wrongly, or lost by the program, is an audit that is not clean.
func TestScale_AuditViolated_NamesItsPhase(t *testing.T) {
	o := small(t)
	o.Phases = []string{"audit"}
	before := phases
	t.Cleanup(func() { phases = before })
	for i, p := range phases {
		if p.name == "audit" {
			phases = append([]phase{}, phases...)
			phases[i].prepare = func(s *sale, ctx context.Context) (string, error) {
				return "", s.exec(ctx, "UPDATE coupons SET stock = stock - 1 WHERE id = ?", s.coupon)
			}
		}
	}
	r, err := Run(t.Context(), o)
	require.NoError(t, err)
	require.ErrorIs(t, r.Verdict(), ErrBroken)
	require.ErrorContains(t, r.Verdict(), "audit, 1000 buyers: the audit is not clean")
	require.ErrorContains(t, r.Verdict(), "I1   violated")
}

// Whoever stops a run finds nothing of it.
func TestScale_Interrupted_LeavesNothing(t *testing.T) {
	o := small(t)
	ctx, stop := context.WithCancel(t.Context())
	o.OnRow = func(*Report) error { stop(); return nil }
	_, err := Run(ctx, o)
	require.ErrorIs(t, err, context.Canceled)
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left)
}
