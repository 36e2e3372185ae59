package chaos

import (
	"context"
	"fmt"
	"strings"
	"time"

	"example.com/seckill/internal/tools/servers"
)

// upgradeFaults are changes of the program under load. The fleet is an earlier build at first.
func upgradeFaults() []Fault {
	return []Fault{{
		Name: "upgrade:one-by-one", kind: upgraded, harm: upgradedOneByOne, whole: true, plenty: true, crowd: 3, lasts: 20 * time.Second,
	}}
}

// upgradedOneByOne has this program bring the schema up to date and replaces one instance after the other by it,
// and goes back and forth once more if the earlier build knows the schema. No request may fail, none be without an
// answer, none be given up, and nothing be loaded again.
func upgradedOneByOne(ctx context.Context, r *round) (bool, error) {
	b := r.env
	b.spent = true
	r.closed.within(0, 0, 1, 2, 3)
	r.onTheWay(ctx, 5)
	root, err := withDatabase(b.fleet[0].env, b.MariaDB.DSN(b.dbase))
	if err != nil {
		return false, err
	}
	said, err := migrate(ctx, b.program, b.Dir, root)
	if err != nil {
		return false, err
	}
	if err := b.grant(ctx); err != nil { // on the tables that are new
		return false, err
	}
	builds := []string{b.program}
	if strings.Contains(said, "up to date") {
		builds = append(builds, b.before, b.program)
	}
	for _, build := range builds {
		for _, i := range b.fleet {
			if err := r.replace(ctx, i, build); err != nil {
				return false, err
			}
		}
	}
	epoch, err := b.epoch(ctx, r.coupon)
	if err != nil {
		return false, err
	}
	r.rec.mu.Lock()
	defer r.rec.mu.Unlock()
	if epoch != r.epoch {
		r.rec.problemLocked("the stock was loaded again while each instance was replaced")
	}
	if r.rec.lost > 0 {
		r.rec.problemLocked("%d requests had no answer while each instance was replaced", r.rec.lost)
	}
	return true, ctx.Err()
}

// replace ends an instance in order, and starts another build in its place.
func (r *round) replace(ctx context.Context, i *instance, build string) error {
	i.leave()
	if err := i.end(); err != nil {
		r.rec.problem("%v", err)
	}
	i.program = build
	return i.start(ctx)
}

// migrate brings the schema up to date, and returns what the program said.
func migrate(ctx context.Context, program, dir string, env []string) (string, error) {
	env, err := knownTo(ctx, program, dir, env)
	if err != nil {
		return "", err
	}
	out, err := servers.Command(ctx, dir, program, env, "migrate").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("seckill migrate: %w: %s", err, out)
	}
	return string(out), nil
}
