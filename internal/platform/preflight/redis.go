package preflight

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// RedisUse is how the program uses a Redis.
type RedisUse struct {
	Username string // empty is the default user
	Prefix   string // of all keys and channels
	PoolSize int    // connections to each server
	Cluster  bool
}

// Redis returns what looks at one server that should take writes. Its error is that the server did not answer.
func (f *Findings) Redis(use RedisUse) func(ctx context.Context, server string, node redis.UniversalClient) error {
	return func(ctx context.Context, server string, node redis.UniversalClient) error {
		say := f.about(server)
		if err := rights(ctx, node, use, say); err != nil {
			return err
		}
		info, err := readInfo(ctx, node)
		if err != nil {
			return err
		}
		if info == nil {
			return nil // it may not be asked: told with the rights
		}
		set := settings(ctx, node)
		role(info, set, say)
		eviction(info, say)
		memory(info, say)
		persistence(info, set, say)
		connections(info, use.PoolSize, say)
		return write(ctx, node, use, say)
	}
}

// RedisAtWork returns a function that looks at one server while the program works with it. By one command it reads
// the role and the settings that an administrator can change meanwhile. It hands evicted the number of keys that the
// server has dropped since its start.
func (f *Findings) RedisAtWork(evicted func(server string, keys int64)) func(context.Context, string, redis.UniversalClient) error {
	return func(ctx context.Context, server string, node redis.UniversalClient) error {
		info, err := readInfo(ctx, node, "memory", "stats", "persistence", "replication")
		if err != nil || info == nil {
			return err
		}
		say := f.about(server)
		role(info, nil, say)
		eviction(info, say)
		persistence(info, nil, say)
		evicted(server, number(info["evicted_keys"]))
		return nil
	}
}

// readInfo reads sections of INFO, or all of it, or nothing if the user may not.
func readInfo(ctx context.Context, node redis.UniversalClient, sections ...string) (info map[string]string, err error) {
	text, err := node.Info(ctx, sections...).Result()
	if lacks(err) {
		return info, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read INFO: %w", err)
	}
	info = map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, is := strings.Cut(strings.TrimSpace(line), ":"); is {
			info[key] = value
		}
	}
	return info, nil
}

// settings reads what INFO does not tell; nil if CONFIG may not be used, which few
// services allow.
func settings(ctx context.Context, node redis.UniversalClient) map[string]string {
	all := map[string]string{}
	for _, name := range []string{"appendfsync", "min-replicas-to-write"} {
		got, err := node.ConfigGet(ctx, name).Result()
		if err != nil {
			return nil
		}
		all[name] = got[name]
	}
	return all
}

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func role(info, set map[string]string, say func(Level, string, string, string)) {
	const name = "role"
	if info["role"] != "master" {
		say(Refused, name, "it is a replica of "+info["master_host"]+":"+info["master_port"]+" and takes no writes",
			"set redis.addrs to the primary, or redis.mode to sentinel or cluster, which find it")
		return
	}
	need, have := number(set["min-replicas-to-write"]), number(info["connected_slaves"])
	if good, told := info["min_slaves_good_slaves"]; told {
		have = number(good)
	}
	if need > have {
		say(Refused, name, fmt.Sprintf("primary with %d good replicas of the %d of min-replicas-to-write: it takes no writes", have, need),
			"start the replicas, or lower min-replicas-to-write")
		return
	}
	say(Fine, name, fmt.Sprintf("primary, %d replicas", number(info["connected_slaves"])), "")
}

func eviction(info map[string]string, say func(Level, string, string, string)) {
	const name, keep = "eviction", "noeviction"
	policy := info["maxmemory_policy"]
	if policy != keep {
		say(Refused, name, "maxmemory-policy is "+policy+": it drops holds, buyers and locks when memory runs short",
			"CONFIG SET maxmemory-policy "+keep+", and in its configuration file")
		return
	}
	say(Fine, name, "maxmemory-policy is "+keep, "")
}

func memory(info map[string]string, say func(Level, string, string, string)) {
	const name, mib, most = "memory", 1 << 20, 80
	limit, used := number(info["maxmemory"]), number(info["used_memory"])
	switch {
	case limit == 0:
		say(Warning, name, fmt.Sprintf("maxmemory is not set, %d MiB used: the system may kill Redis when memory runs short", used/mib),
			"set maxmemory below the machine's memory")
	case used*100 > limit*most:
		say(Warning, name, fmt.Sprintf("%d of %d MiB used", used/mib, limit/mib), "raise maxmemory: about 200 bytes an order")
	default:
		say(Fine, name, fmt.Sprintf("%d of %d MiB used", used/mib, limit/mib), "")
	}
}

func persistence(info, set map[string]string, say func(Level, string, string, string)) {
	const name = "persistence"
	fsync, told := set["appendfsync"]
	switch {
	case info["aof_enabled"] != "1":
		say(Warning, name, "appendonly is no: after a crash of Redis sales are closed until they are loaded again, "+
			"and queued orders are void", "set appendonly yes and appendfsync everysec")
	case !told:
		say(Fine, name, "appendonly is yes; appendfsync cannot be read without CONFIG GET", "")
	case fsync == "no":
		say(Warning, name, "appendfsync is no: a crash of the machine loses up to half a minute", "set appendfsync everysec")
	default:
		say(Fine, name, "appendonly is yes, appendfsync is "+fsync, "")
	}
}

// extraConns is how many connections an instance has in addition to its pool, for messages.
const extraConns = 4

func connections(info map[string]string, pool int, say func(Level, string, string, string)) {
	const name = "connections"
	most, used := number(info["maxclients"]), number(info["connected_clients"])
	need := int64(pool + extraConns)
	if most == 0 {
		say(Fine, name, fmt.Sprintf("an instance needs up to %d", need), "")
		return
	}
	say(room(need, used, most), name, fmt.Sprintf("maxclients is %d, %d are connected, an instance needs up to %d", most, used, need),
		"lower redis.pool_size or raise maxclients")
}

// room judges the connections of a server: most are allowed, used are open, and an instance needs up to need more.
func room(need, used, most int64) Level {
	switch {
	case need > most:
		return Refused
	case used+need > most:
		return Warning
	}
	return Fine
}

// write writes a key of its own, which says more than any setting: the disk may be full,
// the memory used up, the replicas away. A node of a Cluster takes the key of its slots.
func write(ctx context.Context, node redis.UniversalClient, use RedisUse, say func(Level, string, string, string)) error {
	const tags = 256
	var err error
	for tag := range tags {
		key := fmt.Sprintf("%s{preflight:%d}:written", use.Prefix, tag)
		if err = node.Set(ctx, key, "1", time.Millisecond).Err(); err == nil || !redirected(err) {
			break
		}
	}
	switch {
	case err == nil:
		say(Fine, "writes", "taken", "")
	case answered(err):
		say(Refused, "writes", firstLine(err), "see the log of Redis")
	default:
		return fmt.Errorf("write: %w", err)
	}
	return nil
}
