package app

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/order"
)

func TestProver_URLAnswers_DecidesProof(t *testing.T) {
	var body string
	status := http.StatusNoContent
	judge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		body = string(text)
		if r.URL.Path == "/elsewhere" {
			return // 200, of a server that the proof was not meant for
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
	}))
	p := newHTTPProver(judge.URL)
	defer func() { require.NoError(t, p.close(t.Context())) }()
	proof := auth.Proof{UserID: 42, CouponID: 7, Address: "192.0.2.1", Text: `a "cat"`}
	require.NoError(t, p.Prove(t.Context(), proof))
	require.JSONEq(t, `{"user_id":"42","coupon_id":"7","address":"192.0.2.1","proof":"a \"cat\""}`, body)
	for code, want := range map[int]error{200: nil, 403: auth.ErrProof, 401: order.ErrUnavailable, 302: order.ErrUnavailable, 500: order.ErrUnavailable} {
		status = code
		require.ErrorIs(t, p.Prove(t.Context(), proof), want, code)
	}
	judge.Close()
	require.ErrorIs(t, p.Prove(t.Context(), proof), order.ErrUnavailable)
}
