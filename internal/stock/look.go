package stock

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

// The restorer looks at every coupon again and again, and most coupons are idle. Three things make a look cheap.
// The instance asks each server once a second which server it is, so the script need not. The instances share the
// coupons by claims. And an instance seldom looks at a coupon that no buyer wants.

// lookKey starts the keys of claims. They are in one slot, so one round trip claims many coupons. An instance that
// does not know these keys looks at all coupons.
const lookKey = "{fleet}:look:"

// knownServers are the servers as the last call of Servers found them.
type knownServers struct {
	mu    sync.Mutex
	ids   map[string]string // by address; "" of the only server
	sizes map[string]int64  // the number of keys, by address
	falls int               // how often a server had lost most of its keys
}

func (k *knownServers) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.ids)
}

// embeddedServer is the id of a server that cannot tell its own. server.lua has the same word.
const embeddedServer = "embedded"

// Servers implements coupon.Shards. The id of a server that does not answer is a question mark.
func (s *Stock) Servers(ctx context.Context) string {
	ids, sizes := map[string]string{}, map[string]int64{}
	if cluster, is := s.client.(*redis.ClusterClient); is {
		var mu sync.Mutex
		_ = cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
			id, size := askServer(ctx, node)
			mu.Lock()
			defer mu.Unlock()
			ids[node.Options().Addr], sizes[node.Options().Addr] = id, size
			return nil
		})
	} else {
		ids[""], sizes[""] = askServer(ctx, s.client)
	}
	k := &s.servers
	k.mu.Lock()
	defer k.mu.Unlock()
	for addr, size := range sizes {
		if size < k.sizes[addr]/2 {
			k.falls++
		}
	}
	k.ids, k.sizes = ids, sizes
	all := slices.Sorted(maps.Values(ids))
	return strings.Join(append(all, strconv.Itoa(k.falls)), " ")
}

// unknownServer is the id of a server that did not tell its own.
const unknownServer = "?"

func askServer(ctx context.Context, node redis.Cmdable) (id string, keys int64) {
	var about, size *redis.StringCmd
	_, _ = node.Pipelined(ctx, func(p redis.Pipeliner) error {
		about, size = p.Info(ctx, "server"), p.Info(ctx, "keyspace")
		return nil
	})
	id = infoField(about.Val(), "run_id")
	switch err := about.Err(); {
	case err != nil && strings.Contains(err.Error(), "section (server) is not supported"):
		id = embeddedServer
	case err != nil || id == "":
		id = unknownServer
	}
	return id, keysIn(size.Val())
}

// keysIn returns the number of keys in the answer to INFO keyspace: db0:keys=7,expires=2,avg_ttl=0. The embedded server
// does not tell it.
func keysIn(text string) (keys int64) {
	for line := range strings.Lines(text) {
		_, about, _ := strings.Cut(line, ":keys=")
		count, _, _ := strings.Cut(about, ",")
		var p parser
		keys += p.number(count)
	}
	return keys
}

// serverOf returns the id of the server that has a key, or "" if it is not known.
func (s *Stock) serverOf(ctx context.Context, key string) string {
	addr := ""
	if cluster, is := s.client.(*redis.ClusterClient); is {
		node, err := cluster.MasterForKey(ctx, key)
		if err != nil {
			return ""
		}
		addr = node.Options().Addr
	}
	s.servers.mu.Lock()
	defer s.servers.mu.Unlock()
	if id := s.servers.ids[addr]; id != unknownServer {
		return id
	}
	return ""
}

// Requested implements coupon.Shards.
func (s *Stock) Requested() map[int64]bool {
	all := map[int64]bool{}
	s.asked.Range(func(id, _ any) bool {
		s.asked.Delete(id)
		all[id.(int64)] = true //nolint:forcetypeassert // noteAsked stores nothing else
		return true
	})
	return all
}

// noteAsked notes that a request wants a unit of the coupon.
func (s *Stock) noteAsked(couponID int64) {
	if _, noted := s.asked.Load(couponID); !noted {
		s.asked.Store(couponID, true)
	}
}

// Claim implements coupon.Shards. It returns every coupon in which a script was cut short here: only this instance
// knows of it.
func (s *Stock) Claim(ctx context.Context, ids []int64, within time.Duration) ([]int64, error) {
	claims := make([]*redis.BoolCmd, len(ids))
	_, err := s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
		for i, id := range ids {
			claims[i] = p.SetNX(ctx, s.prefix+lookKey+strconv.FormatInt(id, 10), 1, max(within, time.Millisecond))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%w: claim coupons: %w", order.ErrUnavailable, err)
	}
	var claimed []int64
	for i, claim := range claims {
		_, cut := s.halfDone.Load(ids[i])
		if claim.Val() || cut {
			claimed = append(claimed, ids[i])
		}
	}
	return claimed, nil
}

// LoadedAll implements coupon.Shards. Unlike Loaded it believes what Servers has found.
func (s *Stock) LoadedAll(ctx context.Context, all []coupon.Coupon) (loaded []bool, errs []error) {
	loaded, errs = make([]bool, len(all)), make([]error, len(all))
	elsewhere := s.lookAll(ctx, all, s.serverOf, loaded, errs)
	for i, c := range all {
		if errs[i] == nil && loaded[i] && len(elsewhere[i]) > 0 {
			loaded[i], errs[i] = s.adoptOr(ctx, c.ID, c.Epoch, c.Shards, elsewhere[i])
		}
	}
	return loaded, errs
}

// One round trip asks this many shards, of one coupon or many: shardsPerTrip with a script or a few commands each,
// countersPerTrip with one command each. The servers are busy with it for a few milliseconds at most.
const (
	shardsPerTrip   = 256
	countersPerTrip = 1024
)

// lookAll asks each shard of each coupon whether it is open with the epoch. It returns, for each coupon, the shards
// that are on another server than noted. If known names the server of a shard, the script asks no server.
func (s *Stock) lookAll(
	ctx context.Context, all []coupon.Coupon, known func(ctx context.Context, key string) string, loaded []bool, errs []error,
) (elsewhere [][]moved) {
	elsewhere = make([][]moved, len(all))
	for i, c := range all {
		loaded[i] = c.Shards > 0 && !s.isHalfDone(c.ID, c.Epoch)
	}
	for trip := range slices.Chunk(shardsOf(all), shardsPerTrip) {
		cmds := s.runTrip(ctx, loadedScript, all, trip, func(c coupon.Coupon, key string) []any {
			return []any{c.Epoch, s.deploymentID(), known(ctx, key)}
		})
		for n, cmd := range cmds {
			i, shard := trip[n].coupon, trip[n].shard
			answer, err := cmd.StringSlice()
			if err == nil && len(answer) > 1 {
				var m moved
				m, err = parseMoved(shard, answer)
				elsewhere[i] = append(elsewhere[i], m)
			}
			if err != nil {
				s.noteLayout(shard, all[i].ID, err)
				if errs[i] == nil {
					errs[i] = fmt.Errorf("%w: shard %d of coupon %d: %w", order.ErrUnavailable, shard, all[i].ID, err)
				}
				loaded[i] = false
				continue
			}
			loaded[i] = loaded[i] && (answer[0] == "YES" || answer[0] == "MOVED")
		}
	}
	return elsewhere
}

// shardOf is a shard of the coupon at an index of a list.
type shardOf struct{ coupon, shard int }

// shardsOf lists the shards of all coupons.
func shardsOf(all []coupon.Coupon) (shards []shardOf) {
	for i, c := range all {
		for shard := range c.Shards {
			shards = append(shards, shardOf{i, shard})
		}
	}
	return shards
}

// runTrip runs a script on shards in one round trip, and again on those whose servers do not know the script.
func (s *Stock) runTrip(
	ctx context.Context, sc script, all []coupon.Coupon, shards []shardOf, args func(c coupon.Coupon, key string) []any,
) []*redis.Cmd {
	return s.evalTrip(ctx, sc, len(shards), func(n int) ([]string, []any) {
		c := all[shards[n].coupon]
		k := s.keys(c.ID, shards[n].shard, sc.keys)
		return k, args(c, k[0])
	})
}

// evalTrip runs a script several times in one round trip, by the SHA-1 of its text. In a second round trip it sends the
// text to the servers that do not know the script. of returns the keys and the arguments of a run.
func (s *Stock) evalTrip(ctx context.Context, sc script, runs int, of func(n int) (keys []string, args []any)) []*redis.Cmd {
	cmds := make([]*redis.Cmd, runs)
	send := func(wanted func(n int) bool, eval func(context.Context, redis.Scripter, []string, ...any) *redis.Cmd) {
		_, _ = s.client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for n := range cmds {
				if wanted(n) {
					keys, args := of(n)
					cmds[n] = eval(ctx, p, keys, args...)
				}
			}
			return nil
		})
	}
	send(func(int) bool { return true }, sc.EvalSha)
	forgotten := make([]bool, len(cmds))
	for n, cmd := range cmds {
		forgotten[n] = redis.HasErrorPrefix(cmd.Err(), "NOSCRIPT")
	}
	if slices.Contains(forgotten, true) {
		send(func(n int) bool { return forgotten[n] }, sc.Eval)
	}
	return cmds
}
