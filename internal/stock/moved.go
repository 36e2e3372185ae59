package stock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/order"
)

// A slot of a Cluster moves key by key while its servers answer. A server runs a script if it has all keys
// of the script. It answers TRYAGAIN and runs nothing if some keys are on the other server, or if a key does
// not exist anywhere. So all keys of a shard always exist (clear.lua). A shard is half moved from the first to
// the last of its ten keys, and calls wait that long.
//
// A moved shard is on another server than the one that it was loaded on. So is a shard whose replica took the
// master's place without the last writes. Only the second is loaded again:
//
//	the server is another one ─▶ the noted one runs on, and no master is a replica
//	                             that took another's place since ─▶ moved: the new one is noted
//	                          ─▶ otherwise: load again

// movingWait is for how long calls wait for a shard, from the first that met it half moved. If its
// mover has died, calls would wait for ever, with the permits that buyers of other shards need.
const (
	movingWait  = time.Second
	movingPause = 5 * time.Millisecond
)

// newcomerAge is how long an unknown server must have been up. Then it has not restarted, with older
// data, since a slot was moved to it.
const newcomerAge = 10 * time.Second

// halfMoved keeps which shards were met half moved.
type halfMoved struct {
	mu sync.Mutex
	at map[string]struct{ first, last time.Time }
}

// wait reports whether a call that met a half moved shard is made again, after a pause.
func (m *halfMoved) wait(ctx context.Context, shard string, err error) bool {
	if !redis.IsTryAgainError(err) || !m.mayWait(shard, time.Now()) {
		return false
	}
	select {
	case <-time.After(movingPause):
		return true
	case <-ctx.Done():
		return false
	}
}

func (m *halfMoved) mayWait(shard string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for other, at := range m.at {
		if now.Sub(at.last) > movingWait {
			delete(m.at, other)
		}
	}
	at, known := m.at[shard]
	if !known {
		at.first = now
	}
	at.last = now
	m.at[shard] = at
	return now.Sub(at.first) < movingWait
}

// makeKeys makes the keys of shards that do not exist. While a slot is being moved, the server that it is moved to
// takes a command that names one such key. No shard looks loaded by it, because it makes no mark of an epoch.
func (s *Stock) makeKeys(ctx context.Context, couponID int64, shards []step) {
	_, _ = s.client.Pipelined(ctx, func(p redis.Pipeliner) error { // what fails here fails in what follows
		for _, one := range shards {
			k := s.keys(couponID, one.shard, len(keySuffixes))
			p.SetArgs(ctx, k[0], closedCounter, redis.SetArgs{Mode: "NX"})
			for _, hash := range k[1:6] {
				p.HSet(ctx, hash, "made", 1)
			}
			p.SAdd(ctx, k[6], "made")
			p.XGroupCreateMkStream(ctx, k[7], consumerGroup, "0")
			p.XGroupCreateMkStream(ctx, k[8], consumerGroup, "0")
			p.ZAdd(ctx, k[9], redis.Z{Score: math.Inf(1), Member: "mark"})
		}
		return nil
	})
}

// moved is what loaded.lua says of a shard on another server than it was loaded on.
type moved struct {
	shard    int
	noted    string   // the server that it was loaded on
	masters  []string // that there were then
	here     string
	promoted bool // the server was a replica
	age      time.Duration
}

func parseMoved(shard int, answer []string) (moved, error) {
	if len(answer) != 6 {
		return moved{}, fmt.Errorf("an answer of %d parts: %q", len(answer), answer)
	}
	var p parser
	age := time.Duration(p.number(answer[5])) * time.Second
	return moved{
		shard: shard, noted: answer[1], masters: strings.Split(answer[2], ","),
		here: answer[3], promoted: promoted(answer[4]), age: age,
	}, p.err
}

// promoted reports whether a server was a replica of the one with this id of a replication.
func promoted(replid2 string) bool { return strings.Trim(replid2, "0") != "" }

// adopt notes for shards that were moved with all of their data where they are, and reports whether
// all were.
func (s *Stock) adopt(ctx context.Context, couponID, epoch int64, all []moved) (bool, error) {
	cluster, is := s.client.(*redis.ClusterClient)
	if !is {
		return false, nil
	}
	running, masters, err := serversOf(ctx, cluster)
	if err != nil {
		return false, err
	}
	for _, m := range all {
		if m.here == "" || !running[m.noted] || m.isStrange(server{m.here, m.promoted, m.age}) || slices.ContainsFunc(masters, m.isStrange) {
			return false, nil
		}
	}
	for _, m := range all {
		now := strings.Join(append(ids(masters), m.here), ",")
		answer, err := s.run(ctx, adoptScript, couponID, m.shard, epoch, s.deploymentID(), m.noted, m.here, now)
		if err != nil || answer[0] != "OK" {
			return false, err
		}
	}
	return true, nil
}

// isStrange reports whether a master may have lost writes that came after the shard was loaded: it
// took another's place, or restarted.
func (m moved) isStrange(other server) bool {
	return !slices.Contains(m.masters, other.id) && (other.promoted || other.age < newcomerAge)
}

// server describes a server by its own answers.
type server struct {
	id       string // of its process
	promoted bool
	age      time.Duration
}

func ids(all []server) (names []string) {
	for _, one := range all {
		names = append(names, one.id)
	}
	slices.Sort(names)
	return names
}

// masters returns the ids of the masters of a Cluster, nothing for a single server. One that does
// not answer is left out: it is strange to every loaded shard.
func (s *Stock) masters(ctx context.Context) []string {
	cluster, is := s.client.(*redis.ClusterClient)
	if !is {
		return nil
	}
	_, masters, _ := serversOf(ctx, cluster)
	return ids(masters)
}

// serversOf returns the servers of a Cluster that run, and those of them that are masters and have
// slots. The error is that of a master which does not answer.
func serversOf(ctx context.Context, cluster *redis.ClusterClient) (running map[string]bool, masters []server, err error) {
	var mu sync.Mutex
	running = map[string]bool{}
	err = cluster.ForEachShard(ctx, func(ctx context.Context, node *redis.Client) error {
		one, err := identityOf(ctx, node)
		if err == nil {
			mu.Lock()
			running[one.id] = true
			mu.Unlock()
		}
		return nil // of a replica that is away nothing is needed
	})
	if err != nil {
		return nil, nil, fmt.Errorf("%w: the servers of the cluster: %w", order.ErrUnavailable, err)
	}
	err = cluster.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error {
		one, err := identityOf(ctx, node)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		masters = append(masters, one)
		return nil
	})
	if err != nil {
		return nil, masters, fmt.Errorf("%w: the masters of the cluster: %w", order.ErrUnavailable, err)
	}
	return running, masters, nil
}

func identityOf(ctx context.Context, node *redis.Client) (server, error) {
	var about, replication *redis.StringCmd
	_, err := node.Pipelined(ctx, func(p redis.Pipeliner) error {
		about, replication = p.Info(ctx, "server"), p.Info(ctx, "replication")
		return nil
	})
	if err != nil {
		return server{}, err //nolint:wrapcheck // the caller does
	}
	id := infoField(about.Val(), "run_id")
	seconds, err := strconv.Atoi(infoField(about.Val(), "uptime_in_seconds"))
	if err == nil && id == "" {
		err = errors.New("it has no id")
	}
	return server{id, promoted(infoField(replication.Val(), "master_replid2")), time.Duration(seconds) * time.Second}, err
}

// infoField returns a value of the answer to INFO.
func infoField(text, name string) string {
	for line := range strings.Lines(text) {
		if key, value, found := strings.Cut(strings.TrimSpace(line), ":"); found && key == name {
			return value
		}
	}
	return ""
}
