package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"seckill/internal/api"
	"seckill/internal/app"
	"seckill/internal/config"
)

func newToken(c console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Print a signed token, for scripts and load tests",
		Example: "  SECKILL_AUTH__SECRET=… seckill token --user 1 --role admin\n" +
			"  SECKILL_AUTH__SECRET=… seckill token --users 1-1000 --ttl 30m > tokens.txt\n" +
			"  seckill token --user 1 --key login.pem --key-id 2030-01",
		Args: noArgs,
	}
	load := configFlag(cmd, c)
	user := cmd.Flags().Int64("user", 0, "the user's id")
	users := cmd.Flags().String("users", "", "FROM-TO: a token for each of these users, one a line")
	role := cmd.Flags().String("role", api.RoleUser, "user or admin")
	completeWords(cmd, "role", api.RoleUser, api.RoleAdmin)
	key := cmd.Flags().String("key", "", "a private key in PEM, Ed25519 or RSA, to sign with in place of auth.secret")
	keyID := cmd.Flags().String("key-id", "", "the kid of that key, as in the file of auth.jwks_file")
	ttl := cmd.Flags().Duration("ttl", time.Hour, "how long the token is good for")
	cmd.RunE = func(*cobra.Command, []string) error {
		first, last, err := userRange(*user, *users)
		if err != nil {
			return usage(err)
		}
		if *ttl <= 0 {
			return usage(errors.New("--ttl must be above zero"))
		}
		cfg, err := load()
		if err != nil {
			return err
		}
		tokens, err := signer(cfg.Auth, *key, *keyID)
		if err != nil {
			return usage(err)
		}
		for id := first; id <= last; id++ {
			text, _, err := tokens.Sign(id, *role, *ttl)
			if err != nil {
				return usage(err)
			}
			if _, err := fmt.Fprintln(c.out, text); err != nil {
				return fmt.Errorf("write a token: %w", err)
			}
		}
		return nil
	}
	return cmd
}

// signer returns tokens that are signed with the private key in a file or, without one, with
// auth.secret.
func signer(auth config.Auth, key, keyID string) (*api.Tokens, error) {
	o, err := app.TokenOptions(auth)
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
	case auth.Secret == "":
		return nil, errors.New("auth.secret is empty: set SECKILL_AUTH__SECRET to the server's, or sign with --key")
	}
	return o.Tokens()
}

// userRange returns the range of users that --user or --users names.
func userRange(user int64, users string) (first, last int64, err error) {
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
