package servers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"
)

const (
	clusterNodes   = 6
	clusterMasters = 3
	clusterSlots   = 16384
)

// Cluster is a Redis Cluster of three masters, each with a replica, unless it was started without
// replicas. A master that is away for 2 s is replaced by its replica.
type Cluster struct {
	dir      string
	settings []Setting
	nodes    []*Redis
	masters  int
}

// StartCluster starts an empty Redis Cluster with its files in dir; files of an earlier one are
// removed. It returns when every node sees the whole cluster and every replica follows its master.
// The settings apply to each node; ctx bounds the start.
func StartCluster(ctx context.Context, dir string, settings ...Setting) (*Cluster, error) {
	cli, err := look("redis-cli", "redis-tools")
	if err != nil {
		return nil, err
	}
	return startCluster(ctx, dir, clusterNodes, clusterMasters, settings, func(c *Cluster, ctx context.Context) error {
		create := append([]string{"--cluster", "create"}, c.Addrs()...)
		create = append(create, "--cluster-replicas", "1", "--cluster-yes")
		return run(ctx, filepath.Join(dir, "create.log"), nil, cli, create...)
	})
}

// StartMasters starts a Redis Cluster of one or more masters without replicas, to measure how work
// spreads: the death of a master is the end of its slots. Slots are assigned as redis-cli does it,
// in ranges as equal as possible. It alone takes WithTLS.
func StartMasters(ctx context.Context, dir string, masters int, settings ...Setting) (*Cluster, error) {
	return startCluster(ctx, dir, masters, masters, settings, (*Cluster).join)
}

// startCluster starts nodes, has them join, and returns when each sees the whole cluster.
func startCluster(
	ctx context.Context, dir string, nodes, masters int, settings []Setting, join func(*Cluster, context.Context) error,
) (*Cluster, error) {
	return onFreePorts(ctx, nodes, func(ports []int) (*Cluster, error) {
		c := &Cluster{masters: masters}
		err := c.start(ctx, dir, ports, settings)
		if err == nil {
			err = join(c, ctx)
		}
		if err == nil {
			err = await(ctx, c.whole)
		}
		if err != nil {
			return nil, errors.Join(err, c.Stop())
		}
		return c, nil
	})
}

// join assigns the slots and introduces the nodes to each other.
func (c *Cluster) join(ctx context.Context) error {
	first := 0
	for n, node := range c.nodes {
		last := (n+1)*clusterSlots/len(c.nodes) - 1
		if err := node.ask(ctx, func(r *redis.Client) error {
			if err := r.ClusterAddSlotsRange(ctx, first, last).Err(); err != nil {
				return err
			}
			// Different epochs, or two nodes that meet would have to agree whose is larger.
			if err := r.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", n+1).Err(); err != nil || n == 0 {
				return err
			}
			host, port, _ := net.SplitHostPort(cmp.Or(c.nodes[0].TLSAddr(), c.nodes[0].Addr())) // addrOf made it
			return r.ClusterMeet(ctx, host, port).Err()
		}); err != nil {
			return err
		}
		first = last + 1
	}
	return nil
}

// start starts the nodes, which do not know each other yet.
func (c *Cluster) start(ctx context.Context, dir string, ports []int, settings []Setting) error {
	c.dir, c.settings = dir, append([]Setting{
		Set("cluster-enabled", "yes"),
		Set("cluster-config-file", "nodes.conf"),
		Set("cluster-node-timeout", "2000"),
	}, settings...)
	if _, _, secure := split(settings); secure != nil {
		c.settings = append(c.settings, Set("tls-cluster", "yes")) // or the nodes would tell no client of their other port
	}
	for _, port := range ports {
		if err := c.startNode(ctx, port); err != nil {
			return err
		}
	}
	return nil
}

// startNode starts one more node, which does not know the others yet.
func (c *Cluster) startNode(ctx context.Context, port int) error {
	home := filepath.Join(c.dir, "node"+strconv.Itoa(len(c.nodes)+1))
	if err := os.RemoveAll(home); err != nil {
		return fmt.Errorf("clear %s: %w", home, err)
	}
	node, err := startRedis(ctx, home, port, c.settings)
	if err == nil {
		c.nodes = append(c.nodes, node)
	}
	return err
}

// Nodes returns the servers, running or not, always in the same order.
func (c *Cluster) Nodes() []*Redis { return slices.Clone(c.nodes) }

// Addrs returns the addresses of Nodes, in that order.
func (c *Cluster) Addrs() []string { return addrs(c.nodes, (*Redis).Addr) }

// TLSAddrs returns the addresses at which the nodes speak TLS.
func (c *Cluster) TLSAddrs() []string { return addrs(c.nodes, (*Redis).TLSAddr) }

// Masters returns the nodes that own slots now, as the first responding node sees it. Just after a
// master's death it may still be among them.
func (c *Cluster) Masters(ctx context.Context) ([]*Redis, error) {
	err := errors.New("no node of the cluster answers")
	for _, n := range c.nodes {
		view, askErr := n.clusterView(ctx)
		if askErr != nil {
			err = errors.Join(err, askErr)
			continue
		}
		return slices.DeleteFunc(c.Nodes(), func(n *Redis) bool { return !view.masters[n.Addr()] }), nil
	}
	return nil, err
}

// Stop stops all nodes. They are replaceable, so it does not wait for their files.
func (c *Cluster) Stop() error { return killAll(c.nodes) }

// whole returns nil once every node sees the same cluster: all slots served, all masters and all
// replicas, and every replica follows.
func (c *Cluster) whole(ctx context.Context) error {
	for _, n := range c.nodes {
		view, err := n.clusterView(ctx)
		if err != nil {
			return err
		}
		if !view.ok || len(view.masters) != c.masters || view.replicas != len(c.nodes)-c.masters {
			return fmt.Errorf("%s sees ok=%t, %d masters, %d replicas", n.Addr(), view.ok, len(view.masters), view.replicas)
		}
		if err := n.attached(ctx); err != nil {
			return err
		}
	}
	return nil
}

// attached returns nil if the node is a master, or a replica that follows.
func (r *Redis) attached(ctx context.Context) error {
	info, err := r.info(ctx, "replication")
	if err != nil {
		return err
	}
	if info["role"] == "slave" && info["master_link_status"] != "up" {
		return fmt.Errorf("%s does not follow its master yet", r.Addr())
	}
	return nil
}

// addrs returns an address of each node.
func addrs(nodes []*Redis, of func(*Redis) string) (all []string) {
	for _, n := range nodes {
		all = append(all, of(n))
	}
	return all
}

func killAll[S interface{ Kill() error }](nodes []S) (err error) {
	for _, n := range nodes {
		err = errors.Join(err, n.Kill())
	}
	return err
}
