package idworker

import (
	"context"
	_ "embed" // the script
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// marksKey is a hash: worker number → "<ms since 1970> <fence>". It never
// expires, and never has more than Numbers fields.
const marksKey = "{worker}:last"

//go:embed mark.lua
var markSource string

var markScript = redis.NewScript(markSource)

// highWaterMarks keeps in Redis the last moment that each worker number may have used.
type highWaterMarks struct {
	client redis.UniversalClient
	prefix string
}

// read returns the mark of number in milliseconds, 0 if it was never used.
func (m highWaterMarks) read(ctx context.Context, number int64) (int64, error) {
	v, err := m.client.HGet(ctx, m.prefix+marksKey, strconv.FormatInt(number, 10)).Result()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("idworker: read the mark of worker %d: %w", number, err)
	}
	return markOf(number, v)
}

// markOf parses the milliseconds, which stand before the fence of the writer.
func markOf(number int64, v string) (int64, error) {
	text, _, _ := strings.Cut(v, " ")
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("idworker: the mark of worker %d is %q: %w", number, v, err)
	}
	return ms, nil
}

// write sets the mark of number; ErrLeaseLost if a later holder has set one.
func (m highWaterMarks) write(ctx context.Context, number, ms int64, fence uint64) error {
	ok, err := markScript.Run(ctx, m.client, []string{m.prefix + marksKey}, number, ms, strconv.FormatUint(fence, 10)).Bool()
	switch {
	case err != nil:
		return fmt.Errorf("idworker: write the mark of worker %d: %w", number, err)
	case !ok:
		return fmt.Errorf("%w: worker %d has a later holder", ErrLeaseLost, number)
	default:
		return nil
	}
}
