package harness

import (
	"context"
	"errors"
	"time"
)

// RunExperiment runs every case of an experiment.
func RunExperiment(ctx context.Context, servers *Servers, e Experiment) Result {
	began := time.Now()
	result := Result{Name: e.Name, Title: e.Title, Lesson: e.Lesson, Wild: e.Wild}
	if _, err := servers.config.Hosts(e.Needs); err != nil {
		result.fail(err)
		return result
	}
	if err := servers.require(ctx, e.Needs); err != nil {
		result.fail(err)
		return result
	}
	for _, c := range e.Cases {
		played, err := runCase(ctx, servers, c, e.Needs)
		result.Cases = append(result.Cases, played)
		if err != nil {
			result.fail(err)
			break
		}
	}
	result.Servers = servers.used(e.Needs)
	result.Seconds = time.Since(began).Seconds()
	return result
}

// fail records why the experiment has no verdict.
func (r *Result) fail(err error) {
	if none := (*NoServerError)(nil); errors.As(err, &none) {
		r.NotRun = &none.Why
		return
	}
	r.Failed = brief(err)
}

// require starts the servers that an experiment needs.
func (p *Servers) require(ctx context.Context, needs []Server) error {
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
