package api

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/coupon"
)

func TestCouponRoute_SameTag_AnswersNotModified(t *testing.T) {
	s := newShop()
	server := s.serve(t, Options{})
	look := func(tag string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "/api/v1/coupons/1", http.NoBody)
		if tag != "" {
			r.Header.Set("If-None-Match", tag)
		}
		rec := httptest.NewRecorder()
		server.Handler().ServeHTTP(rec, r)
		return rec
	}
	first := look("")
	require.Equal(t, http.StatusOK, first.Code)
	require.Equal(t, "public, max-age=0, s-maxage=1", first.Header().Get("Cache-Control"))
	require.Equal(t, "Authorization", first.Header().Get("Vary"))
	tag := first.Header().Get("ETag")
	require.NotEmpty(t, tag)

	for _, known := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
		rec := look(known)
		require.Equal(t, http.StatusNotModified, rec.Code, known)
		require.Empty(t, rec.Body.Bytes())
		require.Equal(t, tag, rec.Header().Get("ETag"))
	}
	s.coupons[1] = func(c coupon.Coupon) coupon.Coupon { c.Left--; return c }(s.coupons[1])
	changed := look(tag)
	require.Equal(t, http.StatusOK, changed.Code)
	require.NotEqual(t, tag, changed.Header().Get("ETag"))
}

func TestCouponRoute_Draft_IsForAdminsOnly(t *testing.T) {
	s := newShop()
	c := s.coupons[1]
	c.ID, c.State, c.Epoch, c.Shards = 2, coupon.Draft, 0, 0
	s.coupons[2] = c
	server := s.serve(t, Options{})
	get := func(path, role string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
		if role != "" {
			r.Header.Set("Authorization", "Bearer "+sign(t, server, 7, role))
		}
		rec := httptest.NewRecorder()
		server.Handler().ServeHTTP(rec, r)
		return rec
	}
	for _, role := range []string{"", auth.RoleUser} {
		require.Equal(t, http.StatusNotFound, get("/api/v1/coupons/2", role).Code)
		require.Equal(t, http.StatusNotFound, get("/api/v1/coupons/2/live", role).Code)
		list := get("/api/v1/coupons", role)
		require.Equal(t, http.StatusOK, list.Code)
		require.NotContains(t, list.Body.String(), `"draft"`)
	}
	require.Contains(t, get("/api/v1/coupons/2", auth.RoleAdmin).Body.String(), `"state":"draft"`)
	list := get("/api/v1/coupons", auth.RoleAdmin)
	require.Contains(t, list.Body.String(), `"draft"`)
	require.Equal(t, "no-store", list.Header().Get("Cache-Control"), "a cache must not tell it to others")

	r := httptest.NewRequest(http.MethodGet, "/api/v1/coupons", http.NoBody)
	r.Header.Set("Authorization", "Bearer no token")
	rec := httptest.NewRecorder()
	server.Handler().ServeHTTP(rec, r)
	require.Equal(t, http.StatusUnauthorized, rec.Code, "a token that is not good is not taken for none")
}
