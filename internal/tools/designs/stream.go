package designs

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/order"
)

// stream is a stream of orders in Redis with a consumer group, and a hash of the same orders by id and by request. An
// order stays in both until a worker acknowledges it. A script adds it, together with its own work.
type stream struct {
	redis    redis.UniversalClient
	entries  string // the key of the stream
	accepted string // the key of the hash
	worker   string // the consumer
	stop     context.CancelFunc
	running  sync.WaitGroup
}

func newStream(client redis.UniversalClient, prefix string) *stream {
	return &stream{
		redis: client, entries: prefix + "entries", accepted: prefix + "accepted", worker: rand.Text(), stop: func() {},
	}
}

// run calls work again and again until Close. It rests after an error, because a store may be back then.
func (s *stream) run(log *slog.Logger, work func(ctx context.Context) error) {
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.running.Go(func() {
		for ctx.Err() == nil {
			if err := work(ctx); err != nil && rest(ctx, 100*time.Millisecond) == nil {
				log.WarnContext(ctx, "queue entries failed", "error", err)
			}
		}
	})
}

// Close waits for the batch in progress. The entries after it stay in the stream.
func (s *stream) Close(context.Context) error {
	s.stop()
	s.running.Wait()
	return nil
}

// Accepted returns an order that is only in Redis, by its id or its request.
func (s *stream) Accepted(ctx context.Context, field string, userID int64) (o order.Order, err error) {
	text, err := s.redis.HGet(ctx, s.accepted, field).Bytes()
	if errors.Is(err, redis.Nil) {
		return o, order.ErrNotFound
	}
	if err == nil {
		err = json.Unmarshal(text, &o) //nolint:musttag // this program has written it
	}
	if err == nil && o.UserID != userID {
		return order.Order{}, order.ErrNotFound
	}
	return o, err //nolint:wrapcheck // the shop says what for
}

// Waiting returns the number of orders that are only in Redis, of all coupons.
func (s *stream) Waiting(ctx context.Context, _ int64) (int64, error) {
	fields, err := s.redis.HLen(ctx, s.accepted).Result()
	return fields / 2, err //nolint:wrapcheck // the shop says what for
}

// entry is an order that a worker has read.
type entry struct {
	id    string
	order order.Order
}

const (
	workers    = "workers"             // the consumer group
	entryBatch = 100                   // entries of one read at most
	entryBlock = 50 * time.Millisecond // how long a read waits for an entry
	entryIdle  = 2 * time.Second       // after this time an entry of another worker is claimed
)

// read returns entries of a worker that died, or new ones. It creates the group if there is none.
func (s *stream) read(ctx context.Context) ([]entry, error) {
	found, _, err := s.redis.XAutoClaim(ctx, &redis.XAutoClaimArgs{
		Stream: s.entries, Group: workers, Consumer: s.worker, MinIdle: entryIdle, Start: "0", Count: entryBatch,
	}).Result()
	if err != nil && strings.HasPrefix(err.Error(), "NOGROUP") {
		err = s.redis.XGroupCreateMkStream(ctx, s.entries, workers, "0").Err()
		if err != nil && strings.HasPrefix(err.Error(), "BUSYGROUP") { // another worker has just created it
			err = nil
		}
	}
	if err == nil && len(found) == 0 {
		found, err = s.readNew(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("read the stream: %w", err)
	}
	entries := make([]entry, len(found))
	for i, one := range found {
		entries[i].id = one.ID
		text, _ := one.Values["order"].(string)
		if err := json.Unmarshal([]byte(text), &entries[i].order); err != nil { //nolint:musttag // the same
			return nil, fmt.Errorf("read entry %s: %w", one.ID, err)
		}
	}
	return entries, nil
}

func (s *stream) readNew(ctx context.Context) ([]redis.XMessage, error) {
	streams, err := s.redis.XReadGroup(ctx, &redis.XReadGroupArgs{
		Group: workers, Consumer: s.worker, Streams: []string{s.entries, ">"}, Count: entryBatch, Block: entryBlock,
	}).Result()
	if errors.Is(err, redis.Nil) || err == nil && len(streams) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller says what for
	}
	return streams[0].Messages, nil
}

// orderField is the field of an order in a hash.
func orderField(id int64) string { return strconv.FormatInt(id, 10) }

// acknowledge removes entries from the stream and from the hash.
func (s *stream) acknowledge(ctx context.Context, entries ...entry) error {
	_, err := s.redis.Pipelined(ctx, func(p redis.Pipeliner) error {
		for _, e := range entries {
			p.HDel(ctx, s.accepted, orderField(e.order.ID), e.order.RequestID)
			p.XAck(ctx, s.entries, workers, e.id)
			p.XDel(ctx, s.entries, e.id)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("acknowledge %d entries: %w", len(entries), err)
	}
	return nil
}
