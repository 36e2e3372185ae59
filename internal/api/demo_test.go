package api

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/api/auth"
)

// crowd is a Rush that runs nothing.
type crowd struct {
	status RushStatus
	got    RushRequest
}

func (c *crowd) Start(o RushRequest) error {
	if c.status.Running {
		return ErrUnderWay
	}
	c.got, c.status = o, RushStatus{Running: true, CouponID: o.CouponID, Taps: o.Users}
	return nil
}

func (c *crowd) Stop() {
	c.status.Running, c.status.Report = false, map[string]any{"asked": 0}
}

func (c *crowd) Status() RushStatus { return c.status }

// theatre is a Lab with one experiment.
type theatre struct{ played, silent bool }

func (b *theatre) Plays() bool { return !b.silent }

func (b *theatre) List() any {
	text := map[string]any{"en": "a", "zh": "b"}
	return []any{map[string]any{"name": "a", "group": text, "title": text, "lesson": text, "needs": []string{"redis"}, "state": "new"}}
}

func (b *theatre) Start(name string) error {
	if name != "a" {
		return ErrNoExperiment
	}
	if b.played {
		return ErrUnderWay
	}
	b.played = true
	return nil
}

func (b *theatre) Result(name string) (any, error) {
	if name != "a" || !b.played {
		return nil, ErrNoExperiment
	}
	return map[string]any{"name": "a"}, nil
}

// demo serves the shop with a Rush and a Lab.
func demo(t *testing.T, o Options) (*Server, *crowd) {
	t.Helper()
	sh := newShop()
	s := sh.serve(t, o)
	c := &crowd{}
	s.deps.Rush, s.deps.Lab = c, &theatre{}
	return s, c
}

func TestFeatures_DemoOptions_ListsEnabledFeatures(t *testing.T) {
	s, _ := demo(t, Options{DemoLogin: true, DemoAdmin: true})
	rec := do(t, s, ask{method: "GET", path: "/api/v1/features"})
	require.JSONEq(t, `{"demo_login":true,"demo_admin":true,"admin":true,"rush":true,"lab":true,"purchase_token":false,"traces":false}`, rec.Body.String())
	rec = do(t, newShop().serve(t, Options{DemoAdmin: true}), ask{method: "GET", path: "/api/v1/features"})
	require.JSONEq(t, `{"demo_login":false,"demo_admin":false,"admin":true,"rush":false,"lab":false,"purchase_token":false,"traces":false}`, rec.Body.String(),
		"nobody becomes an administrator where nobody can log in")
}

func TestFeatures_AnotherDesign_IsNamed(t *testing.T) {
	s := newShop().serve(t, Options{})
	s.deps.Design = &Design{Name: "naive", Wrong: true}
	rec := do(t, s, ask{method: "GET", path: "/api/v1/features"})
	require.Contains(t, rec.Body.String(), `"design":{"name":"naive","wrong":true}`)
}

func TestDemoAdminSession_OnlyWhereAllowed_IsIssued(t *testing.T) {
	body := `{"user_id":"42","role":"admin"}`
	for name, tc := range map[string]struct {
		o    Options
		code int
	}{
		"allowed":           {Options{DemoLogin: true, DemoAdmin: true}, 201},
		"users alone":       {Options{DemoLogin: true}, 403},
		"nobody may log in": {Options{DemoAdmin: true}, 404},
	} {
		t.Run(name, func(t *testing.T) {
			s := newShop().serve(t, tc.o)
			rec := do(t, s, ask{method: "POST", path: "/api/v1/sessions", body: body})
			require.Equal(t, tc.code, rec.Code)
			if tc.code != 201 {
				return
			}
			var got session
			require.NoError(t, jsonInto(rec, &got))
			who, err := s.tokens.Verify(got.Token)
			require.NoError(t, err)
			require.Equal(t, auth.Identity{UserID: 42, Role: auth.RoleAdmin}, who)
			rec = do(t, s, ask{method: "POST", path: "/api/v1/sessions", body: `{"user_id":"42","role":"root"}`})
			require.Equal(t, "bad_request", codeOf(t, rec))
		})
	}
}

func TestRush_AdminOnly_StartsShowsStops(t *testing.T) {
	s, c := demo(t, Options{})
	const path = "/api/v1/admin/rush"
	chief := sign(t, s, 1, auth.RoleAdmin)
	order := `{"coupon_id":"1","users":500,"per_second":100,"pay_percent":30,"cancel_percent":10}`
	require.Equal(t, 403, do(t, s, ask{method: "POST", path: path, token: sign(t, s, 1, auth.RoleUser), body: order}).Code)
	require.Equal(t, 401, do(t, s, ask{method: "GET", path: path}).Code)

	rec := do(t, s, ask{method: "POST", path: path, token: chief, body: order})
	require.Equal(t, 202, rec.Code, rec.Body.String())
	require.Equal(t, RushRequest{CouponID: 1, Users: 500, PerS: 100, Pay: 30, Cancel: 10}, c.got)
	require.Contains(t, do(t, s, ask{method: "GET", path: path, token: chief}).Body.String(), `"running":true`)
	rec = do(t, s, ask{method: "POST", path: path, token: chief, body: order})
	require.Equal(t, 409, rec.Code)
	require.Equal(t, "One is under way already.", detailOf(t, rec))
	rec = do(t, s, ask{method: "DELETE", path: path, token: chief})
	require.JSONEq(t, `{"running":false,"coupon_id":"1","taps":500,"asked":0,"accepted":0,"refused":0,"failed":0,
		"report":{"asked":0}}`, rec.Body.String())
}

func TestRush_InvalidRequest_IsRefused(t *testing.T) {
	s, _ := demo(t, Options{})
	chief := sign(t, s, 1, auth.RoleAdmin)
	for body, status := range map[string]int{
		`{"users":5}`:                                                      400,
		`{"coupon_id":"1"}`:                                                400,
		`{"coupon_id":"1","users":0}`:                                      400,
		`{"coupon_id":"1","users":1e6}`:                                    400,
		`{"coupon_id":"1","users":200001}`:                                 400,
		`{"coupon_id":"1","users":5,"per_second":-1}`:                      400,
		`{"coupon_id":"1","users":5,"pay_percent":60,"cancel_percent":60}`: 400,
		`{"coupon_id":"1","users":5,"url":"http://elsewhere.example/"}`:    400,
		`{"coupon_id":"9","users":5}`:                                      404,
	} {
		require.Equal(t, status, do(t, s, ask{method: "POST", path: "/api/v1/admin/rush", token: chief, body: body}).Code, body)
	}
}

func TestExperimentRoutes_Administrator_PlaysThem(t *testing.T) {
	s, _ := demo(t, Options{})
	const path, seen = "/api/v1/admin/experiments", "/api/v1/experiments"
	chief := sign(t, s, 1, auth.RoleAdmin)
	require.Equal(t, 403, do(t, s, ask{method: "POST", path: path + "/a/run", token: sign(t, s, 1, auth.RoleUser)}).Code)
	require.Contains(t, do(t, s, ask{method: "GET", path: seen}).Body.String(), `"state":"new"`)
	require.Equal(t, 404, do(t, s, ask{method: "GET", path: seen + "/a"}).Code, "it was not played yet")
	require.Equal(t, 404, do(t, s, ask{method: "POST", path: path + "/b/run", token: chief}).Code)
	rec := do(t, s, ask{method: "POST", path: path + "/a/run", token: chief})
	require.Equal(t, 202, rec.Code)
	require.JSONEq(t, `{"name":"a"}`, rec.Body.String())
	require.Equal(t, 409, do(t, s, ask{method: "POST", path: path + "/a/run", token: chief}).Code)
	require.Equal(t, 200, do(t, s, ask{method: "GET", path: seen + "/a"}).Code, "all may see what came of it")
}

func TestLab_ServerWithoutServersOfItsOwn_ShowsButPlaysNothing(t *testing.T) {
	s, _ := demo(t, Options{DemoLogin: true, DemoAdmin: true})
	s.deps.Lab = &theatre{played: true, silent: true}
	require.Contains(t, do(t, s, ask{method: "GET", path: "/api/v1/features"}).Body.String(), `"lab":false`)
	require.Equal(t, 200, do(t, s, ask{method: "GET", path: "/api/v1/experiments"}).Code)
	require.Equal(t, 200, do(t, s, ask{method: "GET", path: "/api/v1/experiments/a"}).Code)
	rec := do(t, s, ask{method: "POST", path: "/api/v1/admin/experiments/a/run", token: sign(t, s, 1, auth.RoleAdmin)})
	require.Equal(t, "not_found", codeOf(t, rec))
}

func TestDemoRoutes_NotConfigured_AreNotFound(t *testing.T) {
	s := newShop().serve(t, Options{})
	chief := sign(t, s, 1, auth.RoleAdmin)
	for _, a := range []ask{
		{method: "GET", path: "/api/v1/admin/rush"},
		{method: "POST", path: "/api/v1/admin/rush", body: `{"coupon_id":"1","users":5}`},
		{method: "DELETE", path: "/api/v1/admin/rush"},
		{method: "GET", path: "/api/v1/experiments"},
		{method: "GET", path: "/api/v1/experiments/a"},
		{method: "POST", path: "/api/v1/admin/experiments/a/run"},
	} {
		a.token = chief
		require.Equal(t, "not_found", codeOf(t, do(t, s, a)), a.path)
	}
}
