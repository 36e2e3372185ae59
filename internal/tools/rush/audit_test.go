package rush

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// withAdmins is a server that lets everyone log in as an administrator.
func withAdmins(t *testing.T, s *fakeServer) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/", s.routes())
	mux.HandleFunc("GET /api/v1/features", func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, map[string]any{"demo_admin": true}) })
	mux.HandleFunc("POST /api/v1/sessions", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != `{"user_id":"1","role":"admin"}` {
			refuse(w, 400, "bad_request", "")
			return
		}
		reply(w, 201, map[string]any{"token": "admin"})
	})
	return newServer(t, mux)
}

func TestRush_ServerLetsAdministratorsLogIn_IsAudited(t *testing.T) {
	t.Parallel()
	s := open(t, &fakeServer{stock: 5})
	rep, err := Run(t.Context(), Options{URL: withAdmins(t, s), Users: 8, Token: plainToken})
	require.NoError(t, err)
	require.True(t, rep.Clean(), rep.AuditReason)
	require.NoError(t, rep.Verdict(true))
	require.Equal(t, &Stores{Sold: 5}, rep.Stores)
}

func TestRush_NoAudit_SaysSoAndIsNoFailure(t *testing.T) {
	t.Parallel()
	s := open(t, &fakeServer{stock: 5})
	rep, err := Run(t.Context(), Options{URL: withAdmins(t, s), Users: 8, Token: plainToken, AdminToken: "admin", NoAudit: true})
	require.NoError(t, err)
	require.Equal(t, AuditNotRun, rep.Audit)
	require.Equal(t, "it was left out on request", rep.AuditReason)
	require.Zero(t, s.reports)
	require.NoError(t, rep.Verdict(false))
}

func TestRush_NoAdministrator_SaysWhyAndFails(t *testing.T) {
	t.Parallel()
	s := open(t, &fakeServer{stock: 5})
	rep, err := Run(t.Context(), Options{URL: s.url, Users: 8, Token: plainToken, NoAuditReason: "set the secret"})
	require.NoError(t, err)
	require.Equal(t, "set the secret", rep.AuditReason)
	require.ErrorContains(t, rep.Verdict(true), "the sale was not audited: set the secret")
}

func TestRush_AuditCannotBeRead_SaysWhy(t *testing.T) {
	t.Parallel()
	s := open(t, &fakeServer{stock: 5})
	audits := 0
	mux := http.NewServeMux()
	mux.Handle("/", s.routes())
	mux.HandleFunc("GET /api/v1/admin/coupons/1/audit", func(w http.ResponseWriter, r *http.Request) {
		if audits++; audits > 1 {
			refuse(w, 403, "forbidden", "")
			return
		}
		s.serveAudit(w, r)
	})
	s.url = newServer(t, mux)
	rep := s.rush(t, Options{Users: 3})
	require.Contains(t, rep.AuditReason, "the audit could not be read: GET /api/v1/admin/coupons/1/audit: 403 forbidden")
}

func TestRush_OthersBuyToo_CountsThemApart(t *testing.T) {
	t.Parallel()
	s := open(t, &fakeServer{stock: 5})
	rep := s.rush(t, Options{Users: 8, Opening: func(units, limit int) {
		require.Equal(t, []int{5, 1}, []int{units, limit})
		s.sell("99", "")
	}})
	require.True(t, rep.Clean(), rep.Violations)
	require.Equal(t, []int{4, 5, 1}, []int{rep.Accepted, rep.Committed, rep.ByOthers})
	require.Equal(t, 5, rep.Stores.Sold)
}

func TestRush_SoldOut_TellsTheTimeOfTheLastUnit(t *testing.T) {
	t.Parallel()
	s := open(t, &fakeServer{stock: 5})
	rep := s.rush(t, Options{Users: 8})
	require.True(t, rep.SoldOut)
	require.Positive(t, rep.SellingSeconds)
	require.LessOrEqual(t, rep.SellingSeconds, rep.Seconds)

	exactly := open(t, &fakeServer{stock: 5}).rush(t, Options{Users: 5})
	require.True(t, exactly.SoldOut, "no buyer was told so, but the audit found no unit")

	plenty := open(t, &fakeServer{stock: 50}).rush(t, Options{Users: 5})
	require.False(t, plenty.SoldOut)
	require.Equal(t, &Stores{Sold: 5, LeftInDatabase: 45, LeftInRedis: 45}, plenty.Stores)
}

func TestRush_CancelledUnits_AreCountedWhenTheyAreSoldAgain(t *testing.T) {
	t.Parallel()
	s := open(t, &fakeServer{stock: 10})
	rep := s.rush(t, Options{Users: 30, CancelPercent: 100, Concurrency: 1})
	require.Equal(t, []int{30, 30, 20}, []int{rep.Accepted, rep.Cancelled, rep.SoldAgain})
}

func TestSoldAgain_TwoAudits_CountsOnlyUnitsThatCameBackBetweenThem(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		before, after auditReport
		want          int
	}{
		"19 of 38 came back before the run": {auditReport{Total: 100, Stock: 19, Orders: 100}, auditReport{Total: 100, Orders: 138}, 19},
		"all came back before the run":      {auditReport{Total: 10, Stock: 2, Orders: 10}, auditReport{Total: 10, Orders: 12}, 0},
		"one came back and is left":         {auditReport{Total: 10, Stock: 10}, auditReport{Total: 10, Stock: 6, Orders: 5}, 0},
		"three were sold again":             {auditReport{Total: 10, Stock: 10}, auditReport{Total: 10, Orders: 13}, 3},
		"a raise":                           {auditReport{Total: 10, Orders: 10}, auditReport{Total: 15, Orders: 15}, 0},
		"two were oversold":                 {auditReport{Total: 10, Stock: 10}, auditReport{Total: 10, Orders: 12, Oversold: 2}, 0},
	} {
		require.Equal(t, tc.want, soldAgain(tc.before, tc.after), name)
	}
}

func TestRush_PageIsBehindTheAudit_StartsWithTheAuditsCount(t *testing.T) {
	t.Parallel()
	s := open(t, &fakeServer{stock: 34})
	s.report = func(in *auditReport, _ int) { in.Stock, in.Redis = 32, 32 }
	var units int
	rep := s.rush(t, Options{Users: 1, Opening: func(left, _ int) { units = left }})
	require.Equal(t, []int{32, 32}, []int{units, rep.Left})
}

func TestRush_UnitsAreLeft_RateIsOfTheWholeRun(t *testing.T) {
	t.Parallel()
	s := open(t, &fakeServer{stock: 50})
	rep := s.rush(t, Options{Users: 20, FirstUser: 1, DoubleTapEvery: 1, Rate: 1000})
	require.False(t, rep.SoldOut)
	require.InDelta(t, 20/rep.Seconds, rep.OrdersPerSecond, 0.01)
}

func TestRush_LostOrders_AreCountedAndNamed(t *testing.T) {
	t.Parallel()
	s := open(t, &fakeServer{stock: 10})
	s.show = func(w http.ResponseWriter, o sold) bool {
		if o.UserID != "2" && o.UserID != "5" {
			return false
		}
		refuse(w, 404, "not_found", "")
		return true
	}
	rep := s.rush(t, Options{Users: 8})
	require.Equal(t, 2, rep.Lost)
	require.Len(t, rep.Violations, 2)
	require.Regexp(t, `^lost: order \d+ of user [25] `, rep.Violations[0])
}

func TestRush_Oversold_NamesTheOrdersAfterTheLastUnit(t *testing.T) {
	t.Parallel()
	s := open(t, &fakeServer{stock: 10})
	s.report = func(in *auditReport, _ int) { in.Total = 8 }
	rep := s.rush(t, Options{Users: 10, Concurrency: 1})
	require.Contains(t, rep.Violations[0], "oversold: 10 live orders were acknowledged for 8 units: after the last unit came order 1009, 1010")
}

func TestListed_ManyOrders_NamesTheFirst(t *testing.T) {
	t.Parallel()
	require.Equal(t, "order 1, 2", listed([]string{"1", "2"}))
	require.Equal(t, "order 1, 2, 3, 4, 5 and 2 more", listed([]string{"1", "2", "3", "4", "5", "6", "7"}))
}
