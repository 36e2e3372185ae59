package bench

import "slices"

// sale is the state of the sale that a workload meets.
type sale int

const (
	enough    sale = iota // a unit for every buyer
	soldOut               // no unit left, and every instance knows
	bought                // units, and buyers that have reached their limit
	notOpen               // a sale that begins later
	bareRoute             // no sale: the bare route
	looking               // units, and visitors who look at them
)

// path is one way through the program that is measured.
type path struct {
	name  string
	what  string   // what is counted, for the note under the table
	env   []string // settings of the program, beyond those of every path
	sale  sale
	taps  int  // of a round
	quick int  // of a quick one
	keys  bool // each tap has an Idempotency-Key
}

// counts returns the code of the refusal that the path counts, or "" for orders.
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

// inTurn reports whether the path is taken in turn with the bare route: it costs little more than that.
func (p path) inTurn() bool { return p.counts() != "" && p.sale != bareRoute }

const (
	batchOfOne  = "SECKILL_ORDER__BATCH_SIZE=1"
	rowsByShard = "SECKILL_STOCK__ROWS=shard"
	withTokens  = "SECKILL_ORDER__TOKEN=required" //nolint:gosec // no secret
	modeQueue   = "SECKILL_ORDER__MODE=queue"
	noLock      = "SECKILL_LOCK__BACKEND=none"
	// A whole row may be in the queue at once: refusals are not what is measured.
	queueLength = "SECKILL_ORDER__QUEUE_CAPACITY=60000"
)

// The names of paths that others are compared with.
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

// paths lists everything that is measured. Those that take turns with the bare route come last: each of the others is
// compared with the round of it just before, too. A path whose settings this build refuses is left out and
// reported.
var paths = []path{
	{bare, "a gin route that only answers JSON", nil, bareRoute, 80_000, 4000, false},
	{batch, "201 after the commit, every step once for many orders", nil, enough, 60_000, 1500, false},
	{"purchase tokens", "the same with a purchase token for each, asked for before", []string{withTokens}, enough, 60_000, 1500, false},
	{single, "201 after the commit, each order by itself", []string{batchOfOne}, enough, 8000, 500, false},
	{"batch, rows", "batch, with the coupon's stock in a row for each shard", []string{rowsByShard}, enough, 60_000, 1500, false},
	{"single, rows", "batches of one, with the coupon's stock in a row for each shard", []string{batchOfOne, rowsByShard}, enough, 8000, 500, false},
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
