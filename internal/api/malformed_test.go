package api

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/api/auth"
)

const newCoupon = "/api/v1/admin/coupons"

func TestRequests_Malformed_AreRefusedWithReason(t *testing.T) {
	sh := newShop()
	s := sh.serve(t, Options{DemoLogin: true})
	token := sign(t, s, 42, auth.RoleAdmin)
	key := func(values ...string) http.Header { return http.Header{"Idempotency-Key": values} }
	kind := func(values ...string) http.Header { return http.Header{"Content-Type": values} }
	post := func(path, body string) ask { return ask{method: "POST", path: path, body: body} }
	get := func(path string) ask { return ask{method: "GET", path: path} }
	full := `"title":"a","stock":1,"begins_at":"2030-01-01T00:00:00Z","ends_at":"2030-01-02T00:00:00Z"`
	for name, tc := range map[string]struct {
		ask  ask
		code string
		says string
	}{
		"an id with a sign":              {get("/api/v1/coupons/+1"), "bad_request", "id in the path"},
		"an id below zero":               {get("/api/v1/coupons/-1"), "bad_request", "id in the path"},
		"an id with a zero in front":     {get("/api/v1/coupons/01"), "bad_request", "id in the path"},
		"the id zero":                    {get("/api/v1/coupons/0"), "bad_request", "id in the path"},
		"an id with a space":             {get("/api/v1/coupons/%201"), "bad_request", "id in the path"},
		"an id of other digits":          {get("/api/v1/coupons/%D9%A1"), "bad_request", "id in the path"},
		"an id with a point":             {get("/api/v1/coupons/1.0"), "bad_request", "id in the path"},
		"an id above 63 bits":            {get("/api/v1/coupons/9223372036854775808"), "bad_request", "id in the path"},
		"an id of 20 digits":             {get("/api/v1/coupons/10000000000000000000"), "bad_request", "id in the path"},
		"a stream of no id":              {get("/api/v1/coupons/x/live"), "bad_request", "id in the path"},
		"an unknown query parameter":     {get("/api/v1/coupons?page=1"), "bad_request", `"page"`},
		"a token in the query":           {get("/api/v1/orders?access_token=x"), "bad_request", `"access_token"`},
		"a limit of zero":                {get("/api/v1/coupons?limit=0"), "bad_request", "limit"},
		"a limit above the largest":      {get("/api/v1/orders?limit=101"), "bad_request", "limit"},
		"a limit that is no number":      {get("/api/v1/coupons?limit=ten"), "bad_request", "limit"},
		"an empty limit":                 {get("/api/v1/coupons?limit="), "bad_request", "limit"},
		"two limits":                     {get("/api/v1/coupons?limit=1&limit=2"), "bad_request", "limit is there twice"},
		"a cursor that is no id":         {get("/api/v1/coupons?cursor=abc"), "bad_request", "cursor"},
		"a query that cannot be read":    {get("/api/v1/coupons?limit=%zz"), "bad_request", "query"},
		"an empty key":                   {ask{method: "POST", path: place, header: key("")}, "bad_request", "Idempotency-Key"},
		"two keys":                       {ask{method: "POST", path: place, header: key("a", "a")}, "bad_request", "Idempotency-Key is there twice"},
		"a key of 256 characters":        {ask{method: "POST", path: place, header: key(strings.Repeat("k", 256))}, "bad_request", "Idempotency-Key"},
		"a key beyond ASCII":             {ask{method: "POST", path: place, header: key("schlüssel")}, "bad_request", "Idempotency-Key"},
		"a key with a tab":               {ask{method: "POST", path: place, header: key("a\tb")}, "bad_request", "Idempotency-Key"},
		"an order with a field":          {post(place, `{"user_id":"7"}`), "bad_request", `unknown field "user_id"`},
		"an order that is null":          {post(place, `null`), "bad_request", "JSON object"},
		"a payment with a field":         {post("/api/v1/orders/1/payment", `{"amount":1}`), "bad_request", `unknown field "amount"`},
		"an array":                       {post("/api/v1/sessions", `[]`), "bad_request", "JSON object"},
		"a text":                         {post("/api/v1/sessions", `"42"`), "bad_request", "JSON object"},
		"nothing where a body is needed": {post("/api/v1/sessions", ""), "bad_request", "JSON object"},
		"only spaces":                    {post("/api/v1/sessions", "  "), "bad_request", "JSON object"},
		"an object without its end":      {post("/api/v1/sessions", `{"user_id":"42"`), "bad_request", "not valid JSON"},
		"a comma too many":               {post("/api/v1/sessions", `{"user_id":"42",}`), "bad_request", "not valid JSON"},
		"a second object":                {post("/api/v1/sessions", `{"user_id":"42"}{}`), "bad_request", "follows"},
		"a bracket after it":             {post("/api/v1/sessions", `{"user_id":"42"}]`), "bad_request", "follows"},
		"a field twice":                  {post("/api/v1/sessions", `{"user_id":"1","user_id":"2"}`), "bad_request", `"user_id" is there twice`},
		"a field twice, once escaped":    {post("/api/v1/sessions", `{"user_id":"1","user\u005fid":"2"}`), "bad_request", `"user_id" is there twice`},
		"a field in capitals":            {post("/api/v1/sessions", `{"User_ID":"42"}`), "bad_request", `unknown field "User_ID"`},
		"a missing field":                {post("/api/v1/sessions", `{}`), "bad_request", `"user_id" is missing`},
		"a number for an id":             {post("/api/v1/sessions", `{"user_id":42}`), "bad_request", `"user_id" must be a string`},
		"null for an id":                 {post("/api/v1/sessions", `{"user_id":null}`), "bad_request", `"user_id" must be`},
		"an id with spaces":              {post("/api/v1/sessions", `{"user_id":" 42"}`), "bad_request", `"user_id" must be`},
		"bytes that are no UTF-8":        {post("/api/v1/sessions", "{\"user_id\":\"4\xff2\"}"), "bad_request", "UTF-8"},
		"a text for a number":            {post(newCoupon, `{"stock":"1"}`), "bad_request", `"stock" must be a whole number`},
		"a fraction":                     {post(newCoupon, `{"stock":1.5}`), "bad_request", `"stock" must be a whole number`},
		"a number beyond 64 bits":        {post(newCoupon, `{"stock":9223372036854775808}`), "bad_request", `"stock" must be a whole number`},
		"null for a number":              {post(newCoupon, `{"stock":null}`), "bad_request", `"stock" must be a whole number`},
		"an object for a title":          {post(newCoupon, `{"title":{}}`), "bad_request", `"title" must be a string`},
		"a day for a time":               {post(newCoupon, `{"begins_at":"2030-01-01"}`), "bad_request", `"begins_at" must be a time`},
		"a time without a zone":          {post(newCoupon, `{"ends_at":"2030-01-01T00:00:00"}`), "bad_request", `"ends_at" must be a time`},
		"a new coupon with a state":      {post(newCoupon, `{`+full+`,"state":"on_sale"}`), "bad_request", `unknown field "state"`},
		"a new coupon without a title":   {post(newCoupon, `{"stock":1}`), "bad_request", `"title" is missing`},
		"a patch to on_sale":             {ask{method: "PATCH", path: newCoupon + "/1", body: `{"state":"on_sale"}`}, "bad_request", "/publication"},
		"a patch of the id":              {ask{method: "PATCH", path: newCoupon + "/1", body: `{"id":"2"}`}, "bad_request", `unknown field "id"`},
		"a publication with a field":     {post(newCoupon+"/1/publication", `{"shards":3}`), "bad_request", `unknown field "shards"`},
		"a form":                         {ask{method: "POST", path: "/api/v1/sessions", body: "user_id=42", header: kind("application/x-www-form-urlencoded")}, "unsupported_media_type", ""},
		"a body without a type":          {ask{method: "POST", path: "/api/v1/sessions", body: `{"user_id":"42"}`, header: kind()}, "unsupported_media_type", ""},
		"a body with two types":          {ask{method: "POST", path: place, body: `{}`, header: kind("application/json", "text/plain")}, "unsupported_media_type", ""},
		"JSON of another kind":           {ask{method: "POST", path: place, body: `{}`, header: kind("application/json-patch+json")}, "unsupported_media_type", ""},
		"another character set":          {ask{method: "POST", path: place, body: `{}`, header: kind("application/json; charset=latin1")}, "unsupported_media_type", ""},
		"a body that is packed":          {ask{method: "POST", path: place, body: `{}`, header: http.Header{"Content-Encoding": {"gzip"}}}, "unsupported_media_type", ""},
	} {
		t.Run(name, func(t *testing.T) {
			tc.ask.token = token
			rec := do(t, s, tc.ask)
			require.Equal(t, tc.code, codeOf(t, rec))
			require.Contains(t, detailOf(t, rec), tc.says)
		})
	}
	require.Empty(t, sh.orders, "nothing was bought")
	require.Len(t, sh.coupons, 1, "nothing was created")
}

func TestBody_Above4096Bytes_IsRefused(t *testing.T) {
	s := newShop().serve(t, Options{DemoLogin: true})
	body := func(n int) string { return `{"user_id":"42"}` + strings.Repeat(" ", n-len(`{"user_id":"42"}`)) }
	for _, chunked := range []bool{false, true} {
		require.Equal(t, 201, do(t, s, ask{method: "POST", path: "/api/v1/sessions", body: body(4096), chunked: chunked}).Code)
		rec := do(t, s, ask{method: "POST", path: "/api/v1/sessions", body: body(4097), chunked: chunked})
		require.Equal(t, 413, rec.Code)
		require.Equal(t, "too_large", codeOf(t, rec))
	}
}

// endless is a body without an end that counts how much of it is read.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	return len(p), nil
}

func TestBody_Endless_IsNotReadToTheEnd(t *testing.T) {
	s := newShop().serve(t, Options{DemoLogin: true})
	body := &endless{}
	req := httptest.NewRequest(http.MethodPost, "/api/v1/sessions", io.LimitReader(body, 1<<24))
	req.Header.Set("Content-Type", "application/json")
	rec := httptest.NewRecorder()
	s.Handler().ServeHTTP(rec, req)
	require.Equal(t, 413, rec.Code)
	require.LessOrEqual(t, body.read, 2*maxBody)
}

func TestBody_TooSlow_IsAnswered(t *testing.T) {
	server := listen(t, newShop().serve(t, Options{DemoLogin: true}), func(h *http.Server) {
		h.ReadTimeout = 100 * time.Millisecond
	})
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	_, err = io.WriteString(conn, "POST /api/v1/sessions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n{")
	require.NoError(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	require.Equal(t, 400, resp.StatusCode)
	require.NoError(t, resp.Body.Close())
}

func TestPurchaseRoute_UnusualValidRequest_Returns201(t *testing.T) {
	sh := newShop()
	s := sh.serve(t, Options{})
	token := sign(t, s, 42, auth.RoleUser)
	for name, a := range map[string]ask{
		"a character set":           {body: `{}`, header: http.Header{"Content-Type": {"application/json; charset=UTF-8"}}},
		"a type in capitals":        {body: `{}`, header: http.Header{"Content-Type": {"Application/JSON"}}},
		"a type without a body":     {header: http.Header{"Content-Type": {"application/json"}}},
		"another type without body": {header: http.Header{"Content-Type": {"text/plain"}}},
		"a body in chunks":          {body: `{}`, chunked: true},
		"a key of one character":    {header: http.Header{"Idempotency-Key": {"~"}}},
		"a key of 255 characters":   {header: http.Header{"Idempotency-Key": {strings.Repeat("k", 255)}}},
	} {
		t.Run(name, func(t *testing.T) {
			a.method, a.path, a.token = "POST", place, token
			rec := do(t, s, a)
			require.Equal(t, 201, rec.Code, rec.Body.String())
		})
	}
}
