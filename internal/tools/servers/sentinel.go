package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"

	"github.com/redis/go-redis/v9"
)

const (
	masterName   = "sale"
	sentinels    = 3
	sentinelData = 3 // a master and its two replicas
)

// Sentinel is a Redis master with two replicas, watched by three sentinels, two of which must
// agree. A master that is away for 1 s is replaced by a replica.
type Sentinel struct {
	data      []*Redis
	sentinels []*Redis
}

// StartSentinel starts the six servers with their files in dir. It returns when the replicas follow
// and every sentinel knows them and the other sentinels, so that a failover can succeed at once.
// The settings apply to the master and the replicas; ctx bounds the start.
func StartSentinel(ctx context.Context, dir string, settings ...Setting) (*Sentinel, error) {
	return onFreePorts(ctx, sentinelData+sentinels, func(ports []int) (*Sentinel, error) {
		s := &Sentinel{}
		if err := s.start(ctx, dir, ports, settings); err != nil {
			return nil, errors.Join(err, s.Stop())
		}
		return s, nil
	})
}

// start starts the master first, then its replicas, and the sentinels when these follow: a sentinel
// finds replicas when it first asks the master, and then only every ten seconds.
func (s *Sentinel) start(ctx context.Context, dir string, ports []int, settings []Setting) error {
	master := addrOf(ports[0])
	_, _, secure := split(settings)
	if secure != nil {
		settings = append([]Setting{Set("tls-replication", "yes")}, settings...)
	}
	for i, port := range ports[:sentinelData] {
		own := settings
		if i > 0 {
			own = append([]Setting{ReplicaOf(master)}, settings...)
		}
		node, err := startRedis(ctx, filepath.Join(dir, "redis"+strconv.Itoa(i+1)), port, own)
		if err != nil {
			return err
		}
		s.data = append(s.data, node)
		if secure != nil && i == 0 {
			master = node.TLSAddr()
		}
	}
	if err := await(ctx, s.replicated); err != nil {
		return err
	}
	for i, port := range ports[sentinelData:] {
		own := []Setting{
			Set("sentinel", "monitor "+masterName+" "+spaced(master)+" 2"),
			Set("sentinel", "down-after-milliseconds "+masterName+" 1000"),
			Set("sentinel", "failover-timeout "+masterName+" 5000"),
		}
		if secure != nil {
			own = append(own, WithTLS(*secure), Set("tls-replication", "yes"))
		}
		node, err := startRedisMode(ctx, filepath.Join(dir, "sentinel"+strconv.Itoa(i+1)), port, own, "--sentinel")
		if err != nil {
			return err
		}
		s.sentinels = append(s.sentinels, node)
	}
	return await(ctx, s.acquainted)
}

// MasterName returns the name of the master at the sentinels.
func (s *Sentinel) MasterName() string { return masterName }

// SentinelTLSAddrs returns the addresses at which the three sentinels speak TLS.
func (s *Sentinel) SentinelTLSAddrs() []string { return addrs(s.sentinels, (*Redis).TLSAddr) }

// SentinelAddrs returns the addresses of the three sentinels.
func (s *Sentinel) SentinelAddrs() []string { return addrs(s.sentinels, (*Redis).Addr) }

// Nodes returns the first master and its replicas, in that order, running or not.
func (s *Sentinel) Nodes() []*Redis { return append([]*Redis(nil), s.data...) }

// Master returns the master according to the first sentinel that responds. Just after the master's
// death that is still the dead one.
func (s *Sentinel) Master(ctx context.Context) (*Redis, error) {
	err := errors.New("no sentinel answers")
	for _, n := range s.sentinels {
		var addr []string
		askErr := n.ask(ctx, func(c *redis.Client) (err error) {
			addr, err = c.Do(ctx, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", masterName).StringSlice()
			return err //nolint:wrapcheck // ask wraps it
		})
		if askErr != nil {
			err = errors.Join(err, askErr)
			continue
		}
		return s.byAddr(addr)
	}
	return nil, err
}

// KillMaster kills the current master, as kill -9 does, and returns it, so that it can be started
// again.
func (s *Sentinel) KillMaster(ctx context.Context) (*Redis, error) {
	master, err := s.Master(ctx)
	if err != nil {
		return nil, err
	}
	return master, master.Kill()
}

// Stop stops all six servers, the sentinels first, so that they start no failover. They are
// replaceable, so it does not wait for their files.
func (s *Sentinel) Stop() error {
	return errors.Join(killAll(s.sentinels), killAll(s.data))
}

func (s *Sentinel) byAddr(addr []string) (*Redis, error) {
	if len(addr) == 2 {
		for _, n := range s.data {
			if n.Addr() == net.JoinHostPort(addr[0], addr[1]) {
				return n, nil
			}
		}
	}
	return nil, fmt.Errorf("the sentinels name a master that is not ours: %q", addr)
}

func (s *Sentinel) replicated(ctx context.Context) error {
	for _, n := range s.data {
		if err := n.attached(ctx); err != nil {
			return err
		}
	}
	return nil
}

// acquainted returns nil once every sentinel knows all others and all replicas.
func (s *Sentinel) acquainted(ctx context.Context) error {
	for _, n := range s.sentinels {
		var pairs []string
		if err := n.ask(ctx, func(c *redis.Client) (err error) {
			pairs, err = c.Do(ctx, "SENTINEL", "MASTER", masterName).StringSlice()
			return err //nolint:wrapcheck // ask wraps it
		}); err != nil {
			return err
		}
		known := map[string]string{}
		for i := 0; i+1 < len(pairs); i += 2 {
			known[pairs[i]] = pairs[i+1]
		}
		if known["num-slaves"] != strconv.Itoa(sentinelData-1) || known["num-other-sentinels"] != strconv.Itoa(sentinels-1) {
			return fmt.Errorf("%s knows %s replicas and %s other sentinels",
				n.Addr(), known["num-slaves"], known["num-other-sentinels"])
		}
	}
	return nil
}
