package rush

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"
)

func TestToken_Signed_IsAcceptedByServer(t *testing.T) {
	token, err := Signed("a secret that is long enough for HS256")(t.Context(), 42)
	require.NoError(t, err)
	parsed, err := jwt.Parse(token, func(*jwt.Token) (any, error) {
		return []byte("a secret that is long enough for HS256"), nil
	}, jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired(), jwt.WithIssuedAt())
	require.NoError(t, err)
	claims := parsed.Claims.(jwt.MapClaims)
	require.Equal(t, "42", claims["sub"])
	require.Equal(t, "user", claims["role"])
	exp, err := claims.GetExpirationTime()
	require.NoError(t, err)
	require.WithinDuration(t, exp.Time, time.Now().Add(time.Hour), time.Minute)
}

func TestToken_Session_ReturnsOne(t *testing.T) {
	var tries atomic.Int32
	url := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]string
		if r.URL.Path != "/api/v1/sessions" || json.NewDecoder(r.Body).Decode(&body) != nil {
			refuse(w, 404, "not_found", "")
			return
		}
		switch {
		case body["user_id"] == "7":
			reply(w, 201, map[string]string{"expires_at": "2030-01-01T00:00:00Z"})
		case body["user_id"] == "8":
			refuse(w, 404, "not_found", "")
		case tries.Add(1) == 1:
			refuse(w, 429, "rate_limited", "1")
		default:
			reply(w, 201, map[string]string{"token": "for-" + body["user_id"]})
		}
	}))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	login := Sessions(url, client)

	token, err := login(t.Context(), 42)
	require.NoError(t, err)
	require.Equal(t, "for-42", token)
	require.EqualValues(t, 2, tries.Load(), "it waited when it was told to")

	_, err = login(t.Context(), 7)
	require.ErrorContains(t, err, "no token")
	_, err = login(t.Context(), 8)
	require.ErrorContains(t, err, "404 Not Found: the server's demo login is off: set SECKILL_AUTH__SECRET to the server's secret")
}

func TestToken_EveryBuyer_HasOneBeforeTheStart(t *testing.T) {
	s := open(t, &fakeServer{stock: 50})
	rep := s.rush(t, Options{Users: 50, FirstUser: 7_000_000_000_000_000_000})
	require.Equal(t, 50, rep.Accepted)
	require.Equal(t, 1, s.live["7000000000000000049"])
	require.Len(t, s.live, 50)
	require.True(t, rep.Clean(), rep.Violations)
}
