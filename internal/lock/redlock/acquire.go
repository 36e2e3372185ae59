package redlock

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/lock"
)

const (
	rounds   = 8                    // of a contest without a majority
	firstGap = time.Millisecond     // between two rounds; it doubles
	longGap  = 8 * time.Millisecond // and ends here
)

// Acquire takes key on a majority of the nodes, or on none. It returns a *HeldError if too few
// nodes were free. It returns another error if too few nodes answered, if they took too long, or if
// it could not get the fence.
//
// If the process that got the grant asks again with the same token, it gets the same fence. No
// other caller has the token, so no other caller can ask.
func (b *Backend) Acquire(ctx context.Context, key, token string, lease time.Duration) (lock.Grant, error) {
	if lease < minLease || lease > maxLease {
		return lock.Grant{}, fmt.Errorf("redlock: acquire: a lease of %v is not between %v and %v", lease, minLease, maxLease)
	}
	start, p := b.contest(ctx, key, token, lease)
	fence, err := b.decide(ctx, p, key, token, lease, start)
	if err != nil {
		b.fences.forget(holder{key, token})
		b.withdraw(ctx, p, key, token)
		return lock.Grant{}, err
	}
	return lock.Grant{Fence: fence}, nil
}

// contest asks until the votes are clear. They are not clear if several callers met and each got
// some. Then the caller with the most votes keeps them and asks again at once. The others give
// theirs back and ask later. contest returns the start of the last poll and the poll.
//
//	a: 1 1 . . .      a leads, keeps two      a: 1 1 1 . .
//	b: . . 2 2 .  ─▶  b withdraws         ─▶  b: another has the majority
//	c: . . . . 3      c withdraws             c: the same
func (b *Backend) contest(ctx context.Context, key, token string, lease time.Duration) (time.Time, poll) {
	gap := firstGap
	for round := 1; ; round++ {
		start := time.Now()
		p := b.poll(ctx, acquireScript, key, token, millis(lease), b.asked.Add(1))
		mine := p.count("taken", "kept")
		rival, votes := p.rival()
		decided := mine >= p.quorum || votes >= p.quorum || p.answered() < p.quorum
		if decided || round == rounds || time.Since(start) >= b.o.NodeTimeout {
			return start, p
		}
		leads := mine > votes || mine == votes && token < rival
		if !leads {
			b.withdraw(ctx, p, key, token)
		}
		if !sleep(ctx, leads, gap) {
			return start, p
		}
		gap = min(2*gap, longGap)
	}
}

// sleep leaves the others time to withdraw. It is longer for callers that withdrew. It returns
// false if ctx ended.
func sleep(ctx context.Context, leads bool, gap time.Duration) bool {
	if !leads {
		gap += rand.N(2 * gap) //nolint:gosec // jitter, not a secret
	}
	t := time.NewTimer(gap)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// decide reads the poll, and gets the fence only for a grant that is still in time.
func (b *Backend) decide(ctx context.Context, p poll, key, token string, lease time.Duration, start time.Time) (uint64, error) {
	switch {
	case p.count("taken", "kept") >= p.quorum:
	case p.answered() >= p.quorum:
		return 0, p.held(key)
	default:
		return 0, p.unavailable("acquire")
	}
	if err := inTime(start, lease); err != nil {
		return 0, fmt.Errorf("redlock: acquire: %w", err)
	}
	h := holder{key, token}
	if p.count("kept") >= p.quorum {
		if fence, ok := b.fences.recall(h, lease); ok {
			return fence, nil
		}
	}
	if b.o.Fencer == nil {
		return 0, nil
	}
	ctx, cancel := context.WithDeadline(ctx, start.Add(lease-drift(lease)))
	defer cancel()
	fence, err := b.o.Fencer.NextFence(ctx, key)
	if err == nil {
		err = inTime(start, lease) // and not only in time to ask
	}
	if err != nil {
		return 0, fmt.Errorf("redlock: acquire: the fence: %w", err)
	}
	b.fences.remember(h, fence, lease)
	return fence, nil
}

// withdraw frees the votes of this token, even after ctx has ended. It waits for nodes that have
// answered. A silent node may still have given its vote, so withdraw asks it in the background. A
// node that reported another holder has no vote of ours.
func (b *Backend) withdraw(ctx context.Context, p poll, key, token string) {
	free := func(node redis.Scripter) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.o.NodeTimeout)
		defer cancel()
		ask(ctx, node, releaseScript, b.nameOf(key), []any{token})
	}
	var answered sync.WaitGroup
	last := b.asked.Load()
	for i, v := range p.votes {
		switch {
		case v.err != nil:
			b.takeBack(i, key, token, last)
		case v.says != "other":
			answered.Go(func() { free(b.nodes[i]) })
		}
	}
	answered.Wait()
}
