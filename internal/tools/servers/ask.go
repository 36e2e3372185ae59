package servers

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	askWithin   = time.Second           // for each step of a request: dial, write, read
	settleEvery = 50 * time.Millisecond // between two readings of a group of servers
)

// ask runs question over a connection of its own. It dials itself, because the client would log
// every refusal, and a starting server refuses at first.
func (r *Redis) ask(ctx context.Context, question func(*redis.Client) error) error {
	conn, err := (&net.Dialer{Timeout: askWithin}).DialContext(ctx, "tcp", r.Addr())
	if err != nil {
		return fmt.Errorf("ask %s: %w", r.Addr(), err)
	}
	defer func() { _ = conn.Close() }() // the client closes it too, if it got to use it
	c := redis.NewClient(&redis.Options{
		Addr:     r.Addr(),
		Dialer:   func(context.Context, string, string) (net.Conn, error) { return conn, nil },
		PoolSize: 1, DialerRetries: 1, MaxRetries: -1,
		ReadTimeout: askWithin, WriteTimeout: askWithin, ContextTimeoutEnabled: true,
		Protocol: 2, DisableIdentity: true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	defer func() { _ = c.Close() }() // nothing is kept in it
	if err := question(c); err != nil {
		return fmt.Errorf("ask %s: %w", r.Addr(), err)
	}
	return nil
}

// info returns one section of INFO, by field.
func (r *Redis) info(ctx context.Context, section string) (map[string]string, error) {
	var text string
	err := r.ask(ctx, func(c *redis.Client) (err error) {
		text, err = c.Do(ctx, r.infoCommand, section).Text()
		return err //nolint:wrapcheck // ask wraps it
	})
	return fields(text), err
}

// fields parses lines of the form name:value.
func fields(text string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			found[name] = value
		}
	}
	return found
}

// await repeats check until it returns nil or ctx ends.
func await(ctx context.Context, check func(context.Context) error) error {
	tick := time.NewTicker(settleEvery)
	defer tick.Stop()
	for {
		last := check(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w while %w", context.Cause(ctx), last)
		case <-tick.C:
		}
	}
}
