package redisconn

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"
)

// onceHook stops the client of a Cluster from repeating a pipeline that a server has answered.
//
// The client repeats a whole pipeline if a node's first reply to it is TRYAGAIN, CLUSTERDOWN, LOADING,
// READONLY, MASTERDOWN or NOREPLICAS. It does so up to three times, regardless of MaxRetries, and repeats
// the commands that succeeded. It does not repeat a pipeline that has a command which must not be repeated.
// So the hook marks the first command to each node. Each command then has its own reply or its own error,
// and was carried out at most once. The client follows redirections command by command, because the server
// that sent a redirection did nothing.
//
// Outside of a pipeline, the client sends a command again after these replies: the server rejected only
// that command.
type onceHook struct{}

// DialHook returns next.
func (onceHook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook returns next.
func (onceHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook marks each pipeline: the client must not repeat it.
func (onceHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if len(cmds) > 0 {
			cmds = slices.Clone(cmds)
			cmds[0] = unrepeated{cmds[0]}
		}
		return next(ctx, cmds)
	}
}

// unrepeated is a command that the client must not send again.
type unrepeated struct{ redis.Cmder }

// NoRetry reports whether the client must not send the command again. It returns true.
func (unrepeated) NoRetry() bool { return true }
