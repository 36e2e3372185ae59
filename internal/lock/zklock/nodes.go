package zklock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"
)

func (b *Backend) held(key string) string { return b.o.Root + "/held/" + escape(key) }
func (b *Backend) line(key string) string { return b.o.Root + "/line/" + escape(key) }
func (b *Backend) raised() string         { return b.o.Root + "/raised" }

// escape makes a node's name of any text. A dot parts a token from its number.
func escape(text string) string { return strings.ReplaceAll(url.PathEscape(text), ".", "%2E") }

// names are the nodes of a folder, the lowest number first.
type names []string

func newNames(children []string) names {
	n := slices.DeleteFunc(children, func(name string) bool { return !strings.Contains(name, ".") })
	slices.SortFunc(n, func(a, b string) int {
		// Numbers count to 2^31 and go on below zero: it is their distance that tells.
		return cmp.Compare(number(a)-number(b), 0)
	})
	return n
}

func number(name string) int32 {
	_, digits, _ := strings.Cut(name, ".")
	n, _ := strconv.ParseInt(digits, 10, 32) // a stranger's node may be called anything
	return int32(n)
}

// of is the node of a token.
func (n names) of(token string) (string, bool) {
	for _, name := range n {
		if strings.HasPrefix(name, escape(token)+".") {
			return name, true
		}
	}
	return "", false
}

// before is the node in front of name, "" if it is the first. It answers false if
// name is not there.
func (n names) before(name string) (string, bool) {
	i := slices.Index(n, name)
	if i <= 0 {
		return "", i == 0
	}
	return n[i-1], true
}

// list reads a folder. One that is not there is empty.
func (s *session) list(ctx context.Context, dir string) (names, error) {
	children, err := call(ctx, s, func(c *zk.Conn) ([]string, error) {
		children, _, err := c.Children(dir)
		return children, err //nolint:wrapcheck // below
	})
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	return newNames(children), nil
}

// enter creates a node for token in dir, and dir if it is not there. If ctx ends
// before the answer, the node is deleted when it comes. e may be nil.
func (s *session) enter(ctx context.Context, dir, token string, e *entry) (string, error) {
	for {
		made, err := s.create(ctx, dir, token, e)
		if err == nil {
			return path.Base(made), nil
		}
		if !errors.Is(err, zk.ErrNoNode) {
			return "", fmt.Errorf("create in %s: %w", dir, err)
		}
		if err := s.makeFolder(ctx, dir); err != nil {
			return "", err
		}
	}
}

// create is call, and handles a reply that arrives after its caller gave up.
func (s *session) create(ctx context.Context, dir, token string, e *entry) (string, error) {
	if err := s.ready(ctx); err != nil {
		return "", err
	}
	type answer struct {
		path string
		err  error
	}
	answered, ended := make(chan answer), make(chan struct{})
	if e != nil {
		e.mu.Lock()
		e.creating = ended
		e.mu.Unlock()
	}
	if !s.b.beginIn(s, func() {
		defer close(ended)
		p, err := s.conn.Create(dir+"/"+escape(token)+".", nil, zk.FlagEphemeralSequential, s.b.acl)
		select {
		case answered <- answer{p, err}:
		case <-ctx.Done():
			if !errors.Is(err, zk.ErrNoNode) {
				_ = s.removeAtLast(s.b.ctx, dir, token) // it ends with the Backend
			}
		}
	}) {
		return "", errClosed
	}
	select {
	case a := <-answered:
		return a.path, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// makeFolder makes a container and what is above it. Others may do the same.
func (s *session) makeFolder(ctx context.Context, dir string) error {
	for i, c := range dir {
		if c != '/' || i == 0 {
			continue
		}
		if err := s.make(ctx, dir[:i], (*zk.Conn).Create, zk.FlagPersistent); err != nil {
			return err
		}
	}
	return s.make(ctx, dir, (*zk.Conn).CreateContainer, zk.FlagContainer)
}

func (s *session) make(ctx context.Context, dir string,
	create func(*zk.Conn, string, []byte, int32, []zk.ACL) (string, error), flag int32,
) error {
	_, err := call(ctx, s, func(c *zk.Conn) (string, error) { return create(c, dir, nil, flag, s.b.acl) })
	if err != nil && !errors.Is(err, zk.ErrNodeExists) {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	return nil
}

// remove deletes the nodes of token in dir, of which there are two if the answer to
// a create was lost.
func (s *session) remove(ctx context.Context, dir, token string) error {
	now, err := s.list(ctx, dir)
	if err != nil {
		return err
	}
	for name, ours := now.of(token); ours; name, ours = now.of(token) {
		if err := s.delete(ctx, dir+"/"+name); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		now = slices.DeleteFunc(now, func(n string) bool { return n == name })
	}
	return nil
}

func (s *session) delete(ctx context.Context, path string) error {
	_, err := call(ctx, s, func(c *zk.Conn) (struct{}, error) { return struct{}{}, c.Delete(path, -1) })
	if err != nil {
		return fmt.Errorf("delete %s: %w", path, err)
	}
	return nil
}

// owned returns the state of a node if it belongs to this session, whose id is
// answered as well, and nil if it does not or is not there.
func (s *session) owned(ctx context.Context, path string) (*zk.Stat, int64, error) {
	if path == "" {
		return nil, 0, nil
	}
	stat, err := call(ctx, s, func(c *zk.Conn) (*zk.Stat, error) {
		there, stat, err := c.Exists(path)
		if !there {
			stat = nil
		}
		return stat, err //nolint:wrapcheck // below
	})
	if err != nil {
		return nil, 0, fmt.Errorf("look for %s: %w", path, err)
	}
	if stat == nil || stat.EphemeralOwner != s.conn.SessionID() {
		return nil, 0, nil
	}
	return stat, stat.EphemeralOwner, nil
}

// sync makes this server know all that the leader knows.
func (s *session) sync(ctx context.Context, path string) error {
	_, err := call(ctx, s, func(c *zk.Conn) (string, error) { return c.Sync(path) })
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("sync: %w", err)
	}
	return nil
}
