package bench

import (
	"context"
	"errors"
	"time"
)

// Run plays every case of an experiment.
func Run(ctx context.Context, places *Places, e Experiment) Result {
	began := time.Now()
	result := Result{Name: e.Name, Title: e.Title, Lesson: e.Lesson, Wild: e.Wild}
	if _, err := places.config.Hosts(e.Needs); err != nil {
		result.tell(err)
		return result
	}
	if err := places.have(ctx, e.Needs); err != nil {
		result.tell(err)
		return result
	}
	for _, c := range e.Cases {
		played, err := playCase(ctx, places, c, e.Needs)
		result.Cases = append(result.Cases, played)
		if err != nil {
			result.tell(err)
			break
		}
	}
	result.Servers = places.used(e.Needs)
	result.Seconds = time.Since(began).Seconds()
	return result
}

// tell keeps why the experiment has no verdict.
func (r *Result) tell(err error) {
	if none := (*NoServerError)(nil); errors.As(err, &none) {
		r.NotRun = &none.Why
		return
	}
	r.Failed = brief(err)
}

// have asks for the servers that an experiment needs.
func (p *Places) have(ctx context.Context, needs []Server) error {
	for _, n := range needs {
		var err error
		switch n {
		case Redis, RealRedis:
			_, err = p.Redis(ctx, n == RealRedis)
		case OwnRedis:
			_, err = p.config.ownRedisHost()
		case Database:
			_, err = p.Database(ctx)
		case Process:
		}
		if err != nil {
			return err
		}
	}
	return nil
}
