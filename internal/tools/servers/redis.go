package servers

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

const redisPackage = "redis-server"

// Redis is one server without a password, reachable from this machine only.
type Redis struct {
	*Process
	infoCommand string // the name of INFO at this server
	dir         string
}

// StartRedis starts a Redis with its files in dir, which it creates if necessary. ctx bounds the start, not
// the server's life. If the program is not installed, the error is a *MissingError.
func StartRedis(ctx context.Context, dir string, settings ...Setting) (*Redis, error) {
	return onFreePorts(ctx, 1, func(ports []int) (*Redis, error) {
		return startRedis(ctx, dir, ports[0], settings)
	})
}

// startRedis starts a Redis on a port. Its settings are in a file and not on the command line: Sentinel
// makes the server write its changes to that file, and they hold after a restart.
func startRedis(ctx context.Context, dir string, port int, settings []Setting) (*Redis, error) {
	return startRedisMode(ctx, dir, port, append([]Setting{
		Set("save", `""`),
		// Every write reaches the kernel before the reply, and so survives a kill. Only a failure of the
		// machine loses it. With everysec a write may wait for a slow disk, and a kill then loses it.
		Set("appendfsync", "no"),
		Set("repl-diskless-sync-delay", "0"),
	}, settings...))
}

// startRedisMode starts the program with the given settings, without the ones that startRedis adds. It
// passes words as arguments, such as --sentinel.
func startRedisMode(ctx context.Context, dir string, port int, settings []Setting, words ...string) (*Redis, error) {
	server, err := look("redis-server", redisPackage)
	if err != nil {
		return nil, err
	}
	if dir, err = folder(dir, "Redis"); err != nil {
		return nil, err
	}
	settings, env, secure := split(settings)
	securePort, err := tlsPort(ctx, secure)
	if err != nil {
		return nil, err
	}
	if secure != nil {
		settings = append(secure.redis(securePort), settings...)
	}
	file := filepath.Join(dir, "redis.conf")
	if err := writeSettings(file, " ", append([]Setting{
		Set("port", strconv.Itoa(port)),
		Set("bind", "127.0.0.1"),
		Set("dir", strconv.Quote(dir)),
	}, settings...)); err != nil {
		return nil, err
	}
	r := &Redis{infoCommand: "INFO", dir: dir, Process: &Process{
		path: server,
		args: append([]string{file}, words...),
		env:  env,
		addr: addrOf(port),
		log:  filepath.Join(dir, "redis.log"),
	}}
	if secure != nil {
		r.tlsAddr = addrOf(securePort)
	}
	for _, s := range settings {
		if name, renamed := strings.CutPrefix(s.Value, "INFO "); renamed && s.Name == "rename-command" {
			r.infoCommand = name
		}
	}
	r.ready = func(ctx context.Context, pid int) error { return r.serves(ctx, pid) }
	if err := r.start(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// RemoveData removes the data that a server with AppendOnly has written, so that the server starts empty.
// The server must not be running.
func (r *Redis) RemoveData() error {
	if err := os.RemoveAll(filepath.Join(r.dir, "appendonlydir")); err != nil {
		return fmt.Errorf("remove the data of Redis: %w", err)
	}
	return nil
}

// serves returns nil if the server with this process id responds. A server that is loading its data
// responds with an error.
func (r *Redis) serves(ctx context.Context, pid int) error {
	info, err := r.info(ctx, "server")
	if err != nil {
		return err
	}
	if info["process_id"] != strconv.Itoa(pid) {
		return fmt.Errorf("process %s answers on %s, not %d", info["process_id"], r.Addr(), pid)
	}
	return r.ask(ctx, func(c *redis.Client) error { return c.Ping(ctx).Err() })
}

// spaced returns an address as Redis writes it in its settings: host, space, port.
func spaced(addr string) string {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return addr // Redis refuses it and says so in its log
	}
	return host + " " + port
}
