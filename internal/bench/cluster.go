package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"seckill/internal/testbed/servers"
)

// cluster is a number of instances and the Redis that they share.
type cluster struct {
	instances int
	cluster   bool
	nodes     []*servers.Redis // all masters
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
	rounds := make([][]figures, len(layouts))
	for round := range b.rounds {
		for i, l := range layouts {
			if clusters[l.masters] == nil {
				dir := filepath.Join(b.house.Dir, fmt.Sprintf("cluster%d", l.masters))
				if clusters[l.masters], err = servers.StartMasters(ctx, dir, l.masters); err != nil {
					return err
				}
			}
			f := cluster{instances: l.instances, cluster: true, nodes: clusters[l.masters].Nodes()}
			figures, err := b.measured(ctx, "cluster, "+l.String(), round, func() (taken, error) { return b.inFleet(ctx, p, f) })
			if err != nil {
				return err
			}
			rounds[i] = append(rounds[i], figures)
		}
	}
	for i, l := range layouts {
		b.report.Fleets = append(b.report.Fleets, Row{Name: l.String(), At: float64(l.instances), figures: medians(rounds[i])})
	}
	return nil
}

// inFleet spreads a workload of one coupon over the instances.
func (b *bench) inFleet(ctx context.Context, p path, f cluster) (t taken, err error) {
	s, err := b.house.openFleet(ctx, p, f)
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.warm(ctx, &t, b.taps); err != nil {
		return t, err
	}
	id, err := s.sell(ctx, b.taps, time.Now().Add(-time.Second))
	if err != nil {
		return t, err
	}
	err = s.take(ctx, &t, workload{coupons: []string{id}, taps: b.taps, lanes: conns, first: anywhere()})
	return t, err
}
