package main

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"

	"example.com/seckill/internal/lock/etcdlock"
	"example.com/seckill/internal/lock/mysqllock"
	"example.com/seckill/internal/lock/zklock"
	"example.com/seckill/internal/testing/mysqlforms"
)

// onSQL makes a candidate in the database. Raw is two updates of one row, each on
// disk before it is answered, as every write of a lock is.
func (set *serverSet) onSQL(name string, open func() (*process, error)) candidate {
	return candidate{
		name: name, durable: true, own: 1, close: nothing,
		open: func(context.Context) (*process, error) { return open() },
		raw: func(ctx context.Context) error {
			for range 2 {
				if _, err := set.db.ExecContext(ctx, "UPDATE raw SET n = n + 1 WHERE id = 1"); err != nil {
					return err
				}
			}
			return nil
		},
		sent: func(ctx context.Context) (n int64, err error) {
			var name string
			err = set.db.QueryRowContext(ctx, "SHOW GLOBAL STATUS LIKE 'Questions'").Scan(&name, &n)
			return n, err
		},
	}
}

func (set *serverSet) leaseRow() (*process, error) {
	pool, err := mysqllock.Open(set.dsn, 0)
	if err != nil {
		return nil, err
	}
	return ours(mysqllock.NewLeaseRow(pool), pool.Close)
}

func (set *serverSet) named() (*process, error) {
	n, err := mysqlforms.NewNamed(set.dsn, mysqlforms.NamedOptions{Fencer: set.fences, Conns: 40})
	if err != nil {
		return nil, err
	}
	return ours(n, func() error { n.Close(); return nil })
}

// onEtcd makes a candidate in etcd. Raw is a put and a delete.
func (set *serverSet) onEtcd(name string, open func() (*process, error)) (candidate, error) {
	raw, err := set.dialEtcd()
	if err != nil {
		return candidate{}, err
	}
	return candidate{
		name: name, durable: true, close: raw.Close,
		open: func(context.Context) (*process, error) { return open() },
		raw: func(ctx context.Context) error {
			if _, err := raw.Put(ctx, "raw", "token"); err != nil {
				return err
			}
			_, err := raw.Delete(ctx, "raw")
			return err
		},
		// Messages and not calls: a watch is one call, and so are all renewals.
		sent: func(ctx context.Context) (int64, error) {
			text, err := get(ctx, "http://"+set.etcd.Addr()+"/metrics")
			return sum(text, "grpc_server_msg_received_total{"), err
		},
	}, nil
}

func (set *serverSet) dialEtcd() (*clientv3.Client, error) {
	return clientv3.New(clientv3.Config{Endpoints: []string{set.etcd.Addr()}, DialTimeout: 5 * time.Second})
}

func (set *serverSet) ourEtcd() (*process, error) {
	b, err := etcdlock.Connect([]string{set.etcd.Addr()}, etcdlock.Options{})
	if err != nil {
		return nil, err
	}
	return ours(b, b.Close)
}

// theirEtcd opens a session for every worker, for two mutexes of one session
// do not exclude each other. The session is made before the clock starts.
func (set *serverSet) theirEtcd() (*process, error) {
	c, err := set.dialEtcd()
	if err != nil {
		return nil, err
	}
	var sessions []*concurrency.Session
	return &process{
		worker: func(context.Context) (acquire, error) {
			s, err := concurrency.NewSession(c, concurrency.WithTTL(int(lease/time.Second)))
			if err != nil {
				return nil, err
			}
			sessions = append(sessions, s)
			return func(ctx context.Context, key string) (release, error) {
				m := concurrency.NewMutex(s, "concurrency/"+key)
				if err := m.Lock(ctx); err != nil {
					return nil, err
				}
				return m.Unlock, nil
			}, nil
		},
		close: func() (err error) {
			for _, s := range sessions {
				err = errors.Join(err, s.Close())
			}
			return errors.Join(err, c.Close())
		},
	}, nil
}

// onZooKeeper makes the candidate in ZooKeeper. Raw is a node made and deleted.
func (set *serverSet) onZooKeeper(name string) (candidate, error) {
	raw, _, err := zk.Connect([]string{set.zk.Addr()}, lease, zk.WithLogInfo(false))
	if err != nil {
		return candidate{}, err
	}
	return candidate{
		name: name, durable: true,
		close: func() error { raw.Close(); return nil },
		open: func(context.Context) (*process, error) {
			b, err := zklock.Connect([]string{set.zk.Addr()}, zklock.Options{})
			if err != nil {
				return nil, err
			}
			return ours(b, b.Close)
		},
		raw: func(context.Context) error {
			if _, err := raw.Create("/raw", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
				return err
			}
			return raw.Delete("/raw", -1)
		},
		// Pings of sessions are in it.
		sent: func(ctx context.Context) (int64, error) {
			text, err := set.srvr(ctx)
			_, after, _ := strings.Cut(text, "Received: ")
			line, _, _ := strings.Cut(after, "\n")
			n, _ := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
			return n, err
		},
	}, nil
}

// sum adds up the lines of a page of metrics that begin with prefix.
func sum(page, prefix string) (total int64) {
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, prefix) {
			words := strings.Fields(line)
			n, _ := strconv.ParseFloat(words[len(words)-1], 64)
			total += int64(n)
		}
	}
	return total
}
