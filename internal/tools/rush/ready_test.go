package rush

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRush_ReadyHook_RunsBeforeFirstTap(t *testing.T) {
	s := open(t, &fakeServer{stock: 5})
	var order []string
	s.buy = func(http.ResponseWriter, string, string, int) bool {
		order = append(order, "tap")
		return false
	}
	rep := s.rush(t, Options{
		Users: 1, Concurrency: 1,
		Ready: func(context.Context) error { order = append(order, "ready"); return nil },
		Done:  func() { order = append(order, "done") },
	})
	require.Equal(t, []string{"ready", "tap", "done"}, order)
	require.Equal(t, 1, rep.ReadBack, "the orders are read back after it")
}

func TestRun_NotReady_DoesNotStart(t *testing.T) {
	s := open(t, &fakeServer{stock: 5})
	late := errors.New("the others did not come")
	_, err := Run(t.Context(), Options{
		URL: s.url, Users: 3, Token: plainToken,
		Ready: func(context.Context) error { return late },
		Done:  func() { t.Error("it was never begun") },
	})
	require.ErrorIs(t, err, late)
	require.Equal(t, 5, s.stock, "nobody bought")
}

func TestReport_Refusals_HaveTheirOwnLatency(t *testing.T) {
	s := open(t, &fakeServer{stock: 1})
	rep := s.rush(t, Options{Users: 50, Concurrency: 2})
	require.Equal(t, map[string]int{"sold_out": 49}, rep.Refused)
	require.Positive(t, rep.RefusedP50Millis)
	require.GreaterOrEqual(t, rep.RefusedP99Millis, rep.RefusedP50Millis)
}
