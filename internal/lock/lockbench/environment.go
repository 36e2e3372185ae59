package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// environment says what a table was measured on, a line for each thing.
type environment []string

func (set *serverSet) environment(ctx context.Context) environment {
	return environment{
		time.Now().UTC().Format("2006-01-02 15:04 MST"),
		fmt.Sprintf("%s, %d cores shared with the servers, Linux %s, load %s",
			cpu(), runtime.NumCPU(), word("/proc/sys/kernel/osrelease", 0), word("/proc/loadavg", 0)),
		strings.Join(set.versions(ctx), ", "),
		strings.Join(modules(), ", "),
		"MariaDB: innodb_flush_log_at_trx_commit=1; etcd: every write synced; ZooKeeper: forceSync=no; Redis: no persistence",
	}
}

func cpu() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.Trim(name, " \t:\n")
		}
	}
	return runtime.GOARCH
}

func word(file string, n int) string {
	text, _ := os.ReadFile(file)
	if words := strings.Fields(string(text)); n < len(words) {
		return words[n]
	}
	return "unknown"
}

// versions are those of Go and the servers. One that does not tell is unknown.
func (set *serverSet) versions(ctx context.Context) []string {
	all := []string{"Go " + strings.TrimPrefix(runtime.Version(), "go")}
	c := redis.NewClient(&redis.Options{Addr: set.redis.Addr()})
	defer func() { _ = c.Close() }()
	info, _ := c.Info(ctx, "server").Result()
	_, after, _ := strings.Cut(info, "redis_version:")
	all = append(all, "Redis "+first(after))
	var maria string
	_ = set.db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&maria)
	all = append(all, "MariaDB "+maria)
	page, _ := get(ctx, "http://"+set.etcd.Addr()+"/version")
	var told struct {
		EtcdServer string `json:"etcdserver"`
	}
	_ = json.Unmarshal([]byte(page), &told)
	all = append(all, "etcd "+told.EtcdServer)
	srvr, _ := set.srvr(ctx)
	_, after, _ = strings.Cut(srvr, "Zookeeper version: ")
	version, _, _ := strings.Cut(first(after), "-") // the build follows
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

func first(text string) string {
	if words := strings.Fields(text); len(words) > 0 {
		return words[0]
	}
	return "unknown"
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
