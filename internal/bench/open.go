package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"seckill/internal/testbed/servers"
)

// Env is the program on private servers, for a load generator that is not ours.
type Env struct {
	house *env
	shop  *deployment

	URL     string // of the API, as http://host:port
	Metrics string // where its metrics are
	Admin   string // an administrator's token
	Tokens  string // a file with a token a line, of the users 1, 2, 3 …
	Stores  string // what it runs on, in words
}

// OpenEnv builds the program from the module at root and starts it with its default settings, on a
// MariaDB and a Redis of its own if they are installed and on embedded stores otherwise. users is
// the number of tokens.
func OpenEnv(ctx context.Context, root string, users int) (_ *Env, err error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	h, err := newEnv(ctx, root)
	if err != nil {
		return nil, err
	}
	s := &Env{house: h}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	var missing *servers.MissingError
	switch err := h.openServers(ctx); {
	case err == nil:
		s.Stores = "MariaDB with durable commits, and Redis"
		if s.shop, err = h.open(ctx, path{env: []string{defaultRate}}); err != nil {
			return nil, err
		}
	case errors.As(err, &missing):
		s.Stores = fmt.Sprintf("embedded stores, because %s is not installed", missing.Program)
		if s.shop, err = h.openEmbedded(ctx); err != nil {
			return nil, err
		}
	default:
		return nil, err
	}
	s.URL, s.Admin = s.shop.process.URL, s.shop.admin
	s.Metrics = s.shop.process.Admin + "/metrics"
	s.Tokens = filepath.Join(h.Dir, "tokens")
	return s, s.writeTokens(ctx, users)
}

// defaultRate is the default limit of one user, which the benchmark lifts.
const defaultRate = "SECKILL_RATE__PER_USER=20"

func (h *env) openEmbedded(ctx context.Context) (_ *deployment, err error) {
	s := &deployment{}
	env := []string{"SECKILL_AUTH__SECRET=" + h.secret, freePort, freeAdminPort, jsonLog}
	if err := s.serve(ctx, h, h.program, env, "serve"); err != nil {
		return nil, err
	}
	s.admin, err = h.adminToken(ctx, env)
	if err != nil {
		err = errors.Join(err, s.close())
	}
	return s, err
}

// adminToken has the program sign an administrator's token.
func (h *env) adminToken(ctx context.Context, env []string) (string, error) {
	token, err := command(ctx, h.Dir, h.program, env, "token", "--user", "1", "--role", "admin").Output()
	if err != nil {
		return "", fmt.Errorf("seckill token: %w", err)
	}
	return strings.TrimSpace(string(token)), nil
}

func (s *Env) writeTokens(ctx context.Context, users int) error {
	f, err := os.OpenFile(s.Tokens, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write the tokens: %w", err)
	}
	cmd := command(ctx, s.house.Dir, s.house.program, []string{"SECKILL_AUTH__SECRET=" + s.house.secret},
		"token", "--users", fmt.Sprintf("1-%d", users), "--ttl", "24h")
	out := bufio.NewWriter(f)
	cmd.Stdout = out
	if err := errors.Join(cmd.Run(), out.Flush(), f.Close()); err != nil {
		return fmt.Errorf("write the tokens: %w", err)
	}
	return nil
}

// WriteEnv writes what a k6 script needs, a NAME=value a line, and a last line that begins with #.
func (s *Env) WriteEnv(w io.Writer) error {
	_, err := fmt.Fprintf(w, "SECKILL_URL=%s\nADMIN_TOKEN=%s\nTOKENS=%s\nMETRICS=%s\n# on %s\n", s.URL, s.Admin, s.Tokens, s.Metrics, s.Stores)
	return err //nolint:wrapcheck // there is nothing to add
}

// Close stops the program and the servers, and removes their files.
func (s *Env) Close() (err error) {
	if s.shop != nil {
		err = s.shop.close()
	}
	return errors.Join(err, s.house.Close())
}
