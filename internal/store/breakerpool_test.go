package store

import (
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/order"
	"example.com/seckill/internal/platform/breaker"
	"example.com/seckill/internal/testing/testservers"
)

// answering waits until the store has noticed that its database is back.
func answering(t *testing.T, s *subject) {
	t.Helper()
	began := time.Now()
	require.Eventually(t, func() bool {
		_, err := s.Coupons().Find(t.Context(), 1)
		return err == nil
	}, patient, pollEvery, "the database is not asked again")
	t.Log("asked again after", time.Since(began))
}

// next returns what a breaker tells next.
func next(t *testing.T, told <-chan bool) (away bool) {
	t.Helper()
	select {
	case away = <-told:
	case <-time.After(patient):
		t.Fatal("the breaker says nothing")
	}
	return away
}

func TestBreakerPool_DatabaseUnavailable_FailsFast(t *testing.T) {
	m := testservers.NewMariaDB(t)
	name, err := m.CreateDatabase(t.Context())
	require.NoError(t, err)
	told := make(chan bool, 16)
	s := migrated(t, Options{
		MySQL: strings.Replace(m.DSN(name), "readTimeout=5s", "readTimeout=1s", 1), TxTimeout: 300 * time.Millisecond,
		MaxOpen: 8, MaxIdle: 8,
		OnBreakerChange: func(_ string, away bool) { told <- away },
	})
	require.False(t, next(t, told), "it is up from the first")
	c := onSale(t, s, 1000)
	id := int64(0)
	try := func() error { id++; return place(t.Context(), s, c, wish(c, id, id)) }
	require.NoError(t, try())
	for fault, steps := range map[string]struct{ begin, end func() error }{
		"stopped": {m.Pause, m.Resume},
		"killed":  {m.Kill, func() error { return m.Restart(t.Context()) }},
	} {
		var idle []*sql.Conn // a transaction of each begins, and says nothing of the server
		for range 4 {
			conn, err := s.Pool().Conn(t.Context())
			require.NoError(t, err)
			idle = append(idle, conn)
		}
		for _, conn := range idle {
			require.NoError(t, conn.Close())
		}
		require.NoError(t, steps.begin())
		for range 3 {
			began := time.Now()
			require.ErrorIs(t, try(), order.ErrUnavailable, fault)
			require.Less(t, time.Since(began), time.Second, "the budget of a transaction")
		}
		require.True(t, next(t, told), fault)
		var took []time.Duration
		for range 100 {
			began := time.Now()
			require.ErrorIs(t, try(), breaker.ErrOpen, fault)
			require.ErrorIs(t, s.Void(t.Context(), wish(c, 5000, 1)), order.ErrUnavailable)
			_, err := s.NextFence(t.Context(), "k")
			require.ErrorIs(t, err, breaker.ErrOpen)
			require.ErrorIs(t, s.AdvanceFence(t.Context(), "k", 7), breaker.ErrOpen)
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		require.Less(t, took[len(took)/2], 50*time.Millisecond, "a busy machine may let some of them wait, but not most")
		require.NoError(t, steps.end())
		answering(t, s)
		require.False(t, next(t, told), fault)
		require.Eventually(t, func() bool { return try() == nil }, patient, pollEvery, "orders are made again: "+fault)
	}
}

// What the database says, of a deadlock or of a row that is there, is an answer.
func TestBreakerPool_DatabaseRefuses_StaysClosed(t *testing.T) {
	s := migrated(t, Options{
		MySQL: testservers.DSN(t), OnBreakerChange: func(_ string, open bool) {
			if open {
				t.Error("the circuit opened")
			}
		},
	})
	c := onSale(t, s, 10)
	placed(t, s, c, 1, 1)
	for range 10 {
		require.ErrorIs(t, place(t.Context(), s, c, wish(c, 1, 1)), order.ErrDuplicate)
	}
	for range 10 { // in a row, with nothing between them that succeeds
		require.ErrorIs(t, s.Void(t.Context(), wish(c, 1, 1)), order.ErrDuplicate)
	}
	placed(t, s, c, 2, 2)
}

// The server answers a statement that it rejects or breaks off, so it is not away.
func TestBreaker_RejectedOrInterruptedStatement_StaysClosed(t *testing.T) {
	for number, want := range map[uint16]breaker.Outcome{
		1064: breaker.Responsive, 1054: breaker.Responsive, 1317: breaker.Responsive, 1969: breaker.Responsive,
		1213: breaker.Responsive, 1062: breaker.Responsive, 1040: breaker.Unresponsive, 1053: breaker.Unresponsive,
	} {
		require.Equal(t, want, outcomeOf(&mysql.MySQLError{Number: number}), number)
	}
}

// One order that the database rejects leaves the others of its group theirs.
func TestGroup_OneRejectedOrder_CommitsTheOthers(t *testing.T) {
	h := newHall(t, onMariaDB(t))
	c := onSale(t, h.subject, 10)
	h.come(t.Context(), c, wish(c, 1, 1))
	tooLong := wish(c, 2, 2)
	tooLong.RequestID = strings.Repeat("r", 99)
	h.come(t.Context(), c, tooLong)
	got := h.open()
	require.NoError(t, got[1])
	require.ErrorIs(t, got[2], order.ErrUnavailable)
	require.Equal(t, CauseRejected, Cause(got[2]))
	stock, live := left(t, h.subject, c)
	require.Equal(t, []int64{9, 1}, []int64{stock, live})
}
