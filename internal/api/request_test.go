package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
	"github.com/stretchr/testify/require"
)

// loadContract loads the written contract, once for all tests.
var loadContract = sync.OnceValues(func() (*openapi3.T, error) {
	text, err := contract()
	if err != nil {
		return nil, err
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	return doc, doc.Validate(context.Background())
})

var loadRouter = sync.OnceValues(func() (routers.Router, error) {
	doc, err := loadContract()
	if err != nil {
		return nil, err
	}
	return gorillamux.NewRouter(doc)
})

// ask is one request of a test.
type ask struct {
	method, path string
	token        string
	body         string
	header       http.Header
	chunked      bool // the body's length is not announced
	host         string
	second       bool          // asks AdminRoutes
	within       time.Duration // after which the client is gone; 0 is never
}

// do sends the request through the handler and checks the response against the contract.
func do(t testing.TB, s *Server, a ask) *httptest.ResponseRecorder {
	t.Helper()
	var body io.Reader
	if a.body != "" {
		body = strings.NewReader(a.body)
		if a.chunked {
			body = io.MultiReader(body)
		}
	}
	req := httptest.NewRequest(a.method, a.path, body)
	if a.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if a.token != "" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	for name, values := range a.header {
		req.Header[name] = values
		if values == nil {
			delete(req.Header, name)
		}
	}
	if a.host != "" {
		req.Host = a.host
	}
	if a.within > 0 {
		ctx, cancel := context.WithTimeout(req.Context(), a.within)
		defer cancel()
		req = req.WithContext(ctx)
	}
	rec := httptest.NewRecorder()
	handler := s.Handler()
	if a.second {
		handler = s.AdminRoutes()
	}
	handler.ServeHTTP(rec, req)
	hold(t, req, rec)
	return rec
}

// hold compares a response with what openapi.yaml specifies for its route. Problems that belong to
// no route (404 of an unknown route, 405) are only checked for their shape.
func hold(t testing.TB, req *http.Request, rec *httptest.ResponseRecorder) {
	t.Helper()
	require.Equal(t, "nosniff", rec.Header().Get("X-Content-Type-Options"))
	require.Regexp(t, `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`, rec.Header().Get("Server-Time"))
	if rec.Code >= 400 && req.Method != http.MethodHead {
		require.Equal(t, "application/problem+json", rec.Header().Get("Content-Type"))
		var p soldOutJSON
		d := json.NewDecoder(bytes.NewReader(rec.Body.Bytes()))
		d.DisallowUnknownFields()
		require.NoError(t, d.Decode(&p))
		require.Equal(t, rec.Code, p.Status)
		require.NotEmpty(t, p.Code)
		require.NotEmpty(t, p.Title)
	}
	if rec.Code == http.StatusMethodNotAllowed {
		require.NotEmpty(t, rec.Header().Get("Allow"))
		return
	}
	router, err := loadRouter()
	require.NoError(t, err)
	route, params, err := router.FindRoute(req)
	if err != nil { // HEAD, OPTIONS, files of the page, no route at all
		return
	}
	body := io.Reader(bytes.NewReader(rec.Body.Bytes()))
	if rec.Header().Get("Content-Encoding") == "gzip" && rec.Body.Len() > 0 {
		body, err = gzip.NewReader(body)
		require.NoError(t, err)
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: req, PathParams: params, Route: route},
		Status:                 rec.Code, Header: rec.Header(),
		Body:    io.NopCloser(body),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	require.NoError(t, openapi3filter.ValidateResponse(t.Context(), input), rec.Body.String())
	documented := route.Operation.Responses.Status(rec.Code).Value.Headers
	for _, name := range told {
		if rec.Header().Get(name) != "" {
			require.Contains(t, documented, name, "%s %s %d has a header that the contract does not know", req.Method, route.Path, rec.Code)
		}
	}
}

// told are the headers that a generated client acts on. The contract must document each of them where it is sent.
var told = []string{"ETag", "Location", "RateLimit", "RateLimit-Policy", "Retry-After", "WWW-Authenticate"}

// codeOf returns the code of a problem.
func codeOf(t testing.TB, rec *httptest.ResponseRecorder) string {
	t.Helper()
	var p problemJSON
	require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &p), rec.Body.String())
	return p.Code
}

func detailOf(t testing.TB, rec *httptest.ResponseRecorder) string {
	t.Helper()
	var p problemJSON
	require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &p), rec.Body.String())
	return p.Detail
}

// sign returns a token of the server for the user.
func sign(t testing.TB, s *Server, userID int64, role string) string {
	t.Helper()
	token, _, err := s.tokens.Sign(userID, role, 0)
	require.NoError(t, err)
	return token
}

func init() {
	openapi3filter.RegisterBodyDecoder("text/event-stream", openapi3filter.FileBodyDecoder)
	openapi3filter.RegisterBodyDecoder("text/html", openapi3filter.FileBodyDecoder)
}
