package redisconn

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"
)

// onceHook keeps the client of a Cluster from sending a pipeline again that a server has answered.
//
// If the first reply of a pipeline to a node is TRYAGAIN, CLUSTERDOWN, LOADING, READONLY,
// MASTERDOWN or NOREPLICAS, the client sends the whole of it again, up to three times, whatever
// MaxRetries says, and with it the commands that succeeded. It does not do so for a pipeline with a
// command that must not be repeated, so the first command to each node is made such a one: each
// command has its own reply, or its own error, and was carried out at most once. Redirections are
// followed, command by command, because the server that sent one did nothing.
//
// A command outside of a pipeline is sent again after these replies: it alone was refused.
type onceHook struct{}

// DialHook returns next.
func (onceHook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook returns next.
func (onceHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }

// ProcessPipelineHook marks a pipeline as one that is not repeated.
func (onceHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if len(cmds) > 0 {
			cmds = slices.Clone(cmds)
			cmds[0] = unrepeated{cmds[0]}
		}
		return next(ctx, cmds)
	}
}

// unrepeated is a command that must not be sent again by the client.
type unrepeated struct{ redis.Cmder }

// NoRetry reports whether it must not be sent again, which is so.
func (unrepeated) NoRetry() bool { return true }
