package servers

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Ask sends a request to a program, with a bearer token and a body unless they are "", and returns the whole answer.
func Ask(ctx context.Context, c *http.Client, method, url, token, body string) (status int, answer []byte, err error) {
	q, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return 0, nil, fmt.Errorf("%s %s: %w", method, url, err)
	}
	if token != "" {
		q.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	a, err := c.Do(q)
	if err != nil {
		return 0, nil, err //nolint:wrapcheck // it names the method and the address
	}
	defer func() { _ = a.Body.Close() }() // it is only read
	if answer, err = io.ReadAll(a.Body); err != nil {
		return 0, nil, fmt.Errorf("%s %s: %w", method, url, err)
	}
	return a.StatusCode, answer, nil
}

// RefusedError is an answer that is no success.
type RefusedError struct {
	Status int
	text   string
}

func (e *RefusedError) Error() string { return e.text }

// AskJSON is Ask with a body in JSON unless it is nil, and with the answer read from JSON unless into is nil. An answer
// that is no success is a *RefusedError.
func AskJSON(ctx context.Context, c *http.Client, method, url, token string, body, into any) error {
	var text []byte
	var err error
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return fmt.Errorf("%s %s: %w", method, url, err)
		}
	}
	status, answer, err := Ask(ctx, c, method, url, token, string(text))
	switch {
	case err != nil:
		return err
	case status/100 != 2:
		return &RefusedError{status, fmt.Sprintf("%s %s: %d %s: %s", method, url, status, http.StatusText(status), answer)}
	case into == nil:
		return nil
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("%s %s: %w", method, url, err)
	}
	return nil
}
