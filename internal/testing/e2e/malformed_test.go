package e2e_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// raw sends bytes as they are and reads what comes back; status 0 is a connection
// that was closed without an answer.
func raw(t testing.TB, i *instance, text string) (status int, body string) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(i.url, "http://"), time.Second)
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	require.NoError(t, conn.SetDeadline(time.Now().Add(8*time.Second)))
	if _, err := io.WriteString(conn, text); err != nil {
		return 0, ""
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = resp.Body.Close() }()
	content, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(content)
}

func TestRequests_Malformed_NeverAreServerErrors(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SECKILL_HTTP__READ_TIMEOUT=1s", "SECKILL_RATE_LIMIT__PER_USER=0")
	i := s.instance(t)
	id := i.sale(t, 100, 1)
	auth := "Authorization: Bearer " + token(t, 7, "user") + "\r\n"
	admin := "Authorization: Bearer " + token(t, 1, "admin") + "\r\n"
	buy := "/api/v1/coupons/" + id + "/orders"
	post := func(path, headers, body string) string {
		if !strings.Contains(headers, "Content-Length") && !strings.Contains(headers, "Transfer-Encoding") {
			headers += "Content-Length: " + itoa(len(body)) + "\r\n"
		}
		return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n" + body
	}
	const isJSON = "Content-Type: application/json\r\n"
	get := func(path, headers string) string {
		return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n"
	}

	for name, c := range map[string]struct {
		send string
		want []int  // 0: closed without an answer
		code string // of the problem, where the API answers and not the HTTP library
	}{
		"no HTTP at all":                         {send: "hello\r\n\r\n", want: []int{400}},
		"bytes of a TLS handshake":               {send: "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", want: []int{0, 400}},
		"an unknown version":                     {send: "GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", want: []int{400, 505}},
		"no Host":                                {send: "GET /api/v1/coupons HTTP/1.1\r\n\r\n", want: []int{400}},
		"two Hosts":                              {send: "GET /api/v1/coupons HTTP/1.1\r\nHost: localhost\r\nHost: 127.0.0.1\r\n\r\n", want: []int{400}},
		"a header without a colon":               {send: get("/api/v1/coupons", "nonsense\r\n"), want: []int{400}},
		"a header with a NUL":                    {send: get("/api/v1/coupons", "X-A: a\x00b\r\n"), want: []int{400}},
		"headers of 64 KiB":                      {send: get("/api/v1/coupons", "X-A: "+strings.Repeat("a", 64<<10)+"\r\n"), want: []int{0, 431}},
		"two lengths that differ":                {send: post(buy, auth+"Content-Length: 2\r\nContent-Length: 3\r\n", "{}"), want: []int{400}},
		"a negative length":                      {send: post(buy, auth+"Content-Length: -1\r\n", ""), want: []int{400}},
		"a length and chunks":                    {send: post(buy, auth+isJSON+"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), want: []int{400}, code: "bad_request"},
		"an unknown transfer encoding":           {send: post(buy, auth+"Transfer-Encoding: rot13\r\n", ""), want: []int{400, 501}},
		"a chunk whose size is no number":        {send: post(buy, auth+isJSON+"Transfer-Encoding: chunked\r\n", "zz\r\n{}\r\n0\r\n\r\n"), want: []int{400}, code: "bad_request"},
		"a body shorter than its length":         {send: post(buy, auth+isJSON+"Content-Length: 50\r\n", "{"), want: []int{400}, code: "bad_request"},
		"a body that claims to be a terabyte":    {send: post(buy, auth+isJSON+"Content-Length: 1099511627776\r\n", "{"), want: []int{413}, code: "too_large"},
		"endless chunks":                         {send: post(buy, auth+isJSON+"Transfer-Encoding: chunked\r\n", strings.Repeat("400\r\n"+strings.Repeat(" ", 1024)+"\r\n", 8)+"0\r\n\r\n"), want: []int{413}, code: "too_large"},
		"a body that says it is gzip":            {send: post(buy, auth+isJSON+"Content-Encoding: gzip\r\n", "{}"), want: []int{415}, code: "unsupported_media_type"},
		"JSON nested a thousand deep":            {send: post(buy, auth+isJSON, `{"a":`+strings.Repeat("[", 1000)+strings.Repeat("]", 1000)+"}"), want: []int{400}, code: "bad_request"},
		"two JSON values":                        {send: post(buy, auth+isJSON, "{}{}"), want: []int{400}, code: "bad_request"},
		"a list for an object":                   {send: post(buy, auth+isJSON, "[]"), want: []int{400}, code: "bad_request"},
		"bytes that are not UTF-8":               {send: post(buy, auth+isJSON, "{\"\xff\xfe\":1}"), want: []int{400}, code: "bad_request"},
		"a field twice":                          {send: post("/api/v1/admin/coupons", admin+isJSON, `{"title":"a","title":"b"}`), want: []int{400}, code: "bad_request"},
		"a number too large for any integer":     {send: post("/api/v1/admin/coupons", admin+isJSON, `{"stock":1e400}`), want: []int{400}, code: "bad_request"},
		"a negative stock":                       {send: post("/api/v1/admin/coupons", admin+isJSON, `{"title":"a","stock":-5,"begins_at":"2030-01-01T00:00:00Z","ends_at":"2031-01-01T00:00:00Z"}`), want: []int{400}, code: "bad_request"},
		"a time in the year 20000":               {send: post("/api/v1/admin/coupons", admin+isJSON, `{"title":"a","stock":5,"begins_at":"20000-01-01T00:00:00Z","ends_at":"2031-01-01T00:00:00Z"}`), want: []int{400}, code: "bad_request"},
		"an id beyond 64 bits":                   {send: get("/api/v1/coupons/99999999999999999999", ""), want: []int{400}, code: "bad_request"},
		"a negative id":                          {send: get("/api/v1/coupons/-1", ""), want: []int{400}, code: "bad_request"},
		"an id with a NUL":                       {send: get("/api/v1/coupons/1%00", ""), want: []int{400}, code: "bad_request"},
		"a path with a broken escape":            {send: get("/api/v1/coupons/%zz", ""), want: []int{400}},
		"a path that climbs":                     {send: get("/../../etc/passwd", ""), want: []int{404}, code: "not_found"},
		"an SQL statement for an id":             {send: get("/api/v1/coupons/1%27%20OR%201=1", ""), want: []int{400}, code: "bad_request"},
		"a limit that is no number":              {send: get("/api/v1/coupons?limit=all", ""), want: []int{400}, code: "bad_request"},
		"an unknown query parameter":             {send: get("/api/v1/coupons?offset=1", ""), want: []int{400}, code: "bad_request"},
		"two tokens":                             {send: post(buy, auth+auth, ""), want: []int{401}, code: "unauthenticated"},
		"a token that says it needs no key":      {send: post(buy, "Authorization: Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiI3Iiwicm9sZSI6ImFkbWluIiwiZXhwIjo0MDAwMDAwMDAwfQ.\r\n", ""), want: []int{401}, code: "unauthenticated"},
		"two Idempotency-Keys":                   {send: post(buy, auth+"Idempotency-Key: a\r\nIdempotency-Key: b\r\n", ""), want: []int{400}, code: "bad_request"},
		"an empty Idempotency-Key":               {send: post(buy, auth+"Idempotency-Key: \r\n", ""), want: []int{400}, code: "bad_request"},
		"an Idempotency-Key that is not ASCII":   {send: post(buy, auth+"Idempotency-Key: k\xc3\xa4se\r\n", ""), want: []int{400}, code: "bad_request"},
		"a method that nobody knows":             {send: "BREW " + buy + " HTTP/1.1\r\nHost: localhost\r\n\r\n", want: []int{405}, code: "method_not_allowed"},
		"a request that is never finished":       {send: "GET /api/v1/coupons HTTP/1.1\r\nHost: localhost\r\n", want: []int{0, 400, 408}},
		"a CONNECT to another host":              {send: "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org\r\n\r\n", want: []int{421}, code: "wrong_host"},
		"an absolute address of another machine": {send: "GET http://example.org/api/v1/nothing HTTP/1.1\r\nHost: example.org\r\n\r\n", want: []int{421}, code: "wrong_host"},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := raw(t, i, c.send)
			assert.Contains(t, c.want, status, body)
			if c.code != "" {
				assert.Equal(t, c.code, reply{body: body}.code(), body)
			}
		})
	}
	i.as(t, 8).buy(id, "").sold(t, http.StatusCreated)
	s.auditedTwice(t, i, id)
}
