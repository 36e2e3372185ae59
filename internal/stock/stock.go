// Package stock keeps a coupon's units in N Redis counters, so that no single key is hot.
//
//	coupon 7, 4 shards          slot of {7:0} │ {7:1} │ {7:2} │ {7:3}
//	                                  stock   │ stock │ stock │ stock
//	user ──hash──▶ home shard ─────▶  holds   │ holds │ holds │ holds
//	               empty? a sibling   buyers  │ …     │ …     │ …
//	               lends the unit     …
//
// All keys of a shard share its hash tag, so one script changes them together. On a Redis Cluster the shards spread
// over the masters. The scripts are in lua/. Each script does all checks before it writes anything. It is idempotent
// by the request's or the order's id, so the caller may repeat a call whose reply was lost. The scripts that every
// order needs run for many members at once, with the same steps for each member (many.go).
//
// The package does not promise that a hold becomes an order. Holds do not expire. The instance that took a hold
// confirms or releases it. If the instance dies, the reconciler confirms or releases the hold. The database decides
// which units are sold.
package stock

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

//go:embed lua/*.lua
var files embed.FS

// script is one atomic step on a shard.
type script struct {
	*redis.Script
	keys int // number of the shard's keys that it uses, from the first

	anyEpoch bool // it does not name an epoch; the first argument of every other script is the epoch
}

// ofAnyEpoch returns a script that does not name an epoch.
func (sc script) ofAnyEpoch() script {
	sc.anyEpoch = true
	return sc
}

// epoch returns the epoch that a run with these arguments is for, or epochUnknown.
func (sc script) epoch(args []any) int64 {
	if sc.anyEpoch || len(args) == 0 {
		return epochUnknown
	}
	epoch, _ := args[0].(int64)
	return epoch
}

// lua returns the script of a file. The files in after come first and have the functions that it uses.
func lua(name string, keys int, after ...string) script {
	var text strings.Builder
	for _, file := range append(after, name) {
		text.WriteString(source(file))
	}
	sc := script{Script: redis.NewScript(text.String()), keys: keys}
	scriptNames[sc.Hash()] = name
	return sc
}

// scriptNames maps the SHA-1 of each script to the name of its file. Only lua writes to it, before the program starts.
var scriptNames = map[string]string{}

// ScriptName returns the name of the script with this SHA-1, or an empty string. Servers identify a script only by
// its SHA-1.
func ScriptName(sha string) string { return scriptNames[sha] }

func source(name string) string {
	text, err := files.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // the binary contains the file
	}
	return string(text)
}

var (
	reserveScript    = lua("reserve", 10, "layout", "counter", "clock", "enqueue", "many")
	lendScript       = lua("lend", 10, "layout", "counter", "clock", "enqueue")
	confirmScript    = lua("confirm", 10, "layout", "many")
	releaseScript    = lua("release", 10, "layout", "counter")
	restockScript    = lua("restock", 7, "layout", "counter", "clock")
	clearScript      = lua("clear", 10, "layout", "server", "exist")
	noteScript       = lua("note", 5, "layout", "counter")
	openScript       = lua("open", 2, "layout", "server", "counter")
	raiseScript      = lua("raise", 2, "layout", "counter")
	loadedScript     = lua("loaded", 10, "layout", "server", "counter", "exist")
	adoptScript      = lua("adopt", 10, "server")
	shardScript      = lua("shard", 10, "counter")
	holdsScript      = lua("holds", 10, "layout").ofAnyEpoch()
	listScript       = lua("list", 10).ofAnyEpoch()
	freeScript       = lua("free", 10)
	ackScript        = lua("acknowledge", 8, "layout")
	deadLetterScript = lua("deadletter", 9, "layout")
)

// Stock is the sharded stock of all coupons on one Redis: a server, a Sentinel
// group or a Cluster.
type Stock struct {
	client   redis.UniversalClient
	scripter Scripter // for the calls of every order: the client, or pipelines of it
	soldOut  *soldOutCache
	limited  *limitCache
	prefix   string // the start of every key and channel
	cooldown time.Duration

	unitsPerShard int64
	unmarkTimeout time.Duration

	log        *slog.Logger
	halfMoved  halfMoved
	newer      atomic.Pointer[newerLayout]
	servers    knownServers
	asked      sync.Map     // the coupons of which a unit was asked for since the last call of Asked
	halfDone   sync.Map     // maps a coupon to the epoch in which a script stopped in its middle
	deployment atomic.Value // the id of the database's deployment, after the first heartbeat
}

// Scripter runs scripts, and commands with one key. A command with an error has no result.
type Scripter interface {
	redis.Scripter
	Process(ctx context.Context, cmd redis.Cmder) error
}

// DefaultPrefix starts the names of all keys, unless Options.Prefix sets another prefix.
const DefaultPrefix = "seckill:"

// Options are the settings of a Stock. The zero value is valid.
type Options struct {
	// RefusalTTL is how long the Stock caches refusals. In this time it rejects requests for an empty coupon, and
	// requests of a buyer at the limit, without I/O. The announcement of a restock ends a cached refusal.
	RefusalTTL time.Duration
	// Cooldown is the cooldown of a buyer whose order was cancelled or has expired. It starts when the unit comes
	// back. Until it is over, the Stock rejects the buyer's requests for the same coupon. A loading of the stock ends
	// the cooldown.
	Cooldown time.Duration
	// Scripter sends the calls of every order, for example in pipelines of the same client. nil is the client.
	Scripter Scripter
	// Prefix starts the names of all keys and channels. Deployments that share a Redis need different prefixes. An
	// empty string is DefaultPrefix.
	Prefix string
	// UnitsPerShard bounds how many units of a coupon ShardsFor puts into one shard. 0 leaves the bound to the servers.
	UnitsPerShard int64
	// Log gets a warning for each coupon in which a script ended in its middle. nil discards the warnings.
	Log *slog.Logger
}

// New returns a Stock on a Redis.
func New(client redis.UniversalClient, o Options) *Stock {
	if o.Scripter == nil {
		o.Scripter = client
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Stock{
		client: client, scripter: o.Scripter, prefix: cmp.Or(o.Prefix, DefaultPrefix), cooldown: o.Cooldown, log: o.Log,
		soldOut: newSoldOutCache(o.RefusalTTL), limited: newLimitCache(o.RefusalTTL),
		halfMoved: halfMoved{at: map[string]struct{ first, last time.Time }{}}, unmarkTimeout: defaultUnmarkTimeout,
		unitsPerShard: o.UnitsPerShard,
	}
}

// tag returns the start of a shard's keys. Its hash tag brings them into one slot.
func (s *Stock) tag(couponID int64, shard int) string {
	return s.prefix + "{" + strconv.FormatInt(couponID, 10) + ":" + strconv.Itoa(shard) + "}:"
}

// keySuffixes lists the ends of a shard's keys, in the order in which every script names the keys.
var keySuffixes = [...]string{"stock", "meta", "holds", "open", "buyers", "requests", "returned", "queue", "dead", "ages"}

// sentinelField is a field of every hash and a member of the set of a loaded shard. Redis deletes empty keys, so
// without this field a lost key would look like an empty one.
const sentinelField = "epoch"

// closedCounter replaces the counter of a shard during its loading.
const closedCounter = "closed"

// keys returns the first n of a shard's keys.
func (s *Stock) keys(couponID int64, shard, n int) []string {
	t, all := s.tag(couponID, shard), make([]string, n)
	for i := range all {
		all[i] = t + keySuffixes[i]
	}
	return all
}

// run executes a script on a shard. If the answer is lost, run repeats the script once, because every script is
// idempotent. On any failure of Redis it returns order.ErrUnavailable.
func (s *Stock) run(ctx context.Context, sc script, couponID int64, shard int, args ...any) ([]string, error) {
	answer, _, err := s.runWithRetry(ctx, sc, couponID, shard, args...)
	return answer, err
}

// runWithRetry is run, and also reports whether it sent the script twice. In this case the first command may still
// be on its way, and it may arrive after the caller's next step.
func (s *Stock) runWithRetry(ctx context.Context, sc script, couponID int64, shard int, args ...any) (
	answer []string, twice bool, err error,
) {
	k := s.keys(couponID, shard, sc.keys)
	answer, err = sc.Run(ctx, s.scripter, k, args...).StringSlice()
	for err != nil && s.halfMoved.wait(ctx, k[0], err) {
		answer, err = sc.Run(ctx, s.scripter, k, args...).StringSlice()
	}
	if err != nil { // a repeated script treats its earlier writes as done
		s.cutShort(ctx, couponID, sc.epoch(args), err)
	}
	if twice = err != nil && !redis.IsTryAgainError(err) && ctx.Err() == nil; twice {
		answer, err = sc.Run(ctx, s.scripter, k, args...).StringSlice()
	}
	if err != nil {
		return nil, twice, fmt.Errorf("%w: shard %d of coupon %d: %w", order.ErrUnavailable, shard, couponID, err)
	}
	if len(answer) == 0 {
		return nil, twice, fmt.Errorf("%w: shard %d of coupon %d gave an empty answer", order.ErrUnavailable, shard, couponID)
	}
	return answer, twice, nil
}

// errEmpty reports that this shard has no unit. Other shards may have units.
var errEmpty = errors.New("stock: the shard is empty")

// refusals maps the words that the scripts return to errors.
var refusals = map[string]error{
	"NOTLOADED": coupon.ErrNotLoaded,
	"STALE":     order.ErrStaleEpoch,
	"DUPLICATE": order.ErrDuplicate,
	"BUSY":      order.ErrBusy,
	"LIMIT":     order.ErrLimitReached,
	"EMPTY":     errEmpty,
	"FULL":      order.ErrOverloaded,
}
