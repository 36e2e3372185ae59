package rush

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func firstOf(rep Report) error {
	return errors.New(strings.Join(rep.Violations, "\n"))
}

// invent answers 201 with an order that no honest shop would give.
func invent(w http.ResponseWriter, o sold) bool {
	o.CouponID, o.Status = "1", "pending"
	reply(w, 201, o)
	return true
}

func TestVerdict_LyingServer_IsDetected(t *testing.T) {
	later := time.Now().Add(time.Hour)
	for name, tc := range map[string]struct {
		lie        func(s *fakeServer)
		options    Options
		says       string
		oversold   int
		duplicates int
	}{
		"when two users get the same order": {
			lie: func(s *fakeServer) {
				s.buy = func(w http.ResponseWriter, user, _ string, _ int) bool {
					return invent(w, sold{ID: "7", UserID: user, Expires: later})
				}
			},
			options: Options{Users: 3, Verify: -1}, says: "order 7 was given to user", duplicates: 2,
		},
		"when one user's two requests get the same order": {
			lie: func(s *fakeServer) {
				s.buy = func(w http.ResponseWriter, user, _ string, _ int) bool {
					return invent(w, sold{ID: "7", UserID: user, Expires: later})
				}
			},
			options: Options{Taps: 2, Verify: -1}, says: "answers two different requests of user 1", duplicates: 1,
		},
		"when a user gets more than the limit": {
			lie: func(s *fakeServer) {
				s.limit = 5 // the shop's own count
				s.report = func(in *auditReport, _ int) { s.limit = 5 }
			},
			options: Options{Taps: 3}, says: "user 1 was given 3 live orders, and the limit is 1", duplicates: 2,
		},
		"when it sells what it does not have": {
			lie: func(s *fakeServer) {
				s.report = func(in *auditReport, _ int) { in.Total = 2 }
			},
			options: Options{Users: 5}, says: "oversold: 5 live orders were acknowledged for 2 units", oversold: 3,
		},
		"when an acknowledged order is gone": {
			lie: func(s *fakeServer) {
				s.show = func(w http.ResponseWriter, o sold) bool {
					if o.UserID != "2" {
						return false
					}
					refuse(w, 404, "not_found", "")
					return true
				}
			},
			options: Options{Users: 5}, says: "of user 2 was acknowledged and cannot be read: not_found",
		},
		"when an acknowledged order is void": {
			lie: func(s *fakeServer) {
				s.show = func(w http.ResponseWriter, o sold) bool { o.Status = "abandoned"; reply(w, 200, o); return true }
			},
			options: Options{Users: 1}, says: `should be pending and is "abandoned"`,
		},
		"when a paid order is not": {
			lie: func(s *fakeServer) {
				s.show = func(w http.ResponseWriter, o sold) bool { o.Status = "pending"; reply(w, 200, o); return true }
			},
			options: Options{Users: 1, PayPercent: 100}, says: `should be paid and is "pending"`,
		},
		"when an order expires long before its time": {
			lie: func(s *fakeServer) {
				s.show = func(w http.ResponseWriter, o sold) bool { o.Status = "expired"; reply(w, 200, o); return true }
			},
			options: Options{Users: 1}, says: `should be pending and is "expired"`,
		},
		"when a user reads another's order": {
			lie: func(s *fakeServer) {
				s.show = func(w http.ResponseWriter, o sold) bool { o.UserID = "99"; reply(w, 200, o); return true }
			},
			options: Options{Users: 1}, says: "lost: user 1 reads order 1001 and gets order 1001 of user 99",
		},
		"when the order is somebody else's": {
			lie: func(s *fakeServer) {
				s.buy = func(w http.ResponseWriter, _, _ string, _ int) bool {
					return invent(w, sold{ID: "8", UserID: "99", Expires: later})
				}
			},
			options: Options{Users: 1, Verify: -1}, says: "which is user 99's",
		},
		"when a 201 has no order": {
			lie: func(s *fakeServer) {
				s.buy = func(w http.ResponseWriter, _, _ string, _ int) bool { w.WriteHeader(http.StatusCreated); return true }
			},
			options: Options{Users: 1}, says: "answered 201 without an order",
		},
		"when fewer are committed than acknowledged": {
			lie: func(s *fakeServer) {
				s.report = func(in *auditReport, n int) { in.Orders = max(0, in.Orders-1) }
			},
			options: Options{Users: 4}, says: "lost: 4 orders were acknowledged and only 3 are committed",
		},
		"when its own audit finds something": {
			lie: func(s *fakeServer) {
				s.report = func(in *auditReport, n int) {
					in.Clean, in.Violations, in.Oversold, in.Duplicates = n == 1, []string{"I1: stock -3"}, 3, 1
				}
			},
			options: Options{Users: 1}, says: "audit: I1: stock -3", oversold: 3, duplicates: 1,
		},
		"when its audit names an invariant": {
			lie: func(s *fakeServer) {
				s.report = func(in *auditReport, _ int) {
					in.Clean = false
					in.Invariants = append(in.Invariants, invariant{"I5", "no shard below zero", "violated", "shard 3: -1"},
						invariant{"I1", "D + A = T", "ok", ""})
				}
			},
			options: Options{Users: 1}, says: "audit: I5 no shard below zero: shard 3: -1",
		},
		"when its audit is not clean and gives no reason": {
			lie:     func(s *fakeServer) { s.report = func(in *auditReport, _ int) { in.Clean = false } },
			options: Options{Users: 1}, says: "not clean, and it names no invariant",
		},
		"when the sale never comes to rest": {
			lie:     func(s *fakeServer) { s.report = func(in *auditReport, _ int) { in.Holds = 2 } },
			options: Options{Users: 1}, says: "not at rest after 300ms: 2 holds",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &fakeServer{stock: 100}
			s.limit = 1
			open(t, s)
			told := s.limit
			tc.lie(s)
			if s.limit != told { // what it shows and what it does differ
				s.url = showingLimit(t, s, told)
			}
			tc.options.timeouts = defaultTimeouts
			tc.options.timeouts.atRest = 300 * time.Millisecond
			rep := s.rush(t, tc.options)
			require.Equal(t, AuditViolated, rep.Audit)
			require.False(t, rep.Clean())
			require.ErrorContains(t, firstOf(rep), tc.says)
			require.Equal(t, tc.oversold, rep.Oversold)
			require.Equal(t, tc.duplicates, rep.Duplicates)
		})
	}
}

// showingLimit is the same shop behind a coupon that promises another limit.
func showingLimit(t *testing.T, s *fakeServer, limit int) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/", s.routes())
	mux.HandleFunc("GET /api/v1/coupons/1", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, 200, map[string]any{"id": "1", "stock": s.total, "left": s.total, "limit_per_user": limit})
	})
	return newServer(t, mux)
}

func TestAudit_SaleBusy_WaitsForQuiet(t *testing.T) {
	s := open(t, &fakeServer{stock: 3})
	s.report = func(in *auditReport, n int) {
		if n == 2 { // the first after the run: a hold is still on its way, and nothing adds up
			in.Holds, in.Settled, in.Clean = 1, false, false
		}
	}
	rep := s.rush(t, Options{Users: 3})
	require.Equal(t, 3, s.reports)
	require.True(t, rep.Clean(), rep.Violations)
}

// An audit takes as long as the sale is large: longer than a buyer waits for an answer.
func TestAudit_SlowerThanARequest_IsAwaited(t *testing.T) {
	s := open(t, &fakeServer{stock: 3})
	s.report = func(*auditReport, int) { time.Sleep(1200 * time.Millisecond) }
	rep := s.rush(t, Options{Users: 3, Timeout: time.Second})
	require.Equal(t, AuditClean, rep.Audit, rep.Notes)
}

func TestVerdict_OrderOverdue_MayBeExpired(t *testing.T) {
	s := open(t, &fakeServer{stock: 1})
	s.buy = func(w http.ResponseWriter, user, key string, _ int) bool {
		o, _ := s.sell(user, key)
		o.Expires = time.Now().UTC()
		reply(w, 201, o)
		return true
	}
	s.show = func(w http.ResponseWriter, o sold) bool { o.Status = "expired"; reply(w, 200, o); return true }
	require.True(t, s.rush(t, Options{Users: 1}).Clean())
}

func TestVerdict_ThousandLies_PrintsAHundred(t *testing.T) {
	s := open(t, &fakeServer{stock: 1000})
	s.buy = func(w http.ResponseWriter, user, _ string, _ int) bool {
		return invent(w, sold{ID: "7", UserID: user})
	}
	rep := s.rush(t, Options{Users: 300, Verify: -1})
	require.Len(t, rep.Violations, mostViolations+1)
	require.Contains(t, rep.Violations[mostViolations], "more")
}

func TestReport_UnitsLeftAfterSoldOut_AreMentioned(t *testing.T) {
	s := open(t, &fakeServer{stock: 5})
	s.buy = func(w http.ResponseWriter, _, _ string, _ int) bool { refuse(w, 409, "sold_out", ""); return true }
	rep := s.rush(t, Options{Users: 2})
	require.True(t, rep.Clean())
	require.Len(t, rep.Notes, 1)
	require.Contains(t, rep.Notes[0], "5 units are left")
}
