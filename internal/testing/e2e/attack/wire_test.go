package attack_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"text/template"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// patience is how long an answer, or the end of a connection, is waited for.
const patience = 10 * time.Second

// honest follows each request on its connection, if that is to be kept.
const honest = "GET /api/v1/features HTTP/1.1\r\nHost: honest\r\n\r\n"

// bytesOf returns the bytes of a request.
func (s *target) bytesOf(t *testing.T, r request, each string, words template.FuncMap) string {
	t.Helper()
	data := map[string]any{"each": each, "saved": s.told, "host": s.addr}
	for name, id := range s.sales {
		data[name] = id
	}
	fill := func(text string) string { return expand(t, text, words, data) }
	if r.Raw != "" {
		return fill(r.Raw)
	}
	lines := []string{fill(r.To) + " HTTP/1.1", "Host: " + s.addr}
	switch {
	case r.As == "admin":
		lines = append(lines, "Authorization: Bearer "+good("1", "admin"))
	case r.As != "":
		lines = append(lines, "Authorization: Bearer "+good(fill(r.As), "user"))
	}
	for _, line := range r.With {
		lines = append(lines, fill(line))
	}
	body := fill(r.Body)
	has := func(name string) bool {
		for _, line := range lines {
			if strings.HasPrefix(strings.ToLower(line), name+":") {
				return true
			}
		}
		return false
	}
	if body != "" && !has("content-length") && !has("transfer-encoding") {
		lines = append(lines, "Content-Length: "+strconv.Itoa(len(body)))
	}
	if body != "" && !has("content-type") {
		lines = append(lines, "Content-Type: application/json")
	}
	return strings.Join(lines, "\r\n") + "\r\n\r\n" + body
}

// answer is the response of the server.
type answer struct {
	status int // 0: the connection was closed without one
	header http.Header
	body   string
}

func (a answer) code() string {
	var p struct{ Code string }
	_ = json.Unmarshal([]byte(a.body), &p)
	return p.Code
}

// verdict returns the corpus' word for such an answer.
func (a answer) verdict() string {
	if a.status == 0 {
		return "closed"
	}
	return strings.TrimSpace(fmt.Sprint(a.status, " ", a.code()))
}

// read reads one answer. An event stream is read to its first event.
func read(from *bufio.Reader, method string) (answer, error) {
	resp, err := http.ReadResponse(from, &http.Request{Method: method}) //nolint:bodyclose // its connection is closed
	if err != nil {
		return answer{}, err
	}
	a := answer{status: resp.StatusCode, header: resp.Header}
	if resp.Header.Get("Content-Type") == "text/event-stream" && method != http.MethodHead {
		for one := make([]byte, 1); !strings.Contains(a.body, "data:"); a.body += string(one) {
			if _, err := io.ReadFull(resp.Body, one); err != nil {
				return a, err
			}
		}
		return a, nil
	}
	text, err := io.ReadAll(resp.Body)
	a.body = string(text)
	return a, err
}

// most bounds how often a request is sent, if another cause may explain the answer.
const most = 10

// chance reports whether that may be so: a reset has overtaken an answer on its way, or a second has passed,
// in which a limit allows one more.
func (r request) chance(a answer) bool {
	return a.status == 0 && r.Then == "closed" || r.Want == "429 rate_limited" && a.status < http.StatusBadRequest
}

// exchange sends a request on a connection of its own and reads the answer.
func (s *target) exchange(t *testing.T, r request, sent string) (a answer, conn net.Conn, from *bufio.Reader) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", s.addr, patience)
	require.NoError(t, err)
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	_, err = io.WriteString(conn, sent)
	if err != nil && r.Then != "closed" && r.Want != "closed" { // a refused one may be cut off while it is sent
		t.Fatalf("send: %v", err)
	}
	from = bufio.NewReader(conn)
	method, _, _ := strings.Cut(sent, " ")
	if a, err = read(from, method); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("no answer within %s", patience)
	}
	return a, conn, from
}

// play sends a request and judges the answer.
func (s *target) play(t *testing.T, r request, each string, words template.FuncMap) {
	t.Helper()
	each = expand(t, each, words, nil)
	sent := s.bytesOf(t, r, each, words)
	a, conn, from := s.exchange(t, r, sent)
	for try := 1; try < most && r.chance(a); try++ {
		_ = conn.Close()
		a, conn, from = s.exchange(t, r, sent)
	}
	defer func() { _ = conn.Close() }()
	if r.Told {
		assert.Less(t, a.status, http.StatusMultipleChoices)
	} else {
		s.heard.WriteString(a.body)
	}
	assert.Equal(t, r.Want, a.verdict(), "%.200q", a.body)
	assert.NotEqual(t, http.StatusInternalServerError, a.status)
	if a.status >= http.StatusBadRequest && a.code() != "" {
		assert.Equal(t, "application/problem+json", a.header.Get("Content-Type"))
		for _, inside := range []string{".go:", "goroutine", "runtime error", "SELECT ", "redis:", "sql:"} {
			assert.NotContains(t, a.body, inside)
		}
	}
	data := map[string]any{"each": each, "saved": s.told}
	if r.Has != "" {
		assert.Contains(t, a.body, expand(t, r.Has, words, data))
	}
	if r.Lack != "" {
		assert.NotContains(t, a.body, expand(t, r.Lack, words, data))
	}
	s.save(t, r, a)
	s.fate(t, r, a, conn, from)
}

// save keeps a field of the answer under its name, or as name of the request's own.
func (s *target) save(t *testing.T, r request, a answer) {
	t.Helper()
	if r.Save == "" {
		return
	}
	field, as, renamed := strings.Cut(r.Save, " as ")
	if !renamed {
		as = field
	}
	var fields map[string]any
	require.NoError(t, json.Unmarshal([]byte(a.body), &fields), a.body)
	require.IsType(t, "", fields[field], a.body)
	s.told[as] = fields[field].(string)
}

// fate reports whether the connection ended or answered the honest request.
func (s *target) fate(t *testing.T, r request, a answer, conn net.Conn, from *bufio.Reader) {
	t.Helper()
	if a.status == 0 || a.header.Get("Content-Type") == "text/event-stream" {
		return
	}
	if r.Then != "closed" {
		_, err := io.WriteString(conn, honest)
		require.NoError(t, err)
	}
	next, err := read(from, http.MethodGet)
	if r.Then == "closed" {
		require.Error(t, err, "it was answered again: %d %.100q", next.status, next.body)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the connection was kept")
		return
	}
	require.NoError(t, err, "the connection was not kept")
	assert.Equal(t, http.StatusOK, next.status)
	assert.Contains(t, next.body, "demo_login", "another request was answered than the next one")
}
