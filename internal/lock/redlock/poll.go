package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/lock"
)

// vote is the answer of one node, or the reason why there is none.
type vote struct {
	says      string        // taken, kept, free or other, as the scripts explain
	remaining time.Duration // of the other's lease; not positive when unknown
	other     string        // the other's token
	err       error
}

var errSilent = errors.New("no answer in time")

// poll has the answers of all nodes to one question.
type poll struct {
	votes  []vote
	quorum int
}

// poll asks all nodes at once. It waits until each node has answered, NodeTimeout has passed or ctx
// has ended, even with a client that ignores its context.
func (b *Backend) poll(ctx context.Context, script *redis.Script, key string, args ...any) poll {
	ctx, cancel := context.WithTimeout(ctx, b.o.NodeTimeout)
	defer cancel()
	type answer struct {
		node int
		vote vote
	}
	answers := make(chan answer, len(b.nodes))
	for i, node := range b.nodes {
		b.tidy.Go(func() { answers <- answer{i, ask(ctx, node, script, b.nameOf(key), args)} })
	}
	p := poll{slices.Repeat([]vote{{err: errSilent}}, len(b.nodes)), b.quorum}
	for range b.nodes {
		select {
		case a := <-answers:
			p.votes[a.node] = a.vote
		case <-ctx.Done():
			return p
		}
	}
	return p
}

func ask(ctx context.Context, node redis.Scripter, script *redis.Script, name string, args []any) vote {
	r, err := script.Run(ctx, node, []string{name}, args...).Slice()
	if err != nil {
		return vote{err: err}
	}
	var v vote
	if len(r) > 0 {
		v.says, _ = r[0].(string)
	}
	if len(r) > 2 {
		ms, _ := r[1].(int64)
		v.remaining = time.Duration(max(ms+1, 0)) * time.Millisecond // Redis rounds: 0 is about to end
		v.other, _ = r[2].(string)
	}
	switch v.says {
	case "taken", "kept", "free", "other":
		return v
	}
	return vote{err: fmt.Errorf("unexpected answer %v", r)}
}

// count returns how many nodes gave one of these answers.
func (p poll) count(says ...string) (n int) {
	for _, v := range p.votes {
		if v.err == nil && slices.Contains(says, v.says) {
			n++
		}
	}
	return n
}

// answered returns how many nodes gave any answer.
func (p poll) answered() int { return p.count("taken", "kept", "free", "other") }

// owned interprets the replies of the scripts that compare the owner. While the silent nodes could
// make the difference, nothing is certain.
func (p poll) owned(doing, key string) error {
	if p.count("kept") >= p.quorum {
		return nil
	}
	if lacking := p.count("free", "other"); lacking <= len(p.votes)-p.quorum {
		return p.unavailable(doing)
	}
	if _, votes := p.rival(); votes >= p.quorum {
		return fmt.Errorf("%w: %w", lock.ErrNotHeld, p.held(key))
	}
	return lock.ErrNotHeld
}

// unavailable returns an error that names the nodes without a usable answer, and the reasons.
func (p poll) unavailable(doing string) error {
	var errs []error
	for i, v := range p.votes {
		if v.err != nil {
			errs = append(errs, fmt.Errorf("node %d of %d: %w", i+1, len(p.votes), v.err))
		}
	}
	return fmt.Errorf("redlock: %s: %d of %d nodes answered: %w", doing, p.answered(), len(p.votes), errors.Join(errs...))
}

// rival returns the other token that has the most nodes. If several tokens have equally many, it
// returns the smallest.
func (p poll) rival() (token string, votes int) {
	has := map[string]int{}
	for _, v := range p.votes {
		if v.err != nil || v.says != "other" {
			continue
		}
		has[v.other]++
		if n := has[v.other]; n > votes || n == votes && v.other < token {
			token, votes = v.other, n
		}
	}
	return token, votes
}

// held returns the longest time until a majority is free, if no holder renews.
func (p poll) held(key string) *lock.HeldError {
	e := &lock.HeldError{Key: key}
	var remaining []time.Duration
	for _, v := range p.votes {
		if v.err == nil && v.says == "other" && v.remaining > 0 {
			remaining = append(remaining, v.remaining)
		}
	}
	slices.Sort(remaining)
	lacking := p.quorum - p.count("taken", "kept", "free")
	if lacking > 0 && lacking <= len(remaining) {
		e.Remaining = remaining[lacking-1]
	}
	return e
}
