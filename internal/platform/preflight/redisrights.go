package preflight

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// tries are all commands that the program sends or its scripts call, each as it does no
// harm to a key of its own. A server looks at the rights before anything else: before
// the kind of the key, its slot, or that there is none.
func (u RedisUse) tries() [][]any {
	text, hash, set, sorted, stream := u.key("text"), u.key("hash"), u.key("set"), u.key("sorted"), u.key("stream")
	all := [][]any{
		{"ping"},
		{"info", "server"},
		{"time"},
		{"eval", "return 1", 0},
		{"evalsha", strings.Repeat("0", 40), 0},
		{"publish", u.Prefix + "preflight", ""},
		{"mset", text, "1"},
		{"set", text, "1", "PX", 1000},
		{"get", text},
		{"mget", text},
		{"exists", text},
		{"incr", text},
		{"incrby", text, 1},
		{"decr", text},
		{"decrby", text, 1},
		{"append", text, ""},
		{"expire", text, 1},
		{"pexpire", text, 1},
		{"pttl", text},
		{"del", text},
		{"unlink", text},
		{"hset", hash, "f", 1},
		{"hget", hash, "f"},
		{"hmget", hash, "f"},
		{"hexists", hash, "f"},
		{"hincrby", hash, "f", 1},
		{"hlen", hash},
		{"hvals", hash},
		{"hgetall", hash},
		{"hscan", hash, 0},
		{"hdel", hash, "f"},
		{"sadd", set, "m"},
		{"sismember", set, "m"},
		{"smismember", set, "m"},
		{"scard", set},
		{"unlink", set},
		{"zadd", sorted, 1, "m"},
		{"zcard", sorted},
		{"zscore", sorted, "m"},
		{"zrange", sorted, 0, 0},
		{"zrangebyscore", sorted, 0, 0},
		{"zrem", sorted, "m"},
		{"xgroup", "CREATE", stream, "orders", "0", "MKSTREAM"},
		{"xadd", stream, "1-1", "f", "v"},
		{"xlen", stream},
		{"xrange", stream, "-", "+", "COUNT", 1},
		{"xreadgroup", "GROUP", "orders", "preflight", "COUNT", 1, "STREAMS", stream, ">"},
		{"xpending", stream, "orders"},
		{"xclaim", stream, "orders", "preflight", 0, "1-1"},
		{"xack", stream, "orders", "1-1"},
		{"xdel", stream, "1-1"},
		{"unlink", stream},
	}
	if u.Cluster {
		all = append(all, []any{"cluster", "SLOTS"}, []any{"asking"})
	}
	return all
}

// commands are the names of all that the program uses.
func (u RedisUse) commands() []string {
	var names []string
	for _, one := range u.tries() {
		names = append(names, one[0].(string)) //nolint:forcetypeassert // written above
	}
	names = append(names, "subscribe", "unsubscribe")
	slices.Sort(names)
	return slices.Compact(names)
}

// key is one that nothing else uses.
func (u RedisUse) key(of string) string { return u.Prefix + "{preflight}:" + of }

// rights tries every command, and tells which of them the user may not use. Such a
// refusal may come in the middle of a script, when half of it is done.
func rights(ctx context.Context, node redis.UniversalClient, use RedisUse, say func(Level, string, string, string)) error {
	var missing []string
	var refusal error
	tried := func(name string, err error) error {
		switch {
		case lacks(err):
			missing, refusal = append(missing, name), err
		case err != nil && !answered(err):
			return fmt.Errorf("try %s: %w", name, err)
		}
		return nil
	}
	var asked []*redis.Cmd
	_, _ = node.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, one := range use.tries() {
			asked = append(asked, p.Do(ctx, one...))
		}
		return nil
	})
	for _, one := range asked {
		if err := tried(strings.ToUpper(one.Name()), one.Err()); err != nil {
			return err
		}
	}
	if err := tried("SUBSCRIBE", subscribe(ctx, node, use.Prefix+"preflight")); err != nil {
		return err
	}
	if len(missing) == 0 {
		say(Fine, "rights", fmt.Sprintf("user %s may use all %d commands", use.user(), len(use.commands())), "")
		return nil
	}
	slices.Sort(missing)
	say(Refused, "rights", fmt.Sprintf("redis.username %s may not use %s (%s)", use.user(),
		strings.Join(slices.Compact(missing), ", "), firstLine(refusal)), use.Grant())
	return nil
}

// Grant is the command that gives the user all that the program needs, and no more.
func (u RedisUse) Grant() string {
	return fmt.Sprintf("ACL SETUSER %s ~%s* &%[2]s* +%s", u.user(), u.Prefix, strings.Join(u.commands(), " +"))
}

func (u RedisUse) user() string {
	return cmp.Or(u.Username, "default")
}

func subscribe(ctx context.Context, node redis.UniversalClient, channel string) error {
	sub := node.Subscribe(ctx, channel)
	defer func() { _ = sub.Close() }() // its connection ends with it
	_, err := sub.Receive(ctx)
	return err //nolint:wrapcheck // rights wraps it
}

// lacks reports whether the error says that the user may not use the command, or that the
// server does not know it by its name.
func lacks(err error) bool {
	return err != nil && slices.ContainsFunc(
		[]string{"NOPERM", "unknown command", "unknown subcommand", "can't run this command"},
		func(words string) bool { return strings.Contains(firstLine(err), words) })
}

// answered reports whether the error is the server's answer.
func answered(err error) bool {
	_, is := errors.AsType[redis.Error](err)
	return is
}

// redirected reports whether a node of a Cluster has sent the command elsewhere.
func redirected(err error) bool {
	return strings.HasPrefix(err.Error(), "MOVED ") || strings.HasPrefix(err.Error(), "ASK ") ||
		strings.HasPrefix(err.Error(), "CLUSTERDOWN")
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n")
	return line
}
