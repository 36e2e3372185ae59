package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	zooKeeperPackage = "zookeeperd"
	javaPackage      = "default-jre-headless"
	// zooKeeperJar names the libraries that it needs in its manifest.
	zooKeeperJar = "/usr/share/java/zookeeper.jar"
	// loggerJar makes it print why it does not start; it runs without it as well.
	loggerJar = "/usr/share/java/slf4j-simple.jar"
	// Both are for TLS, and missing in the manifest.
	nettyCodecJar    = "/usr/share/java/netty-codec.jar"
	nettyResolverJar = "/usr/share/java/netty-resolver.jar"
)

// ZooKeeper is a single server, reachable from this machine only. Every write reaches the kernel
// before the reply, and so survives a kill.
type ZooKeeper struct {
	*Process
}

// StartZooKeeper starts a ZooKeeper with its data in dir, which is created if it does not exist;
// existing data is kept. The settings are those of zoo.cfg; a tick is half a second, and sessions
// of 1 to 120 s are granted. ctx bounds the start, not the server's life. A program that is not
// installed is a *MissingError.
func StartZooKeeper(ctx context.Context, dir string, settings ...Setting) (*ZooKeeper, error) {
	java, err := look("java", javaPackage)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(zooKeeperJar); err != nil {
		return nil, &MissingError{Program: zooKeeperJar, Package: zooKeeperPackage}
	}
	if dir, err = folder(dir, "ZooKeeper"); err != nil {
		return nil, err
	}
	return onFreePorts(ctx, 1, func(ports []int) (*ZooKeeper, error) {
		return startZooKeeper(ctx, java, dir, ports[0], settings)
	})
}

func startZooKeeper(ctx context.Context, java, dir string, port int, settings []Setting) (*ZooKeeper, error) {
	settings, _, secure := split(settings)
	securePort, err := tlsPort(ctx, secure)
	if err != nil {
		return nil, err
	}
	if secure != nil {
		own, err := secure.zooKeeper(dir, securePort)
		if err != nil {
			return nil, err
		}
		settings = append(own, settings...)
	}
	file := filepath.Join(dir, "zoo.cfg")
	if err := writeSettings(file, "=", append([]Setting{
		Set("tickTime", "500"),
		Set("maxSessionTimeout", "120000"),
		Set("dataDir", filepath.Join(dir, "zk")),
		Set("clientPort", strconv.Itoa(port)),
		Set("clientPortAddress", "127.0.0.1"),
		Set("maxClientCnxns", "0"),
		Set("admin.enableServer", "false"),
	}, settings...)); err != nil {
		return nil, err
	}
	z := &ZooKeeper{&Process{
		path: java,
		args: []string{
			"-Xmx256m", "-XX:TieredStopAtLevel=1", // it does not live for long enough to be compiled twice
			"-Dzookeeper.forceSync=no",
			"-Dznode.container.checkIntervalMs=1000", // empty containers go soon, so that tests see them go
			"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
			"-cp", strings.Join([]string{zooKeeperJar, loggerJar, nettyCodecJar, nettyResolverJar}, ":"),
			"org.apache.zookeeper.server.ZooKeeperServerMain", file,
		},
		addr: addrOf(port),
		log:  filepath.Join(dir, "zookeeper.log"),
	}}
	if secure != nil {
		z.tlsAddr = addrOf(securePort)
	}
	z.ready = func(ctx context.Context, pid int) error {
		for _, addr := range []string{z.Addr(), z.tlsAddr} {
			if addr == "" {
				continue
			}
			if err := listens(pid, addr); err != nil {
				return err
			}
		}
		return z.serves(ctx)
	}
	if err := z.start(ctx); err != nil {
		return nil, err
	}
	return z, nil
}

// serves asks for the server's state, which a server that is still loading refuses.
func (z *ZooKeeper) serves(ctx context.Context) error {
	conn, err := (&net.Dialer{Timeout: askWithin}).DialContext(ctx, "tcp", z.Addr())
	if err != nil {
		return fmt.Errorf("ask %s: %w", z.Addr(), err)
	}
	defer func() { _ = conn.Close() }() // everything was read
	if err := conn.SetDeadline(time.Now().Add(askWithin)); err != nil {
		return fmt.Errorf("ask %s: %w", z.Addr(), err)
	}
	if _, err := conn.Write([]byte("srvr")); err != nil {
		return fmt.Errorf("ask %s: %w", z.Addr(), err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		return fmt.Errorf("ask %s: %w", z.Addr(), err)
	}
	if !strings.Contains(string(answer), "Mode: standalone") {
		return errors.New("ZooKeeper does not serve yet")
	}
	return nil
}
