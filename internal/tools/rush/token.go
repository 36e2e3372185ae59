package rush

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// tokenLife is how long a signed token is valid. A run is much shorter.
const tokenLife = time.Hour

// Signed returns a source of tokens that it signs with the server's secret (HS256, role user, valid for an
// hour). The source sends no request, and needs no demo login.
func Signed(secret string) func(ctx context.Context, userID int64) (string, error) {
	return func(_ context.Context, userID int64) (string, error) {
		now := time.Now()
		token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
			"sub":  strconv.FormatInt(userID, 10),
			"role": "user",
			"iat":  now.Unix(),
			"exp":  now.Add(tokenLife).Unix(),
		}).SignedString([]byte(secret))
		if err != nil {
			return "", fmt.Errorf("sign the token of user %d: %w", userID, err)
		}
		return token, nil
	}
}

// Sessions returns a source of tokens that logs every buyer in over HTTP, at POST /api/v1/sessions. The
// server answers there only while its demo login is on. A nil client is http.DefaultClient. If the server
// sends Retry-After, the source waits and tries again, with loginTries attempts in all.
func Sessions(url string, client *http.Client) func(ctx context.Context, userID int64) (string, error) {
	if client == nil {
		client = http.DefaultClient
	}
	target := strings.TrimRight(url, "/") + sessionsPath
	return func(ctx context.Context, userID int64) (string, error) {
		for try := 1; ; try++ {
			token, after, err := login(ctx, client, target, fmt.Sprintf(`{"user_id":"%d"}`, userID))
			if err == nil {
				return token, nil
			}
			if no, is := errors.AsType[*loginError](err); is && no.code == http.StatusNotFound {
				err = fmt.Errorf("%w: the server's demo login is off: %s", err, howToSign)
			}
			if after == 0 || try == loginTries || !backoff(ctx, try, after) {
				return "", fmt.Errorf("log in user %d at %s: %w", userID, target, err)
			}
		}
	}
}

// These sentences say what to do if the server does not know the tokens.
const (
	howToSign   = "set SECKILL_AUTH__SECRET to the server's secret"
	wrongSecret = "the secret of the tokens is not the server's: " + howToSign
)

// loginTries bounds the attempts of one buyer to log in, about a second apart.
const loginTries = 30

// sessionsPath is the route of the demo login, and adminLogin the body of an administrator's.
const (
	sessionsPath = "/api/v1/sessions"
	adminLogin   = `{"user_id":"1","role":"admin"}`
)

// loginError is an answer to a login that is not a 201.
type loginError struct {
	status string
	code   int
}

func (e *loginError) Error() string { return e.status }

// login sends one request with the body. If the server wants a later request, after is above 0.
func login(ctx context.Context, client *http.Client, target, body string) (token string, after time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, strings.NewReader(body))
	if err != nil {
		return "", 0, fmt.Errorf("make the request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return "", 0, fmt.Errorf("send: %w", err)
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return "", 0, fmt.Errorf("read the answer: %w", err)
	}
	if resp.StatusCode != http.StatusCreated {
		return "", retryAfter(resp.Header.Get("Retry-After")), &loginError{resp.Status, resp.StatusCode}
	}
	var session struct {
		Token string `json:"token"`
	}
	if err := json.Unmarshal(answer, &session); err != nil {
		return "", 0, fmt.Errorf("read the session: %w", err)
	}
	if session.Token == "" {
		return "", 0, errors.New("the session has no token")
	}
	return session.Token, 0, nil
}

// fetchTokens fetches every buyer's token, several at a time. It ends at the first error.
func (r *run) fetchTokens(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.tokens = make([]string, r.Users)
	var wg sync.WaitGroup
	workers := min(r.Concurrency, r.Users)
	for worker := range workers {
		wg.Go(func() {
			for i := worker; i < r.Users && ctx.Err() == nil; i += workers {
				token, err := r.Token(ctx, r.FirstUser+int64(i))
				if err != nil {
					cancel(err)
					return
				}
				if strings.ContainsAny(token, "\r\n") {
					cancel(errors.New("a token has a line break in it"))
					return
				}
				r.tokens[i] = token
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}
