package bench

import "slices"

// sale is the state of the sale that a workload meets.
type sale int

const (
	enough    sale = iota // one unit for each buyer
	soldOut               // no unit is left, and every instance knows it
	bought                // units are left, and each buyer has reached the limit
	notOpen               // the sale starts later
	bareRoute             // no sale: requests to the baseline route
	looking               // units are left, and visitors query the coupon
)

// path is one measured way through the program.
type path struct {
	name  string
	what  string   // the counted response, for the note under the table
	env   []string // settings of the program, in addition to those of every path
	sale  sale
	taps  int  // purchase requests of a round
	quick int  // purchase requests of a quick round
	keys  bool // each purchase request has an Idempotency-Key
}

// counts returns the code of the response that the path counts, or "" if the path counts orders.
func (p path) counts() string {
	switch p.sale {
	case soldOut:
		return "sold_out"
	case bought:
		return "limit_reached"
	case notOpen:
		return "not_started"
	case bareRoute:
		return "bare"
	case looking:
		return "looked"
	case enough:
	}
	return ""
}

// inTurn reports whether the path and the baseline route have interleaved runs. Such a path costs little more
// than the baseline route.
func (p path) inTurn() bool { return p.counts() != "" && p.sale != bareRoute }

const (
	batchOfOne = "SECKILL_ORDER__BATCH_SIZE=1"
	withTokens = "SECKILL_ORDER__PURCHASE_TOKEN=required" //nolint:gosec // no secret
	modeQueue  = "SECKILL_ORDER__MODE=queue"
	noLock     = "SECKILL_LOCK__BACKEND=none"
	// The queue has room for every purchase request of a round, because the path does not measure refusals.
	queueLength = "SECKILL_ORDER__QUEUE_CAPACITY=60000"
)

// The names of the paths that the report compares with others.
const (
	bare   = "bare route"
	batch  = "batch"
	single = "batches of one"
	queue  = "queue"
	look   = "look"

	soldOutPath  = "sold out"
	soldOutKeys  = "sold out, keys"
	limitReached = "limit reached"
)

// paths lists every measured path. The paths whose runs are interleaved with the baseline route come last. The
// report also compares each other path with the last round of the baseline route before it. If this build rejects
// the settings of a path, the benchmark skips the path and reports it.
var paths = []path{
	{bare, "a gin route that only answers JSON", nil, bareRoute, 80_000, 4000, false},
	{batch, "201 after the commit, every step once for many orders", nil, enough, 60_000, 1500, false},
	{"purchase tokens", "the same with a purchase token for each, asked for before", []string{withTokens}, enough, 60_000, 1500, false},
	{single, "201 after the commit, each order by itself", []string{batchOfOne}, enough, 8000, 500, false},
	{"batch, no lock", "the same without the users' locks", []string{noLock}, enough, 60_000, 1500, false},
	{"single, no lock", "the same without the users' locks", []string{batchOfOne, noLock}, enough, 8000, 500, false},
	{queue, "202, polled until the row is committed", []string{modeQueue, queueLength}, enough, 60_000, 1500, false},
	{soldOutPath, "409 sold_out", nil, soldOut, 120_000, 4000, false},
	{soldOutKeys, "the same to taps with a key, whose earlier orders are looked for", nil, soldOut, 120_000, 4000, true},
	{limitReached, "409 limit_reached", nil, bought, 80_000, 2000, false},
	{"not started", "403 not_started", nil, notOpen, 120_000, 4000, false},
	{look, "the coupon, to a visitor without a token", nil, looking, 120_000, 4000, false},
}

func pathCalled(name string) path {
	return paths[slices.IndexFunc(paths, func(p path) bool { return p.name == name })]
}
