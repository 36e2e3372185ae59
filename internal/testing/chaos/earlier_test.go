package chaos

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClient_EarlierBuildAnswers_ReturnsCurrentWords(t *testing.T) {
	var status int
	var body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, body)
	}))
	defer server.Close()
	c := newClient(&environment{})
	defer c.http.CloseIdleConnections()
	asks := func() answer {
		return c.ask(t.Context(), server.URL, http.MethodGet, "/", "token", "", "")
	}
	for said, want := range map[string]string{
		"busy": "request_in_progress", "not_loaded": "stock_loading", "key_reused": "idempotency_key_reused",
		"request_in_progress": "request_in_progress", "sold_out": "sold_out", "": "",
	} {
		status, body = http.StatusConflict, `{"code":"`+said+`"}`
		require.Equal(t, want, asks().code)
	}
	for said, want := range map[string]string{"void": "abandoned", "abandoned": "abandoned", "pending": "pending"} {
		status, body = http.StatusOK, `{"id":"1","status":"`+said+`"}`
		require.Equal(t, want, asks().order.Status)
	}
}
