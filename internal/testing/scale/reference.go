package scale

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/tools/servers"
)

// referencePhase writes to Redis as a loading does, but with plain commands and without the program. It writes
// one field for each buyer, in one hash per shard of the coupon. With twice the buyers, a loading may grow more
// than Limits.Growth if the reference does, because the data outgrow a processor's caches. The limit is then
// the growth of the reference in Redis' own processor time, plus a tenth. The tenth is a tolerance: the speed
// of a machine can differ by more than a tenth from one minute to the next.
const referencePhase = "reference"

const (
	referencePage   = 2_000 // buyers in a pipeline
	referenceFields = 14    // in a command

	tolerance = 1.1
)

// writeReference plays the reference phase. It leaves nothing in Redis.
func (s *sale) writeReference(ctx context.Context, r *Row) error {
	r.Items = s.buyers
	r.note("what Redis took in processor time for plain commands, not judged: what loading is held against")
	keys := make([]string, shards)
	for i := range keys {
		keys[i] = "scale:" + referencePhase + ":" + strconv.Itoa(i)
	}
	before, err := servers.CPU(s.Redis.PID())
	if err != nil {
		return err
	}
	for first := int64(0); first < s.buyers && err == nil; first += referencePage {
		_, err = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for i, key := range keys {
				hset(ctx, p, key, first+int64(i), min(first+referencePage, s.buyers))
			}
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("write the reference: %w", err)
	}
	after, err := servers.CPU(s.Redis.PID())
	if err != nil {
		return err
	}
	r.Took = after - before
	if err := s.client.Unlink(ctx, keys...).Err(); err != nil {
		return fmt.Errorf("remove the reference: %w", err)
	}
	return nil
}

// hset queues the commands for every eighth buyer of a page.
func hset(ctx context.Context, p redis.Pipeliner, key string, from, to int64) {
	var fields []any
	for buyer := from; buyer < to; buyer += shards {
		fields = append(fields, strconv.FormatInt(buyer, 10), "1")
		if len(fields) == 2*referenceFields || buyer+shards >= to {
			p.HSet(ctx, key, fields...)
			fields = nil
		}
	}
}

// mayGrow returns the largest allowed ratio between the cost of a phase for all buyers and its cost for half of
// them.
func (r *Report) mayGrow(phase string) float64 {
	most := r.Limits.Growth
	if !loads(phase) {
		return most
	}
	for _, p := range r.pairs() {
		if p.whole.Phase == referencePhase && p.half.Took >= 100*time.Millisecond { // less cannot be read to a tenth
			most = max(most, tolerance*over(p.whole.Took, p.half.Took))
		}
	}
	return most
}

// loads reports whether a phase is a loading of Redis.
func loads(name string) bool {
	return slices.ContainsFunc(phases, func(p phase) bool { return p.name == name && p.loads })
}
