package api

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/api/auth"
)

// serveAll returns a server that has every route, the gallery's as well.
func serveAll(t testing.TB, o Options) *Server {
	t.Helper()
	shop := newShop()
	parts := shop.parts()
	parts.Gallery = smallGallery
	server, err := New(shop.serve(t, o).o, parts)
	require.NoError(t, err)
	t.Cleanup(server.Close)
	return server
}

func smallGallery() (text, packed []byte, err error) {
	text = []byte(`{"mutants":[]}`)
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(text); err != nil {
		return nil, nil, err
	}
	err = w.Close()
	return text, b.Bytes(), err
}

// unrouted are requests that no route serves.
var unrouted = []ask{
	{method: "GET", path: "/nothing"},
	{method: "GET", path: "/api/v1/nothing/at/all"},
	{method: "HEAD", path: "/favicon.ico"},
	{method: "PUT", path: place},
	{method: "DELETE", path: "/"},
	{method: "BREW", path: "/api/v1/coupons"},
	{method: "OPTIONS", path: "/api/v1/coupons"},
	{method: "OPTIONS", path: "*"},
	{method: "TRACE", path: "/openapi.json"},
}

// everyRequest returns a request for each route of an engine, and those that no route serves.
func everyRequest(engine *gin.Engine) (all []ask) {
	for _, r := range engine.Routes() {
		a := ask{method: r.Method, path: strings.NewReplacer(":id", "1", ":name", "nothing").Replace(r.Path)}
		if strings.HasSuffix(r.Path, "/live") {
			a.within = 100 * time.Millisecond // a stream that is not refused has no other end
		}
		all = append(all, a)
	}
	return append(all, unrouted...)
}

// onBoth calls use with every request to a server with one engine, and to one whose administrator's routes are apart.
func onBoth(t *testing.T, o Options, use func(t *testing.T, s *Server, a ask)) {
	t.Helper()
	together := serveAll(t, o)
	o.AdminApart = true
	apart := serveAll(t, o)
	each := func(name string, s *Server, all []ask, second bool) {
		for _, a := range all {
			a.second = second
			t.Run(fmt.Sprintf("%s: %s %s", name, a.method, a.path), func(t *testing.T) { use(t, s, a) })
		}
	}
	each("one listener", together, everyRequest(together.engine), false)
	each("public", apart, everyRequest(apart.engine), false)
	each("second", apart, everyRequest(apart.admin), true)
}

// The limit of an address stands before every route, so that a route that is added later has it as well.
func TestAddressLimit_EveryRoute_RefusesAndCounts(t *testing.T) {
	n := 0
	onBoth(t, Options{AddressRate: 1, TrustedProxies: []string{"192.0.2.0/24"}}, func(t *testing.T, s *Server, a ask) {
		n++
		from := http.Header{"X-Forwarded-For": {fmt.Sprintf("203.0.%d.%d", n/250, n%250)}}
		for range 2 {
			require.Equal(t, 200, do(t, s, ask{method: "HEAD", path: "/api/v1/features", header: from}).Code)
		}
		for _, body := range []string{"", "{}"} {
			a.header, a.body = from, body
			rec := do(t, s, a)
			require.Equal(t, 429, rec.Code)
			require.Equal(t, "1", rec.Header().Get("Retry-After"))
			require.Equal(t, `"address";q=2;w=2`, rec.Header().Get("Ratelimit-Policy"))
		}

		from = http.Header{"X-Forwarded-For": {fmt.Sprintf("198.51.%d.%d", n/250, n%250)}}
		a.header, a.body = from, ""
		for range 2 {
			require.NotEqual(t, 429, do(t, s, a).Code)
		}
		require.Equal(t, 429, do(t, s, ask{method: "HEAD", path: "/api/v1/features", header: from}).Code, "both have counted")
	})
	require.Greater(t, n, 100)
}

// do compares each answer with the contract, so this finds statuses and headers that the contract lacks.
func TestContract_EveryRoute_AnswersABadTokenAsWritten(t *testing.T) {
	onBoth(t, Options{}, func(t *testing.T, s *Server, a ask) {
		a.token = "no.good.token"
		rec := do(t, s, a)
		if a.second && rec.Code != 404 && rec.Code != 405 && a.method != "OPTIONS" {
			require.Equal(t, 401, rec.Code)
		}
	})
}

func TestHosts_EveryRoute_AnswersToItsNamesOnly(t *testing.T) {
	s := serveAll(t, Options{Hosts: []string{"localhost", "127.0.0.1", "::1", "shop.internal"}})
	token := sign(t, s, 1, auth.RoleAdmin)
	for _, host := range []string{"evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example:80", "127.0.0.2", "[::2]:80", "0.0.0.0"} {
		for _, a := range everyRequest(s.engine) {
			a.host, a.token = host, token
			require.Equal(t, 421, do(t, s, a).Code, "%s %s for %s", a.method, a.path, host)
		}
	}
	rec := do(t, s, ask{method: "GET", path: "/", host: "evil.example"})
	require.Equal(t, "wrong_host", codeOf(t, rec))
	require.Contains(t, detailOf(t, rec), "Host header")
	require.Contains(t, detailOf(t, rec), "http.hosts")
	for _, host := range []string{"localhost", "LOCALHOST:1", "127.0.0.1:8080", "[::1]", "[::1]:8080", "shop.internal:80"} {
		require.Equal(t, 200, do(t, s, ask{method: "GET", path: "/", host: host}).Code, host)
	}
	all := serveAll(t, Options{})
	require.Equal(t, 200, do(t, all, ask{method: "GET", path: "/", host: "evil.example"}).Code, "a listener that is not on loopback")
}

func TestHosts_SecondListener_AnswersToItsNamesOnly(t *testing.T) {
	apart := newShop().serve(t, Options{AdminApart: true})
	guarded := AdminHandler(AdminOptions{API: apart.AdminRoutes(), Hosts: []string{"localhost", "127.0.0.1"}})
	open := AdminHandler(AdminOptions{API: apart.AdminRoutes()})
	for _, path := range []string{"/healthz", "/readyz", "/debug/pprof/cmdline", "/api/v1/admin/rush", "/nothing"} {
		get := func(h http.Handler, host string) *httptest.ResponseRecorder {
			req, rec := httptest.NewRequest(http.MethodGet, path, nil), httptest.NewRecorder()
			req.Host = host
			h.ServeHTTP(rec, req)
			return rec
		}
		refused := get(guarded, "evil.example:6060")
		require.Equal(t, 421, refused.Code, path)
		require.Equal(t, "application/problem+json", refused.Header().Get("Content-Type"))
		require.Equal(t, "wrong_host", codeOf(t, refused))
		require.NotEqual(t, 421, get(guarded, "localhost:6060").Code, path)
		require.NotEqual(t, 421, get(open, "evil.example:6060").Code, path)
	}
}

func TestGallery_Encodings_AreThoseThatTheClientTakes(t *testing.T) {
	s := serveAll(t, Options{})
	for accepts, packed := range map[string]bool{
		"": false, "gzip": true, "br, GZIP ;q=0.5": true, "gzip;q=0": false, "gzip; q=0.000": false, "gzip;q=no": false, "*": true, "*;q=0": false,
		"*;q=0, gzip": true, "gzip;q=0, *": false, "identity": false, "nogzip": false, "br": false,
	} {
		rec := do(t, s, ask{method: "GET", path: "/gallery.json", header: http.Header{"Accept-Encoding": {accepts}}})
		require.Equal(t, 200, rec.Code)
		require.Equal(t, packed, rec.Header().Get("Content-Encoding") == "gzip", accepts)
		require.Equal(t, !packed, strings.HasPrefix(rec.Body.String(), "{"), accepts)
		again := do(t, s, ask{method: "GET", path: "/gallery.json", header: http.Header{
			"Accept-Encoding": {accepts}, "If-None-Match": {rec.Header().Get("ETag")},
		}})
		require.Equal(t, 304, again.Code)
	}
}

// A tag is a hash of the whole file.
func TestGallery_ManyRequests_LoadItOnce(t *testing.T) {
	loads := 0
	shop := newShop()
	parts := shop.parts()
	parts.Gallery = func() (text, packed []byte, err error) { loads++; return smallGallery() }
	s, err := New(shop.serve(t, Options{}).o, parts)
	require.NoError(t, err)
	defer s.Close()
	for range 10 {
		do(t, s, ask{method: "GET", path: "/gallery.json"})
	}
	require.Equal(t, 1, loads)
}

// A client that opens and closes streams would have each of them read the stores.
func TestHub_StreamsOpenedAndClosed_OnePollPerInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shop := newShop()
		h := newHub(shop.parts(), Options{Now: time.Now, RequestTimeout: time.Second, MaxStreams: 10}.withDefaults())
		defer h.close()
		const seconds = 10
		for range seconds * 100 { // one stream every 10 ms
			_, leave, err := h.join(1, "")
			require.NoError(t, err)
			synctest.Wait()
			leave()
			time.Sleep(10 * time.Millisecond)
		}
		shop.mu.Lock()
		polls := shop.reads
		shop.mu.Unlock()
		require.LessOrEqual(t, polls, seconds*int(time.Second/pollEvery)+1)
		require.GreaterOrEqual(t, polls, seconds, "an event is no older than a second")
		time.Sleep(pollEvery)
		synctest.Wait()
		require.Empty(t, h.feeds, "a coupon that no stream watches is not read")
	})
}
