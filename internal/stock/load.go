package stock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// ErrInfoDenied means that a server does not identify itself: it could come back with older data
// unnoticed.
var ErrInfoDenied = errors.New("stock: the user of redis.username may not use INFO: allow it")

// buyersPerStep is how many buyers one command carries: few enough that other clients of the server
// do not wait.
const buyersPerStep = 250

// Load calls Fill and Open.
func (s *Stock) Load(ctx context.Context, l coupon.Load) error {
	if err := s.Fill(ctx, l); err != nil {
		return err
	}
	return s.Open(ctx, l)
}

// Fill puts an epoch's units and buyers into the shards, which stay closed:
//
//	clear every shard ─▶ note the buyers, a page at a time ─▶ note that these are all
//
// The number of shards is in the database's row, and changes with the epoch only. An instance that
// assumes another number is of an older epoch, and sells nothing. A shard that has the epoch or a
// newer one is not cleared. Each shard notes how far all have come. An interrupted filling, here or
// on another instance, goes on there. Two fillings at once note the same. A crash leaves shards
// without a counter, which is "not loaded" and never "sold out".
func (s *Stock) Fill(ctx context.Context, l coupon.Load) error {
	answers, err := s.begin(ctx, l)
	if err != nil {
		return err
	}
	after, err := lastNoted(answers)
	if err != nil {
		return fmt.Errorf("loading of coupon %d: %w", l.CouponID, err)
	}
	if err := s.noteAll(ctx, l, after); err != nil {
		return err
	}
	all := make([]step, l.Shards)
	for shard := range all {
		all[shard] = step{shard, []any{"all"}}
	}
	_, err = s.load(ctx, noteScript, l, all)
	return err
}

// begin begins the epoch on each shard. If a slot is being moved, begin first makes the shard's missing keys.
func (s *Stock) begin(ctx context.Context, l coupon.Load) ([][]string, error) {
	masters := strings.Join(s.masters(ctx), ",")
	steps := make([]step, l.Shards)
	for shard := range steps {
		steps[shard] = step{shard, []any{coupon.Share(l.Units, l.Shards, shard), masters, layout}}
	}
	answers, errs := s.runEach(ctx, clearScript, l, steps)
	elsewhere := slices.DeleteFunc(slices.Clone(steps), func(one step) bool {
		answer, err := answers[one.shard], errs[one.shard]
		return !redis.IsTryAgainError(err) && (err != nil || answer[0] != "ELSEWHERE")
	})
	switch {
	case len(elsewhere) > 0:
		s.makeKeys(ctx, l.CouponID, elsewhere)
	case errors.Join(errs...) == nil:
		return answers, loadError(l, steps, answers)
	}
	return s.load(ctx, clearScript, l, steps)
}

// lastNoted returns the id of the buyer up to whom every shard is filled: the smallest id that a shard has noted.
func lastNoted(begun [][]string) (int64, error) {
	after := int64(math.MaxInt64)
	for _, answer := range begun {
		if noted := answer[len(answer)-1]; noted != "all" {
			through, err := strconv.ParseInt(noted, 10, 64)
			if err != nil {
				return 0, fmt.Errorf("it has noted %q: %w", noted, err)
			}
			after = min(after, through)
		}
	}
	return after, nil
}

// noteAll notes the buyers after a user, and reads a page while it notes the one before.
func (s *Stock) noteAll(ctx context.Context, l coupon.Load, after int64) error {
	if l.Buyers == nil || after == math.MaxInt64 {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	pages := make(chan pageResult)
	go readAhead(ctx, l, after, pages)
	defer func() {
		cancel()
		for range pages {
		}
	}()
	for page := range pages {
		if page.err != nil {
			return page.err
		}
		if _, err := s.load(ctx, noteScript, l, noteSteps(l, after, page.Buyers)); err != nil {
			return err
		}
		after = page.Through
	}
	return ctx.Err()
}

// pageResult is a page that was read, or the error.
type pageResult struct {
	coupon.Page
	err error
}

func readAhead(ctx context.Context, l coupon.Load, after int64, pages chan<- pageResult) {
	defer close(pages)
	for {
		page, err := l.Buyers(ctx, after)
		if err == nil && page.Through == after {
			return
		}
		select {
		case pages <- pageResult{page, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
		after = page.Through
	}
}

// noteSteps returns the steps that note a page. They also record the pages before it, which every
// shard has by now.
func noteSteps(l coupon.Load, before int64, buyers []coupon.Buyer) []step {
	var all []step
	at := make([][]any, l.Shards)
	for _, b := range buyers {
		shard := coupon.Home(b.UserID, l.Shards)
		if at[shard] == nil {
			at[shard] = append(make([]any, 0, 2*buyersPerStep+1), before)
		}
		if at[shard] = append(at[shard], b.UserID, b.Units); len(at[shard]) == 2*buyersPerStep+1 {
			all = append(all, step{shard, at[shard]})
			at[shard] = nil
		}
	}
	for shard, args := range at {
		if args != nil {
			all = append(all, step{shard, args})
		}
	}
	return all
}

// Open opens the shards, each with its share. Open shards stay as they are. If one is missing, Open
// returns coupon.ErrPartiallyLoaded, even if others were opened just now: no buyer is admitted yet.
func (s *Stock) Open(ctx context.Context, l coupon.Load) error {
	steps := make([]step, l.Shards)
	for shard := range steps {
		steps[shard] = step{shard: shard}
	}
	if _, err := s.load(ctx, openScript, l, steps); err != nil {
		return err
	}
	s.soldOut.clear(l.CouponID)
	return s.AnnounceRestock(ctx, l.CouponID)
}

// step is a script's run on a shard: the arguments after the epoch.
type step struct {
	shard int
	args  []any
}

// load runs a script of the loading on many shards at once, and once more if a reply was lost: each
// of these scripts may be repeated. A newer epoch is coupon.ErrConflict, and a shard that has lost
// this one coupon.ErrPartiallyLoaded.
func (s *Stock) load(ctx context.Context, sc script, l coupon.Load, steps []step) ([][]string, error) {
	answers, err := s.runAll(ctx, sc, l, steps)
	if err != nil && ctx.Err() == nil {
		answers, err = s.runAll(ctx, sc, l, steps)
	}
	for err != nil && s.halfMoved.wait(ctx, s.tag(l.CouponID, 0)+"load", err) {
		answers, err = s.runAll(ctx, sc, l, steps)
	}
	if err != nil {
		return nil, err
	}
	return answers, loadError(l, steps, answers)
}

// loadError returns the error that a script of the loading has answered with on a shard, if any.
func loadError(l coupon.Load, steps []step, answers [][]string) error {
	for i, answer := range answers {
		shard := steps[i].shard
		switch answer[0] {
		case "OLDER":
			return fmt.Errorf("%w: a newer epoch than %d of coupon %d was begun", coupon.ErrConflict, l.Epoch, l.CouponID)
		case "TORN":
			return fmt.Errorf("%w: %w: shard %d of coupon %d", order.ErrUnavailable, coupon.ErrPartiallyLoaded, shard, l.CouponID)
		case "BLIND":
			return fmt.Errorf("%w: %w: shard %d of coupon %d", order.ErrUnavailable, ErrInfoDenied, shard, l.CouponID)
		}
	}
	return nil
}

// runAll is runEach with the first error.
func (s *Stock) runAll(ctx context.Context, sc script, l coupon.Load, steps []step) ([][]string, error) {
	answers, errs := s.runEach(ctx, sc, l, steps)
	for i, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("%w: shard %d of coupon %d: %w", order.ErrUnavailable, steps[i].shard, l.CouponID, err)
		}
	}
	return answers, nil
}

// stepsPerPipeline is how many scripts are sent to the servers together, in one round trip.
const stepsPerPipeline = 64

// runEach runs a script on many shards, and returns the answer or the error of each.
func (s *Stock) runEach(ctx context.Context, sc script, l coupon.Load, steps []step) ([][]string, []error) {
	cmds := make([]*redis.Cmd, 0, len(steps))
	for some := range slices.Chunk(steps, stepsPerPipeline) {
		cmds = append(cmds, s.evalTrip(ctx, sc, len(some), func(n int) ([]string, []any) {
			one := some[n]
			return s.keys(l.CouponID, one.shard, sc.keys), append([]any{l.Epoch, s.deploymentID()}, one.args...)
		})...)
	}
	answers, errs := make([][]string, len(cmds)), make([]error, len(cmds))
	for i, cmd := range cmds {
		if answers[i], errs[i] = cmd.StringSlice(); errs[i] == nil && len(answers[i]) == 0 {
			errs[i] = errors.New("an empty answer")
		}
	}
	return answers, errs
}

// Loaded reports whether every shard is open with the epoch, on the server that it was loaded on or
// moved to. Loaded calls all shards at once. One that does not respond is an error, even if the others
// respond. A shard in which a script was cut short is not as it was loaded.
func (s *Stock) Loaded(ctx context.Context, couponID, epoch int64, shards int) (bool, error) {
	loaded, elsewhere, err := s.look(ctx, couponID, epoch, shards)
	if err != nil || !loaded || len(elsewhere) == 0 {
		return loaded, err
	}
	return s.adoptOr(ctx, couponID, epoch, shards, elsewhere)
}

// adoptOr reports whether shards that are on another server than noted are loaded there.
func (s *Stock) adoptOr(ctx context.Context, couponID, epoch int64, shards int, elsewhere []moved) (bool, error) {
	if adopted, err := s.adopt(ctx, couponID, epoch, elsewhere); adopted || err != nil {
		return adopted, err
	}
	// Another instance may have noted the move since, and the old server may have ended after that.
	loaded, elsewhere, err := s.look(ctx, couponID, epoch, shards)
	return loaded && len(elsewhere) == 0, err
}

// look is lookAll for one coupon, and believes nothing that was found before.
func (s *Stock) look(ctx context.Context, couponID, epoch int64, shards int) (loaded bool, elsewhere []moved, err error) {
	all := []coupon.Coupon{{ID: couponID, Epoch: epoch, Shards: shards}}
	sound, errs := make([]bool, 1), make([]error, 1)
	found := s.lookAll(ctx, all, func(context.Context, string) string { return "" }, sound, errs)
	return sound[0], found[0], errs[0]
}
