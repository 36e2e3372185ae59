package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"example.com/seckill/internal/tools/servers"
)

// cluster is a number of instances and the Redis that they share.
type cluster struct {
	instances int
	cluster   bool
	nodes     []*servers.Redis // all masters
	design    string           // that makes the orders; "" is the program's own order path
}

// serveArgs returns the arguments of the program.
func (f cluster) serveArgs() []string {
	if f.design == "" {
		return []string{"serve"}
	}
	return []string{"serve", "--design", f.design}
}

// settings returns the settings of each instance beyond those of every path.
func (f cluster) settings() []string {
	if !f.cluster {
		return nil
	}
	addrs := make([]string, len(f.nodes))
	for i, n := range f.nodes {
		addrs[i] = n.Addr()
	}
	return []string{"SECKILL_REDIS__MODE=cluster", "SECKILL_REDIS__ADDRS=" + strings.Join(addrs, ",")}
}

// layouts are the clusters that are measured. On a machine with few cores they show what another
// master or instance costs, not what it gains with cores of its own.
var layouts = []layout{{1, 1}, {1, 2}, {1, 4}, {2, 1}, {2, 4}}

type layout struct{ instances, masters int }

func (l layout) String() string {
	return fmt.Sprintf("instances: %d, masters: %d", l.instances, l.masters)
}

// fleets measures one workload, of one coupon, against several instances and several masters of a
// Redis Cluster.
func (b *bench) fleets(ctx context.Context) (err error) {
	if !b.wanted("cluster") {
		return nil
	}
	p, err := b.ordering(ctx)
	if err != nil {
		return err
	}
	b.report.Ordering = p.name
	clusters := map[int]*servers.Cluster{}
	defer func() {
		for _, c := range clusters {
			err = errors.Join(err, c.Stop())
		}
	}()
	names := make([]string, len(layouts))
	for i, l := range layouts {
		names[i] = "cluster, " + l.String()
		if clusters[l.masters] == nil {
			dir := filepath.Join(b.env.Dir, fmt.Sprintf("cluster%d", l.masters))
			c, err := servers.StartMasters(ctx, dir, l.masters)
			if err != nil {
				return err
			}
			clusters[l.masters] = c
		}
	}
	all, err := b.inRounds(ctx, names, func(i int) (taken, error) {
		l := layouts[i]
		return b.inFleet(ctx, p, cluster{instances: l.instances, cluster: true, nodes: clusters[l.masters].Nodes()})
	})
	if err != nil {
		return err
	}
	for i, l := range layouts {
		b.report.Fleets = append(b.report.Fleets, Row{Name: l.String(), At: float64(l.instances), figures: all[i]})
	}
	return b.bareFleets(ctx)
}

// bareFleets measures what it costs a route that does nothing to be served by two processes.
func (b *bench) bareFleets(ctx context.Context) error {
	names := []string{bare + ": instances: 1", bare + ": instances: 2"}
	all, err := b.inRounds(ctx, names, func(i int) (taken, error) {
		return b.inFleet(ctx, pathCalled(bare), cluster{instances: i + 1})
	})
	for i, f := range all {
		b.report.BareFleets = append(b.report.BareFleets, Row{Name: names[i], At: float64(i + 1), figures: f})
	}
	return err
}

// inFleet spreads a workload of one coupon over the instances.
func (b *bench) inFleet(ctx context.Context, p path, f cluster) (taken, error) {
	return b.inShop(ctx, p, f, b.taps, func(s *deployment, t *taken) error {
		return s.takeNew(ctx, t, workload{taps: b.taps, lanes: conns, counts: p.counts()})
	})
}
