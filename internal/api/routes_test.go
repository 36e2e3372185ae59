package api

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/api/auth"
)

func jsonInto(rec *httptest.ResponseRecorder, into any) error {
	return json.Unmarshal(rec.Body.Bytes(), into)
}

func TestCouponRoute_Show_FollowsContract(t *testing.T) {
	s := newShop().serve(t, Options{})
	rec := do(t, s, ask{method: "GET", path: "/api/v1/coupons/1"})
	require.Equal(t, 200, rec.Code)
	require.JSONEq(t, `{"id":"1","title":"Tea","stock":100,"left":94,"limit_per_user":1,"price_cents":990,
		"begins_at":"2030-01-31T16:00:00.123Z","ends_at":"2030-01-31T18:00:00.123Z","state":"on_sale"}`, rec.Body.String())
	require.Equal(t, "public, max-age=0, s-maxage=1", rec.Header().Get("Cache-Control"))
}

func TestCoupon_WindowPassed_IsShownAsEnded(t *testing.T) {
	sh := newShop()
	s := sh.serve(t, Options{Now: func() time.Time { return sh.now.Add(time.Hour) }})
	require.Contains(t, do(t, s, ask{method: "GET", path: "/api/v1/coupons/1"}).Body.String(), `"state":"ended"`)
}

func TestOrderRoutes_Lifecycle_PlacesFindsPaysLists(t *testing.T) {
	sh := newShop()
	s := sh.serve(t, Options{})
	token := sign(t, s, 42, auth.RoleUser)
	key := http.Header{"Idempotency-Key": {"a b~!"}}
	first := do(t, s, ask{method: "POST", path: place, token: token, header: key})
	require.Equal(t, 201, first.Code)
	require.Equal(t, "/api/v1/orders/1001", first.Header().Get("Location"))
	require.JSONEq(t, `{"id":"1001","coupon_id":"1","user_id":"42","status":"pending","price_cents":990,
		"created_at":"2030-01-31T17:00:00.123Z","expires_at":"2030-01-31T17:15:00.123Z","request_id":"r1001"}`, first.Body.String())

	again := do(t, s, ask{method: "POST", path: place, token: token, header: key, body: " { } \n"})
	require.Equal(t, 201, again.Code)
	require.Equal(t, first.Body.String(), again.Body.String())

	for range 2 {
		paid := do(t, s, ask{method: "POST", path: "/api/v1/orders/1001/payment", token: token, body: "{}"})
		require.Equal(t, 200, paid.Code)
		require.Contains(t, paid.Body.String(), `"status":"paid"`)
	}
	rec := do(t, s, ask{method: "POST", path: "/api/v1/orders/1001/cancellation", token: token})
	require.Equal(t, 409, rec.Code)
	require.Equal(t, "it is paid", detailOf(t, rec))
	require.Contains(t, do(t, s, ask{method: "GET", path: "/api/v1/orders/1001", token: token}).Body.String(), `"status":"paid"`)
	require.Contains(t, do(t, s, ask{method: "GET", path: "/api/v1/orders", token: token}).Body.String(), `"id":"1001"`)
	empty := do(t, s, ask{method: "GET", path: "/api/v1/orders", token: sign(t, s, 43, auth.RoleUser)})
	require.JSONEq(t, `{"orders":[],"next_cursor":""}`, empty.Body.String())
}

func TestLists_EveryPage_AreReadToTheEnd(t *testing.T) {
	sh := newShop()
	s := sh.serve(t, Options{})
	for id := int64(2); id <= 5; id++ {
		c := sh.coupons[1]
		c.ID = id
		sh.coupons[id] = c
	}
	token := sign(t, s, 42, auth.RoleUser)
	for range 5 {
		do(t, s, ask{method: "POST", path: place, token: token})
	}
	for path, want := range map[string][]string{
		"/api/v1/coupons": {"1", "2", "3", "4", "5"},
		"/api/v1/orders":  {"1005", "1004", "1003", "1002", "1001"},
	} {
		for _, limit := range []int{1, 2, 5, 100} {
			var got []string
			cursor, pages := "", 0
			for {
				var list struct {
					Coupons []struct{ ID string }
					Orders  []struct{ ID string }
					Next    string `json:"next_cursor"`
				}
				at := path + "?limit=" + strconv.Itoa(limit)
				if cursor != "" {
					at += "&cursor=" + cursor
				}
				rec := do(t, s, ask{method: "GET", path: at, token: token})
				require.Equal(t, 200, rec.Code)
				require.NoError(t, jsonInto(rec, &list))
				for _, e := range append(list.Coupons, list.Orders...) {
					got = append(got, e.ID)
				}
				if pages++; list.Next == "" {
					break
				}
				cursor = list.Next
			}
			require.Equal(t, want, got)
			require.Equal(t, (5+limit-1)/limit, pages, "no empty page at the end")
		}
	}
}

func TestAdminRoutes_Lifecycle_CreatesPublishesPausesEnds(t *testing.T) {
	sh := newShop()
	s := sh.serve(t, Options{})
	token := sign(t, s, 1, auth.RoleAdmin)
	made := do(t, s, ask{
		method: "POST", path: "/api/v1/admin/coupons", token: token,
		body: `{"title":"\u8336","stock":7,"begins_at":"2030-01-31T20:00:00.1234+03:00","ends_at":"2030-02-01T00:00:00Z"}`,
	})
	require.Equal(t, 201, made.Code, made.Body.String())
	require.Equal(t, "/api/v1/coupons/2", made.Header().Get("Location"))
	require.JSONEq(t, `{"id":"2","title":"\u8336","stock":7,"left":7,"limit_per_user":1,"price_cents":0,
		"begins_at":"2030-01-31T17:00:00.123Z","ends_at":"2030-02-01T00:00:00Z","state":"draft"}`, made.Body.String())

	for _, step := range []struct{ method, path, body, state string }{
		{"POST", "/publication", "", "on_sale"},
		{"PATCH", "", `{"title":"Green tea"}`, "on_sale"},
		{"DELETE", "/publication", "", "paused"},
		{"PATCH", "", `{"state":"ended"}`, "ended"},
	} {
		rec := do(t, s, ask{method: step.method, path: "/api/v1/admin/coupons/2" + step.path, token: token, body: step.body})
		require.Equal(t, 200, rec.Code, rec.Body.String())
		require.Contains(t, rec.Body.String(), `"state":"`+step.state+`"`)
	}
	rec := do(t, s, ask{method: "DELETE", path: "/api/v1/admin/coupons/2/publication", token: token})
	require.Equal(t, 409, rec.Code)
	require.Equal(t, "a coupon that is ended cannot be paused", detailOf(t, rec))
	require.Equal(t, "Green tea", sh.coupons[2].Title)
}

func TestCouponRoute_OutOfBounds_IsRefusedWithReason(t *testing.T) {
	s := newShop().serve(t, Options{})
	rec := do(t, s, ask{
		method: "POST", path: "/api/v1/admin/coupons", token: sign(t, s, 1, auth.RoleAdmin),
		body: `{"title":" ","stock":0,"begins_at":"2030-01-01T00:00:00Z","ends_at":"2030-01-01T00:00:00Z"}`,
	})
	require.Equal(t, 400, rec.Code)
	require.Equal(t, "title must have 1 to 200 characters; stock must be from 1 to 100000000; begins_at must be before ends_at", detailOf(t, rec))
}

func TestAuditRoute_Report_IsPassedThrough(t *testing.T) {
	sh := newShop()
	s := sh.serve(t, Options{})
	token := sign(t, s, 1, auth.RoleAdmin)
	for _, a := range []ask{
		{method: "GET", path: "/api/v1/admin/coupons/1/audit", token: token},
		{method: "POST", path: "/api/v1/admin/coupons/1/repair", token: token},
	} {
		rec := do(t, s, a)
		require.Equal(t, 200, rec.Code)
		require.JSONEq(t, `{"clean":true}`, rec.Body.String())
	}
	require.Equal(t, 404, do(t, s, ask{method: "GET", path: "/api/v1/admin/coupons/9/audit", token: token}).Code)
	sh.audited = func() {} // a function has no JSON
	require.Equal(t, 500, do(t, s, ask{method: "GET", path: "/api/v1/admin/coupons/1/audit", token: token}).Code)
}

func TestRequestTimeout_AuditRoute_IsLonger(t *testing.T) {
	sh := newShop()
	s := sh.serve(t, Options{RequestTimeout: time.Second})
	left := map[string]time.Duration{}
	for _, path := range []string{"/api/v1/admin/coupons/1/audit", "/api/v1/coupons/1"} {
		sh.say = func(ctx context.Context) error {
			until, _ := ctx.Deadline()
			left[path] = time.Until(until)
			return nil
		}
		do(t, s, ask{method: "GET", path: path, token: sign(t, s, 1, auth.RoleAdmin)})
	}
	require.Greater(t, left["/api/v1/admin/coupons/1/audit"], 20*time.Second)
	require.LessOrEqual(t, left["/api/v1/coupons/1"], time.Second)
}

func TestSessionRoute_Demo_IssuesUserToken(t *testing.T) {
	s := newShop().serve(t, Options{DemoLogin: true})
	rec := do(t, s, ask{method: "POST", path: "/api/v1/sessions", body: `{"user_id":"42"}`})
	require.Equal(t, 201, rec.Code)
	var got session
	require.NoError(t, jsonInto(rec, &got))
	require.Equal(t, "2030-01-31T18:00:00Z", got.ExpiresAt.Format(time.RFC3339))
	who, err := s.tokens.Verify(got.Token)
	require.NoError(t, err)
	require.Equal(t, auth.Identity{UserID: 42, Role: auth.RoleUser}, who)
}

func TestSessionRoute_NoDemoLogin_IsNotFound(t *testing.T) {
	s := newShop().serve(t, Options{})
	for _, body := range []string{`{"user_id":"42"}`, `nonsense`, ""} {
		rec := do(t, s, ask{method: "POST", path: "/api/v1/sessions", body: body})
		require.Equal(t, 404, rec.Code)
		require.Equal(t, "not_found", codeOf(t, rec))
	}
}

func TestPage_ForeignScripts_AreForbiddenByCSP(t *testing.T) {
	s := newShop().serve(t, Options{})
	names := append(ourFiles(t), "uplot.js", "uplot.css", "uplot.LICENSE.txt")
	require.Contains(t, names, "app.js")
	for _, name := range names {
		at := "/" + name
		if name == "index.html" {
			at = "/"
		}
		rec := do(t, s, ask{method: "GET", path: at})
		require.Equal(t, 200, rec.Code, name)
		require.Equal(t, kinds[path.Ext(name)], rec.Header().Get("Content-Type"))
		require.Contains(t, rec.Header().Get("Content-Security-Policy"), "default-src 'none'; script-src 'self';")
		for _, forbidden := range []string{"https://", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", " style=", "eval(", "Function("} {
			if strings.HasPrefix(name, "uplot.LICENSE") {
				continue // none of it was run
			}
			require.NotContains(t, rec.Body.String(), forbidden, name)
		}
	}
}

func TestNewServer_MissingDependency_NamesIt(t *testing.T) {
	whole := newShop().parts()
	tokens, err := auth.NewTokens(testSecret, time.Hour)
	require.NoError(t, err)
	_, err = New(Options{}, whole)
	require.ErrorIs(t, err, errMissingDep)
	_, err = New(Options{Tokens: tokens}, Deps{})
	require.ErrorIs(t, err, errMissingDep)
	_, err = New(Options{Tokens: tokens, TrustedProxies: []string{"nonsense"}}, whole)
	require.ErrorContains(t, err, "trusted proxies")
}
