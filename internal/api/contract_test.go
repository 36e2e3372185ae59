package api

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestContract_File_IsValidOpenAPI(t *testing.T) {
	_, err := loadContract()
	require.NoError(t, err)
}

func TestContract_Routes_AreThoseOfTheServer(t *testing.T) {
	doc, err := loadContract()
	require.NoError(t, err)
	written := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			written[method+" "+path] = true
		}
	}
	served := map[string]bool{}
	param := regexp.MustCompile(`:(\w+)`)
	for _, r := range serveAll(t, Options{}).engine.Routes() {
		file := strings.Count(r.Path, "/") == 1 && strings.Contains(r.Path, ".") && !strings.HasSuffix(r.Path, ".json")
		if r.Method != http.MethodHead && !file {
			served[r.Method+" "+param.ReplaceAllString(r.Path, "{$1}")] = true
		}
	}
	require.Equal(t, written, served)
}

func TestContract_ErrorCodes_AreAllDescribed(t *testing.T) {
	doc, err := loadContract()
	require.NoError(t, err)
	written := map[any]bool{}
	for _, code := range doc.Components.Schemas["Problem"].Value.Properties["code"].Value.Enum {
		written[code] = true
	}
	mapped := map[any]bool{internal.code: true}
	for _, p := range problems {
		if p.status >= http.StatusBadRequest {
			mapped[p.code] = true
		}
	}
	require.Equal(t, written, mapped)
}

func TestContract_Route_ServesJSON(t *testing.T) {
	s := newShop().serve(t, Options{})
	rec := do(t, s, ask{method: "GET", path: "/openapi.json"})
	require.Equal(t, 200, rec.Code)
	require.Contains(t, rec.Body.String(), `"openapi":"3.0.3"`)
	require.NotContains(t, rec.Body.String(), `"<<"`)

	again := do(t, s, ask{method: "GET", path: "/openapi.json", header: http.Header{"If-None-Match": {rec.Header().Get("ETag")}}})
	require.Equal(t, 304, again.Code)
	require.Empty(t, again.Body.String())
}
