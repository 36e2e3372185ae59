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

	"example.com/seckill/internal/tools/servers"
)

// Env is the program on private servers, for a load generator that is not ours.
type Env struct {
	env  *env
	shop *deployment

	URL     string // of the API, as http://host:port
	Metrics string // where its metrics are
	Admin   string // an administrator's token
	Tokens  string // a file with a token a line, of the users 1, 2, 3 …
	Stores  string // what it runs on, in words
}

// EnvOptions say what an Env is to be.
type EnvOptions struct {
	Root     string   // of the module that the program is built from
	Users    int      // with a token
	Embedded bool     // on embedded stores, whatever is installed
	Design   string   // that makes the orders; "" is the program's own order path
	Settings []string // of the program, as NAME=value; the default ones otherwise
}

// OpenEnv builds the program and starts it on a MariaDB and a Redis of its own if they are installed,
// and on embedded stores otherwise.
func OpenEnv(ctx context.Context, o EnvOptions) (_ *Env, err error) {
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	h, err := newEnv(ctx, o.Root)
	if err != nil {
		return nil, err
	}
	s := &Env{env: h}
	if o.Design != "" { // the stores are private, so a wrong design harms no order
		o.Settings = append([]string{"SECKILL_ALLOW_WRONG_DESIGN=1"}, o.Settings...)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if err := s.openStores(ctx, o); err != nil {
		return nil, err
	}
	s.URL, s.Admin = s.shop.process.URL, s.shop.admin
	s.Metrics = s.shop.process.Admin + "/metrics"
	s.Tokens = filepath.Join(h.Dir, "tokens")
	return s, s.writeTokens(ctx, o.Users)
}

func (s *Env) openStores(ctx context.Context, o EnvOptions) (err error) {
	if o.Embedded {
		s.Stores = "embedded stores"
		s.shop, err = s.env.openEmbedded(ctx, o.Settings, o.Design)
		return err
	}
	err = s.env.openServers(ctx)
	if missing := (*servers.MissingError)(nil); errors.As(err, &missing) {
		s.Stores = fmt.Sprintf("embedded stores, because %s is not installed", missing.Program)
		s.shop, err = s.env.openEmbedded(ctx, o.Settings, o.Design)
		return err
	}
	if err == nil {
		s.Stores = "MariaDB with durable commits, and Redis"
		f := s.env.alone()
		f.design = o.Design
		s.shop, err = s.env.openFleet(ctx, path{env: append([]string{defaultRate}, o.Settings...)}, f)
	}
	return err
}

// defaultRate is the default limit of one user, which the benchmark lifts.
const defaultRate = "SECKILL_RATE_LIMIT__PER_USER=20"

func (h *env) openEmbedded(ctx context.Context, settings []string, design string) (_ *deployment, err error) {
	s := &deployment{}
	env := append([]string{"SECKILL_AUTH__SECRET=" + h.secret, freePort, freeAdminPort, jsonLog}, settings...)
	if err := s.serve(ctx, h, h.program, env, cluster{design: design}.serveArgs()...); err != nil {
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
	token, err := servers.Command(ctx, h.Dir, h.program, env, "token", "--user", "1", "--role", "admin").Output()
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
	cmd := servers.Command(ctx, s.env.Dir, s.env.program, []string{"SECKILL_AUTH__SECRET=" + s.env.secret},
		"token", "--users", fmt.Sprintf("1-%d", users), "--ttl", "24h")
	out := bufio.NewWriter(f)
	cmd.Stdout = out
	if err := errors.Join(cmd.Run(), out.Flush(), f.Close()); err != nil {
		return fmt.Errorf("write the tokens: %w", err)
	}
	return nil
}

// WriteEnv writes the variables of loadtest/settings.js, one NAME=value per line, and a last line that begins with #.
func (s *Env) WriteEnv(w io.Writer) error {
	_, err := fmt.Fprintf(w, "LT_URL=%s\nLT_ADMIN_TOKEN=%s\nLT_TOKENS=%s\nLT_METRICS=%s\n# on %s\n",
		s.URL, s.Admin, s.Tokens, s.Metrics, s.Stores)
	return err //nolint:wrapcheck // there is nothing to add
}

// Close stops the program and the servers, and removes their files.
func (s *Env) Close() (err error) {
	if s.shop != nil {
		err = s.shop.close()
	}
	return errors.Join(err, s.env.Close())
}
