package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/api/auth"
)

func TestAuthorizationHeader_OtherForms_AreRefused(t *testing.T) {
	s := newShop().serve(t, Options{})
	token := sign(t, s, 42, auth.RoleUser)
	for name, tc := range map[string]struct {
		header []string
		status int
		asks   string
	}{
		"as it should be":      {[]string{"Bearer " + token}, 200, ""},
		"the word in small":    {[]string{"bearer " + token}, 200, ""},
		"none":                 {nil, 401, `Bearer realm="seckill"`},
		"twice":                {[]string{"Bearer " + token, "Bearer " + token}, 401, `Bearer realm="seckill", error="invalid_token"`},
		"two in one":           {[]string{"Bearer " + token + ", Bearer " + token}, 401, `Bearer realm="seckill", error="invalid_token"`},
		"the word alone":       {[]string{"Bearer"}, 401, `Bearer realm="seckill", error="invalid_token"`},
		"two spaces":           {[]string{"Bearer  " + token}, 200, ""}, // RFC 6750 allows any number
		"spaces alone":         {[]string{"Bearer   "}, 401, `Bearer realm="seckill", error="invalid_token"`},
		"another scheme":       {[]string{"Basic " + token}, 401, `Bearer realm="seckill", error="invalid_token"`},
		"no scheme":            {[]string{token}, 401, `Bearer realm="seckill", error="invalid_token"`},
		"something after that": {[]string{"Bearer " + token + " x"}, 401, `Bearer realm="seckill", error="invalid_token"`},
	} {
		t.Run(name, func(t *testing.T) {
			rec := do(t, s, ask{method: "GET", path: "/api/v1/orders", header: http.Header{"Authorization": tc.header}})
			require.Equal(t, tc.status, rec.Code)
			require.Equal(t, tc.asks, rec.Header().Get("WWW-Authenticate"))
		})
	}
}

func TestTokenCache_CachedToken_StillExpires(t *testing.T) {
	sh := newShop()
	now := sh.now
	s := sh.serve(t, Options{Now: func() time.Time { return now }})
	token, _, err := s.tokens.Sign(42, auth.RoleUser, time.Minute)
	require.NoError(t, err)
	status := func() int { return do(t, s, ask{method: "GET", path: "/api/v1/orders", token: token}).Code }
	require.Equal(t, 200, status())
	now = now.Add(59 * time.Second)
	require.Equal(t, 200, status())
	now = now.Add(time.Second)
	require.Equal(t, 401, status())
}

func TestAdminRoutes_OtherRoles_AreRefused(t *testing.T) {
	sh := newShop()
	s := sh.serve(t, Options{})
	routes := 0
	for _, r := range s.engine.Routes() {
		if !strings.Contains(r.Path, "/admin/") || r.Method == http.MethodHead {
			continue
		}
		routes++
		path := strings.ReplaceAll(r.Path, ":id", "1")
		require.Equal(t, 401, do(t, s, ask{method: r.Method, path: path}).Code, path)
		rec := do(t, s, ask{method: r.Method, path: path, token: sign(t, s, 42, auth.RoleUser)})
		require.Equal(t, 403, rec.Code, path)
		require.Equal(t, "forbidden", codeOf(t, rec))
	}
	require.Equal(t, 10, routes)
	require.Equal(t, 201, do(t, s, ask{method: "POST", path: place, token: sign(t, s, 1, auth.RoleAdmin)}).Code, "an administrator may buy")
}
