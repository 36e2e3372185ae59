package redisconn

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Pipeline runs scripts and commands of many callers in common pipelines of the client:
// what is asked while one is under way is the next one. A single caller does not wait.
//
// The rules are the client's. Nothing is sent twice, because a pipeline is not
// repeated, and a reply that is lost is an error of each of its commands, all of which
// may have been executed. A script that fails, fails alone. For a context that has
// ended nothing is sent; one that ends later ends the wait, and the script may have
// been executed or may yet be. Closing the client ends it.
func Pipeline(client redis.UniversalClient) (Pipelined, error) {
	o := redis.DefaultBlockingAutoPipelineOptions()
	if _, ok := client.(*redis.ClusterClient); ok {
		o.NumShards = queues
	}
	// Of the client's two faces this is the one whose wait can be left.
	p, err := client.AsyncAutoPipelineWithOptions(o)
	if err != nil {
		return Pipelined{}, fmt.Errorf("pipelines of redis: %w", err)
	}
	return Pipelined{p, p}, nil
}

// queues is the number of queues in a cluster, each of a range of slots. With several
// to a master, one that does not answer holds up the queues of its own slots, and
// hardly another's.
const queues = 16

// Pipelined waits as long as the caller's context.
type Pipelined struct {
	redis.Scripter // for what is not on the order path
	to             *redis.AutoPipeliner
}

// EvalSha runs a script that the server knows.
func (p Pipelined) EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd {
	return p.run(ctx, "evalsha", sha1, keys, args)
}

// Eval runs a script that the server may not know.
func (p Pipelined) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return p.run(ctx, "eval", script, keys, args)
}

// keysFrom is the place of the first key in EVAL and EVALSHA.
const keysFrom = 3

func (p Pipelined) run(ctx context.Context, name, script string, keys []string, args []any) *redis.Cmd {
	if err := ctx.Err(); err != nil {
		return failed(ctx, err)
	}
	all := make([]any, 0, keysFrom+len(keys)+len(args))
	all = append(all, name, script, len(keys))
	for _, key := range keys {
		all = append(all, key)
	}
	cmd := redis.NewCmd(ctx, append(all, args...)...)
	cmd.SetFirstKeyPos(keysFrom)
	if err := p.to.Submit(ctx, cmd).WaitContext(ctx); err != nil && ctx.Err() != nil {
		return failed(ctx, err) // cmd itself may still be written to
	}
	return cmd
}

// Process runs a command of one key. With an error the command is not to be looked at:
// it may still be written to.
//
//nolint:wrapcheck // it is the client's
func (p Pipelined) Process(ctx context.Context, cmd redis.Cmder) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return p.to.Submit(ctx, cmd).WaitContext(ctx)
}

func failed(ctx context.Context, err error) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetErr(err)
	return cmd
}
