package zklock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/go-zookeeper/zk"
)

// AdvanceFence makes every later fence larger than above, by a number that is added to
// all of them. A transaction number cannot be lifted; this can. The number is
// never made smaller. A call that repeats an earlier acquisition across an AdvanceFence is
// answered with the larger fence.
func (b *Backend) AdvanceFence(ctx context.Context, _ string, above uint64) error {
	if above >= math.MaxInt64 {
		return fmt.Errorf("zklock: raise the fence above %d: more than the database can keep", above)
	}
	s, err := b.anySession(nil)
	if err != nil {
		return err
	}
	defer b.done(s)
	defer s.conns.Watch(ctx)()
	for {
		done, err := b.raise(ctx, s, above)
		if err != nil {
			return fmt.Errorf("zklock: raise: %w", err)
		}
		if done {
			return nil
		}
	}
}

// raise tries once. It answers false if another changed the number meanwhile.
func (b *Backend) raise(ctx context.Context, s *session, above uint64) (bool, error) {
	offset, version, err := b.offset(ctx, s)
	if err != nil {
		return false, err
	}
	if offset >= above {
		return true, nil
	}
	if version < 0 {
		return false, errors.Join(
			s.make(ctx, b.o.Root, (*zk.Conn).Create, zk.FlagPersistent),
			s.make(ctx, b.raised(), (*zk.Conn).Create, zk.FlagPersistent))
	}
	_, err = call(ctx, s, func(c *zk.Conn) (*zk.Stat, error) {
		return c.Set(b.raised(), []byte(strconv.FormatUint(above, 10)), version)
	})
	if errors.Is(err, zk.ErrBadVersion) {
		return false, nil
	}
	return true, err
}

// offset reads what is added to the fences, and its version, −1 if it was never
// written.
func (b *Backend) offset(ctx context.Context, s *session) (uint64, int32, error) {
	version := int32(-1)
	text, err := call(ctx, s, func(c *zk.Conn) (data []byte, err error) {
		data, stat, err := c.Get(b.raised())
		if err == nil {
			version = stat.Version
		}
		return data, err //nolint:wrapcheck // below
	})
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return 0, -1, nil
	case err != nil:
		return 0, -1, fmt.Errorf("read what is added to the fence: %w", err)
	case len(text) == 0:
		return 0, version, nil
	}
	n, err := strconv.ParseUint(string(text), 10, 64)
	if err != nil {
		return 0, -1, fmt.Errorf("what is added to the fence: %w", err)
	}
	return n, version, nil
}
