package redisconn

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Pipeline runs scripts and commands of many callers in shared pipelines of the client. Calls that arrive
// while a pipeline is under way form the next pipeline. A single caller does not wait.
//
// The rules are the client's. The client sends nothing twice, because it does not repeat a pipeline. A lost
// reply is an error of each command of its pipeline, and all of them may have been executed. A script that
// fails does not affect the others. If the context has ended, the client sends nothing. If the context ends
// later, the wait ends, and the script may have been executed or may still be. Closing the client ends the
// Pipelined.
func Pipeline(client redis.UniversalClient) (Pipelined, error) {
	o := redis.DefaultBlockingAutoPipelineOptions()
	if _, ok := client.(*redis.ClusterClient); ok {
		o.NumShards = queues
	}
	// Only this one of the client's two interfaces lets a caller leave the wait.
	p, err := client.AsyncAutoPipelineWithOptions(o)
	if err != nil {
		return Pipelined{}, fmt.Errorf("pipelines of redis: %w", err)
	}
	return Pipelined{p, p}, nil
}

// queues is the number of queues in a cluster. Each queue serves a range of slots. With several queues per
// master, a master that does not answer delays the queues of its own slots, and hardly any other queue.
const queues = 16

// Pipelined runs commands in shared pipelines. A call waits no longer than its context lasts.
type Pipelined struct {
	redis.Scripter // for calls that are not on the order path
	to             *redis.AutoPipeliner
}

// EvalSha runs a script that the server has already.
func (p Pipelined) EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd {
	return p.run(ctx, "evalsha", sha1, keys, args)
}

// Eval runs a script that the server may not have.
func (p Pipelined) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return p.run(ctx, "eval", script, keys, args)
}

// keysFrom is the position of the first key in EVAL and EVALSHA.
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
		return failed(ctx, err) // the client may still write to cmd
	}
	return cmd
}

// Process runs a command with one key. After an error, do not read the command: the client may still write
// to it.
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
