package chaos

import "context"

// checkLockOrder asks the instances which rules about users' locks they have broken: the data
// cannot show it.
func (r *round) checkLockOrder(ctx context.Context) {
	for _, i := range r.env.fleet {
		state, err := i.state(ctx)
		if err != nil {
			r.rec.problem("%v", err)
		}
		for rule, n := range state.Broken {
			r.rec.problem("%s: %s (%d times)", i.name, rule, n)
		}
	}
}
