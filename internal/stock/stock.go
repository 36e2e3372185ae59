// Package stock keeps a coupon's units in N Redis counters, so that no single key is hot.
//
//	coupon 7, 4 shards          slot of {7:0} │ {7:1} │ {7:2} │ {7:3}
//	                                  stock   │ stock │ stock │ stock
//	user ──hash──▶ home shard ─────▶  holds   │ holds │ holds │ holds
//	               empty? a sibling   buyers  │ …     │ …     │ …
//	               lends the unit     …
//
// All keys of a shard share its hash tag, so one script changes them together, and on a Redis
// Cluster the shards spread over the masters. The scripts are in lua/. Each checks everything that
// can refuse before it writes anything, and is idempotent by the request's or the order's id, so
// that a call whose reply was lost may be repeated. Those that every order needs do for each of
// many members what they do for one (many.go).
//
// What is not promised: that a hold becomes an order. Holds do not expire: the instance that took
// one confirms or releases it, and the reconciler does so for an instance that died. The database
// has the last word on what is sold.
package stock

import (
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
	keys int // it uses so many of the shard's keys, from the first
}

// lua makes a script of a file, after others with functions that it uses.
func lua(name string, keys int, after ...string) script {
	var text strings.Builder
	for _, file := range append(after, name) {
		text.WriteString(source(file))
	}
	return script{redis.NewScript(text.String()), keys}
}

// ScriptName is the name of the script with this SHA-1, or empty: servers tell of a script by
// that alone.
func ScriptName(sha string) string {
	for name, sc := range map[string]script{
		"reserve": reserveScript, "lend": lendScript, "confirm": confirmScript, "release": releaseScript, "restock": restockScript,
		"clear": clearScript, "adopt": adoptScript, "note": noteScript, "open": openScript, "loaded": loadedScript, "shard": shardScript,
		"holds": holdsScript, "raise": raiseScript,
		"list": listScript, "free": freeScript, "acknowledge": ackScript, "deadletter": deadLetterScript,
	} {
		if sc.Hash() == sha {
			return name
		}
	}
	return ""
}

func source(name string) string {
	text, err := files.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic(err) // the file is compiled in
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
	holdsScript      = lua("holds", 10, "layout")
	listScript       = lua("list", 10)
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
	prefix   string // begins every key and channel
	cooldown time.Duration

	unmarkTimeout time.Duration

	log        *slog.Logger
	halfMoved  halfMoved
	newer      atomic.Pointer[newerLayout]
	halfDone   sync.Map     // coupon to the epoch in which a script was cut short
	deployment atomic.Value // the id of the database's, after the first heartbeat
}

// Scripter runs scripts, and commands with one key. With an error a command has no result.
type Scripter interface {
	redis.Scripter
	Process(ctx context.Context, cmd redis.Cmder) error
}

// New returns a Stock. For refusalTTL a coupon that was seen empty counts as sold out without I/O, and a buyer
// who was refused for the limit as one who is at it, unless a restock is announced.
func New(client redis.UniversalClient, refusalTTL time.Duration) *Stock {
	return &Stock{
		client: client, scripter: client, prefix: DefaultPrefix,
		soldOut: newSoldOutCache(refusalTTL), limited: newLimitCache(refusalTTL),
		log: slog.New(slog.DiscardHandler), halfMoved: halfMoved{at: map[string]struct{ first, last time.Time }{}},
		unmarkTimeout: defaultUnmarkTimeout,
	}
}

// WithScripter runs the calls of every order through path, in pipelines of the same client, for
// instance. It must be called before the Stock is used.
func (s *Stock) WithScripter(path Scripter) *Stock {
	s.scripter = path
	return s
}

// WithCooldown refuses a buyer whose order was cancelled or has expired another unit of the same coupon for
// so long after its unit has come back. A loading of the stock ends it. It must be called before the Stock is used.
func (s *Stock) WithCooldown(d time.Duration) *Stock {
	s.cooldown = d
	return s
}

// DefaultPrefix begins the names of all keys, unless WithPrefix sets another one.
const DefaultPrefix = "seckill:"

// WithPrefix sets the prefix of all keys and channels: deployments that share a Redis need
// different ones. It must be called before the Stock is used.
func (s *Stock) WithPrefix(prefix string) *Stock {
	s.prefix = prefix
	return s
}

// tag is the hash tag that brings a shard's keys into one slot.
func (s *Stock) tag(couponID int64, shard int) string {
	return s.prefix + "{" + strconv.FormatInt(couponID, 10) + ":" + strconv.Itoa(shard) + "}:"
}

// keySuffixes are what a shard's keys end with, in the order in which every script names them.
var keySuffixes = [...]string{"stock", "meta", "holds", "open", "buyers", "requests", "returned", "queue", "dead", "ages"}

// sentinelField is in every hash of a loaded shard, and a member of its set: Redis has no
// empty keys, and one that is missing was lost.
const sentinelField = "epoch"

// closedCounter is in the place of the counter of a shard that is being loaded.
const closedCounter = "closed"

// keys lists the first n of a shard's keys.
func (s *Stock) keys(couponID int64, shard, n int) []string {
	t, all := s.tag(couponID, shard), make([]string, n)
	for i := range all {
		all[i] = t + keySuffixes[i]
	}
	return all
}

// run executes a script on a shard and, because every script is idempotent, once
// more if the answer was lost. Any failure of Redis is order.ErrUnavailable.
func (s *Stock) run(ctx context.Context, sc script, couponID int64, shard int, args ...any) ([]string, error) {
	answer, _, err := s.runWithRetry(ctx, sc, couponID, shard, args...)
	return answer, err
}

// runWithRetry is run, and reports whether the script was sent a second time: then the first
// sending may still be on its way, and arrive after whatever is done next.
func (s *Stock) runWithRetry(ctx context.Context, sc script, couponID int64, shard int, args ...any) (
	answer []string, twice bool, err error,
) {
	k := s.keys(couponID, shard, sc.keys)
	answer, err = sc.Run(ctx, s.scripter, k, args...).StringSlice()
	for err != nil && s.halfMoved.wait(ctx, k[0], err) {
		answer, err = sc.Run(ctx, s.scripter, k, args...).StringSlice()
	}
	if err != nil { // what is run once more takes its own writes for done
		s.cutShort(ctx, couponID, err)
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

// errEmpty: this shard has no unit, which says nothing of the others.
var errEmpty = errors.New("stock: the shard is empty")

// refusals is what the scripts' words mean.
var refusals = map[string]error{
	"NOTLOADED": coupon.ErrNotLoaded,
	"STALE":     order.ErrStaleEpoch,
	"DUPLICATE": order.ErrDuplicate,
	"BUSY":      order.ErrBusy,
	"LIMIT":     order.ErrLimitReached,
	"EMPTY":     errEmpty,
	"FULL":      order.ErrOverloaded,
}
