package servers

import (
	"context"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// view is the cluster as one node sees it.
type view struct {
	ok       bool
	masters  map[string]bool // by address; those that own slots and are not known to be down
	known    map[string]bool // by address
	replicas int
}

func (r *Redis) clusterView(ctx context.Context) (view, error) {
	v := view{masters: map[string]bool{}, known: map[string]bool{}}
	err := r.ask(ctx, func(c *redis.Client) error {
		info, err := c.ClusterInfo(ctx).Result()
		if err != nil {
			return err //nolint:wrapcheck // ask wraps it
		}
		v.ok = fields(info)["cluster_state"] == "ok"
		nodes, err := c.ClusterNodes(ctx).Result()
		if err != nil {
			return err //nolint:wrapcheck // ask wraps it
		}
		for line := range strings.Lines(nodes) {
			v.add(strings.Fields(line))
		}
		return nil
	})
	return v, err
}

// add parses a line of CLUSTER NODES: id, ip:port@bus, flags, master, ping, pong, epoch, link, and
// the slots.
func (v *view) add(words []string) {
	const slots = 8
	if len(words) < slots {
		return
	}
	addr, _, _ := strings.Cut(words[1], "@")
	flags := strings.Split(words[2], ",")
	v.known[addr] = !slices.Contains(flags, "handshake")
	switch {
	case slices.Contains(flags, "fail"):
	case slices.Contains(flags, "slave"):
		v.replicas++
	case slices.Contains(flags, "master") && len(words) > slots:
		v.masters[addr] = true
	}
}
