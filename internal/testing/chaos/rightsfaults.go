package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// rightsFaults take a right from the user of the instances while they work, and grant it again. An instance
// must log the missing right. The fault must cost nothing, and the instances must recover by themselves.
func rightsFaults() []Fault {
	commands := []string{"get", "hget", "hmget", "hincrby", "hdel", "hexists", "exists", "decrby", "zadd", "zrem", "time", "evalsha"}
	return []Fault{
		{Name: "rights:redis-command", kind: plain, harm: func(ctx context.Context, r *round) (bool, error) {
			return without(ctx, r, commands[r.rng.IntN(len(commands))])
		}},
		// The instance misses this right when a unit has left its counter and is in no hold yet.
		{Name: "rights:redis-hset", kind: plain, harm: func(ctx context.Context, r *round) (bool, error) { return without(ctx, r, "hset") }},
		{Name: "rights:redis-info", kind: plain, harm: func(ctx context.Context, r *round) (bool, error) { return without(ctx, r, "info") }},
		{Name: "rights:database", kind: plain, harm: func(ctx context.Context, r *round) (bool, error) {
			return withoutStatement(ctx, r, statements[r.rng.IntN(len(statements))])
		}},
		{Name: "rights:database-stock", kind: plain, harm: func(ctx context.Context, r *round) (bool, error) {
			return withoutStatement(ctx, r, [2]string{"UPDATE", "coupons"})
		}},
	}
}

// without takes away the right to a command. The right may be missing in the middle of a script, which then
// stops half-done.
func without(ctx context.Context, r *round, command string) (bool, error) {
	r.onTheWay(ctx, 10+r.rng.IntN(70))
	began := time.Now()
	may := func(sign string) error {
		if err := r.env.rdb.Do(ctx, "ACL", "SETUSER", user, sign+command).Err(); err != nil {
			return fmt.Errorf("change the rights in Redis: %w", err)
		}
		return nil
	}
	if err := may("-"); err != nil {
		return false, err
	}
	words := []string{"'" + command + "' command", "executing the script can't run this command"}
	if command == "info" { // the scripts check the right themselves
		words = []string{"INFO"}
	}
	r.named(ctx, began, words...)
	return true, may("+")
}

// statements are the statements of an order and of the background work, with their tables.
var statements = [][2]string{
	{"SELECT", "orders"},
	{"INSERT", "orders"},
	{"UPDATE", "orders"},
	{"SELECT", "coupons"},
	{"INSERT", "fences"},
	{"SELECT", "fences"},
	{"SELECT", "stock_returns"},
	{"SELECT", "deployment"},
	{"UPDATE", "deployment"},
}

func withoutStatement(ctx context.Context, r *round, one [2]string) (bool, error) {
	r.onTheWay(ctx, 10+r.rng.IntN(70))
	began := time.Now()
	do := func(text string) error {
		if _, err := r.env.db.ExecContext(ctx, fmt.Sprintf(text, one[0], one[1], user)); err != nil {
			return fmt.Errorf("change the rights in the database: %w", err)
		}
		return nil
	}
	if err := do("REVOKE %s ON %s FROM %s"); err != nil {
		return false, err
	}
	r.named(ctx, began, "command denied")
	return true, do("GRANT %s ON %s TO %s")
}

// toName is how long a missing right may go unlogged.
const toName = 6 * time.Second

// named waits until an instance has logged the right that it misses, and at least for the time longer.
func (r *round) named(ctx context.Context, since time.Time, words ...string) {
	for sleep(ctx, 50*time.Millisecond) {
		told := false
		for _, i := range r.env.fleet {
			told = told || complained(i.now().Log(), since, words)
		}
		switch took := time.Since(since); {
		case told && took > longer:
			return
		case took > toName:
			r.rec.problem("no instance has named what it may not do: %s", words[0])
			return
		}
	}
}

// complained reports whether a log has one of the words after the time since, in a line above the level INFO.
func complained(log string, since time.Time, words []string) bool {
	for line := range strings.Lines(log) {
		var said struct {
			Time  time.Time `json:"time"`
			Level string    `json:"level"`
		}
		has := slices.ContainsFunc(words, func(word string) bool { return strings.Contains(line, word) })
		if has && json.Unmarshal([]byte(line), &said) == nil &&
			said.Level != "INFO" && said.Time.After(since) {
			return true
		}
	}
	return false
}
