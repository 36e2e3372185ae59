package rush

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLookup_NoToken_BuysNothing(t *testing.T) {
	for name, netHTTP := range map[string]bool{"on the light path": false, "through net/http": true} {
		t.Run(name, func(t *testing.T) {
			s := open(t, &fakeServer{stock: 30})
			var known atomic.Int64
			public := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if len(r.Header["Authorization"]) > 0 && r.URL.Path == "/api/v1/coupons/1" {
					known.Add(1)
				}
				s.routes().ServeHTTP(w, r)
			}))
			defer public.Close()
			s.url = public.URL
			rep := s.rush(t, Options{Users: 50, Looks: true, netHTTP: netHTTP})
			require.Equal(t, 50, rep.Asked)
			require.Equal(t, map[string]int{"looked": 50}, rep.Refused)
			require.Zero(t, rep.Accepted+rep.Failed+rep.Committed)
			require.True(t, rep.Clean(), rep.Violations)
			require.Zero(t, known.Load(), "looks with a token")
		})
	}
}

func TestLookup_Refused_IsCounted(t *testing.T) {
	s := open(t, &fakeServer{stock: 30})
	var looks atomic.Int64
	public := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/coupons/1" && looks.Add(1) > 1 { // the first prepares the run
			refuse(w, 503, "overloaded", "")
			return
		}
		s.routes().ServeHTTP(w, r)
	}))
	defer public.Close()
	s.url = public.URL
	rep := s.rush(t, Options{Users: 5, Looks: true})
	require.Equal(t, map[string]int{"overloaded": 5}, rep.Refused)
}

func TestAudit_OtherURL_IsAsked(t *testing.T) {
	s := open(t, &fakeServer{stock: 5})
	admin := httptest.NewServer(s.routes())
	defer admin.Close()
	public := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/v1/admin/") {
			http.NotFound(w, r)
			return
		}
		s.routes().ServeHTTP(w, r)
	}))
	defer public.Close()
	s.url = public.URL
	rep := s.rush(t, Options{Users: 10, AdminURL: admin.URL + "/"})
	require.True(t, rep.Clean(), rep.Notes)
	require.Equal(t, 5, rep.Committed)
}
