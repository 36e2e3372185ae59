package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	clusterNodes   = 6
	clusterMasters = 3
)

// Cluster is a Redis Cluster of three masters, each with a replica. A master
// that is away for 2 s is replaced by its replica.
type Cluster struct {
	nodes []*Redis
}

// StartCluster starts a Redis Cluster with its files in dir, from nothing: what
// an earlier one left there is removed. It returns when every node finds the
// cluster whole and every replica follows its master. The settings are given to
// each node; ctx bounds the start.
func StartCluster(ctx context.Context, dir string, settings ...Setting) (*Cluster, error) {
	cli, err := look("redis-cli", "redis-tools")
	if err != nil {
		return nil, err
	}
	return onFreePorts(ctx, clusterNodes, func(ports []int) (*Cluster, error) {
		c := &Cluster{}
		if err := c.start(ctx, cli, dir, ports, settings); err != nil {
			return nil, errors.Join(err, c.Stop())
		}
		return c, nil
	})
}

func (c *Cluster) start(ctx context.Context, cli, dir string, ports []int, settings []Setting) error {
	settings = append([]Setting{
		Set("cluster-enabled", "yes"),
		Set("cluster-config-file", "nodes.conf"),
		Set("cluster-node-timeout", "2000"),
	}, settings...)
	for i, port := range ports {
		home := filepath.Join(dir, "node"+strconv.Itoa(i+1))
		if err := os.RemoveAll(home); err != nil {
			return fmt.Errorf("clear %s: %w", home, err)
		}
		node, err := startRedis(ctx, home, port, settings)
		if err != nil {
			return err
		}
		c.nodes = append(c.nodes, node)
	}
	create := append([]string{"--cluster", "create"}, c.Addrs()...)
	create = append(create, "--cluster-replicas", "1", "--cluster-yes")
	if err := run(ctx, filepath.Join(dir, "create.log"), cli, create...); err != nil {
		return err
	}
	return await(ctx, c.whole)
}

// Nodes are the six servers, running or not, in an order that does not change.
func (c *Cluster) Nodes() []*Redis { return slices.Clone(c.nodes) }

// Addrs are the addresses of Nodes, in that order.
func (c *Cluster) Addrs() []string { return addrs(c.nodes) }

// Masters are the nodes that own slots now, as the first node that answers
// knows it. Just after a master's death it may still be among them.
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

// Stop stops all nodes. They are replaceable, so it does not wait for their
// files.
func (c *Cluster) Stop() error { return killAll(c.nodes) }

// whole is nil once every node sees the same: all slots served, three masters,
// three replicas, each of which follows.
func (c *Cluster) whole(ctx context.Context) error {
	for _, n := range c.nodes {
		view, err := n.clusterView(ctx)
		if err != nil {
			return err
		}
		if !view.ok || len(view.masters) != clusterMasters || view.replicas != clusterNodes-clusterMasters {
			return fmt.Errorf("%s sees ok=%t, %d masters, %d replicas", n.Addr(), view.ok, len(view.masters), view.replicas)
		}
		if err := n.attached(ctx); err != nil {
			return err
		}
	}
	return nil
}

// attached is nil if the node is a replica that follows, or a master.
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

// view is the cluster as one node sees it.
type view struct {
	ok       bool
	masters  map[string]bool // by address; those that own slots and are not known to be down
	replicas int
}

func (r *Redis) clusterView(ctx context.Context) (view, error) {
	v := view{masters: map[string]bool{}}
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

// add reads a line of CLUSTER NODES: id, ip:port@bus, flags, master, ping, pong,
// epoch, link, and the slots.
func (v *view) add(words []string) {
	const slots = 8
	if len(words) < slots {
		return
	}
	addr, _, _ := strings.Cut(words[1], "@")
	flags := strings.Split(words[2], ",")
	switch {
	case slices.Contains(flags, "fail"):
	case slices.Contains(flags, "slave"):
		v.replicas++
	case slices.Contains(flags, "master") && len(words) > slots:
		v.masters[addr] = true
	}
}

func addrs(nodes []*Redis) []string {
	var all []string
	for _, n := range nodes {
		all = append(all, n.Addr())
	}
	return all
}

func killAll(nodes []*Redis) error {
	var errs []error
	for _, n := range nodes {
		errs = append(errs, n.Kill())
	}
	return errors.Join(errs...)
}

// await asks again and again until check is nil or ctx ends.
func await(ctx context.Context, check func(context.Context) error) error {
	tick := time.NewTicker(settleEvery)
	defer tick.Stop()
	for {
		last := check(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w while %w", context.Cause(ctx), last)
		case <-tick.C:
		}
	}
}
