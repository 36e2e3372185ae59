package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"example.com/seckill/cmd/seckill/internal/cli"
	"example.com/seckill/internal/api/auth"
	"example.com/seckill/internal/app"
)

func newToken(c cli.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token",
		Short: "Print a signed token, for scripts and load tests",
		Example: "  SECKILL_AUTH__SECRET=… seckill token --user 1 --role admin\n" +
			"  SECKILL_AUTH__SECRET=… seckill token --users 1-1000 --ttl 30m > tokens.txt\n" +
			"  seckill token --user 1 --key login.pem --key-id 2030-01",
		Args: cli.NoArgs,
	}
	load := c.ConfigFlag(cmd)
	user := cmd.Flags().Int64("user", 0, "the user's id")
	users := cmd.Flags().String("users", "", "FROM-TO: a token for each of these users, one a line")
	role := cmd.Flags().String("role", auth.RoleUser, "user or admin")
	cli.CompleteWords(cmd, "role", auth.RoleUser, auth.RoleAdmin)
	key := cmd.Flags().String("key", "", "a private key in PEM, Ed25519 or RSA, to sign with in place of auth.secret")
	keyID := cmd.Flags().String("key-id", "", "the kid of that key, as in the file of auth.jwks_file")
	ttl := cmd.Flags().Duration("ttl", time.Hour, "how long the token is good for")
	cmd.RunE = func(*cobra.Command, []string) error {
		first, last, err := app.UserRange(*user, *users)
		if err != nil {
			return cli.Usage(err)
		}
		if *role != auth.RoleUser && *role != auth.RoleAdmin {
			return cli.Usage(fmt.Errorf("--role: %q is neither %s nor %s", *role, auth.RoleUser, auth.RoleAdmin))
		}
		if *ttl <= 0 {
			return cli.Usage(errors.New("--ttl must be above zero"))
		}
		cfg, err := load()
		if err != nil {
			return err
		}
		tokens, err := app.Signer(cfg.Auth, *key, *keyID)
		if err != nil {
			return cli.Usage(err)
		}
		for id := first; id <= last; id++ {
			text, _, err := tokens.Sign(id, *role, *ttl)
			if err != nil {
				return cli.Usage(err)
			}
			if _, err := fmt.Fprintln(c.Out, text); err != nil {
				return fmt.Errorf("write a token: %w", err)
			}
		}
		return nil
	}
	return cmd
}
