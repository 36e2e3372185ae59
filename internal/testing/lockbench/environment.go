package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/seckill/internal/tools/servers"
)

// environment says what a table was measured on, a line for each thing.
type environment []string

func (set *serverSet) environment(ctx context.Context) environment {
	return environment{
		time.Now().UTC().Format("2006-01-02 15:04 MST"),
		servers.Machine(),
		strings.Join(set.versions(ctx), ", "),
		strings.Join(modules(), ", "),
		"MariaDB: innodb_flush_log_at_trx_commit=1; etcd: every write synced; ZooKeeper: forceSync=no; Redis: no persistence",
	}
}

// versions are those of Go and the servers. One that does not tell is unknown.
func (set *serverSet) versions(ctx context.Context) []string {
	c := redis.NewClient(&redis.Options{Addr: set.Redis.Addr()})
	defer func() { _ = c.Close() }()
	all := []string{servers.GoVersion(), servers.RedisVersion(ctx, c), servers.MariaDBVersion(ctx, set.db)}
	page, _ := get(ctx, "http://"+set.etcd.Addr()+"/version")
	var told struct {
		EtcdServer string `json:"etcdserver"`
	}
	_ = json.Unmarshal([]byte(page), &told)
	all = append(all, "etcd "+told.EtcdServer)
	srvr, _ := set.srvr(ctx)
	_, after, _ := strings.Cut(srvr, "Zookeeper version: ")
	version, _, _ := strings.Cut(servers.FirstWord(after), "-") // the build follows
	return append(all, "ZooKeeper "+version)
}

// modules are the libraries compared with, and the clients below.
func modules() (all []string) {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return nil
	}
	for _, m := range info.Deps {
		if slices.Contains([]string{
			"github.com/go-redsync/redsync/v4", "github.com/bsm/redislock", "go.etcd.io/etcd/client/v3",
			"github.com/redis/go-redis/v9", "github.com/go-sql-driver/mysql", "github.com/go-zookeeper/zk",
		}, m.Path) {
			all = append(all, m.Path+" "+m.Version)
		}
	}
	return all
}

func get(ctx context.Context, url string) (string, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		return "", err
	}
	defer func() { _ = a.Body.Close() }()
	if a.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: status %s", url, strconv.Itoa(a.StatusCode))
	}
	text, err := io.ReadAll(a.Body)
	return string(text), err
}

// srvr asks ZooKeeper for its state, in its language of four letters.
func (set *serverSet) srvr(ctx context.Context) (string, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", set.zk.Addr())
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "srvr"); err != nil {
		return "", err
	}
	text, err := io.ReadAll(conn)
	return string(text), err
}
