package rush

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Whatever a server says, it is understood as something of the contract or held
// against it, and nobody is made to wait for ever.
func FuzzVerdict_AnyAnswer_HasOne(f *testing.F) {
	f.Add(201, "1", []byte(`{"id":"7","status":"pending"}`))
	f.Add(200, "", []byte(`{"id":7}`))
	f.Add(202, "9223372037", []byte(`{}`))
	f.Add(409, "-1", []byte(`{"code":"sold_out"}`))
	f.Add(503, "Fri, 31 Dec 9999 23:59:59 GMT", []byte(`null`))
	f.Add(500, "x", []byte("<html>"))
	f.Fuzz(func(t *testing.T, status int, after string, body []byte) {
		a := parseAnswer(status, http.Header{"Retry-After": {after}}, body)
		require.GreaterOrEqual(t, a.after, time.Duration(0))
		require.LessOrEqual(t, a.after, 24*time.Hour)
		for _, v := range []verdict{classify(a, nil), classifyPoll(a, nil)} {
			require.Equal(t, v.kind != accepted, v.name != "")
			if v.kind == accepted {
				require.NotEmpty(t, a.order.ID)
			}
		}
	})
}
