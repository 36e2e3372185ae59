package app

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/config"
)

// Signer returns tokens that are signed with the private key in a file or, without one, with
// auth.secret.
func Signer(settings config.Auth, key, keyID string) (*auth.Tokens, error) {
	o, err := TokenOptions(settings)
	if err != nil {
		return nil, err
	}
	switch {
	case key != "":
		if o.Signer, err = os.ReadFile(key); err != nil {
			return nil, fmt.Errorf("--key: %w", err)
		}
		o.SignerID = keyID
	case keyID != "":
		return nil, errors.New("--key-id is for --key: the kid of auth.secret is auth.key_id")
	case settings.Secret == "":
		return nil, errors.New("auth.secret is empty: set SECKILL_AUTH__SECRET to the server's, or sign with --key")
	}
	return o.Tokens()
}

// UserRange returns the range of users that --user or --users names.
func UserRange(user int64, users string) (first, last int64, err error) {
	switch {
	case users != "" && user == 0:
		return parseRange(users)
	case users == "" && user > 0:
		return user, user, nil
	}
	return 0, 0, errors.New("give --user with an id above zero, or --users FROM-TO")
}

// maxTokens bounds --users: a typing mistake should not write a terabyte.
const maxTokens = 10_000_000

func parseRange(text string) (first, last int64, err error) {
	from, to, ok := strings.Cut(text, "-")
	first, err1 := strconv.ParseInt(from, 10, 64)
	last, err2 := strconv.ParseInt(to, 10, 64)
	if !ok || err1 != nil || err2 != nil || first <= 0 || last < first {
		return 0, 0, errors.New("--users takes FROM-TO, such as 1-1000")
	}
	if last-first >= maxTokens {
		return 0, 0, fmt.Errorf("--users makes %d tokens at most", maxTokens)
	}
	return first, last, nil
}
