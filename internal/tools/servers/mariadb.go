package servers

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const mariaDBPackage = "mariadb-server"

// MariaDB is a server without a password for root, reachable from this machine only. Every commit
// is on disk before the reply, as in production.
type MariaDB struct {
	*Process
	data string // folder
}

// StartMariaDB starts a MariaDB with its data in dir, which is created if it does not exist;
// existing data is kept. ctx bounds the start, not the server's life. A program that is not
// installed is a *MissingError.
func StartMariaDB(ctx context.Context, dir string, settings ...Setting) (*MariaDB, error) {
	server, err := look("mariadbd", mariaDBPackage)
	if err != nil {
		return nil, err
	}
	// A relative path would be relative to MariaDB's data folder.
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("find the folder of MariaDB: %w", err)
	}
	data := dataOf(dir)
	if err := os.MkdirAll(tmpOf(dir), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of MariaDB: %w", err)
	}
	if err := installMariaDB(ctx, dir, data); err != nil {
		return nil, err
	}
	return onFreePorts(ctx, 1, func(ports []int) (*MariaDB, error) {
		return startMariaDB(ctx, server, dir, data, ports[0], settings)
	})
}

func startMariaDB(ctx context.Context, server, dir, data string, port int, settings []Setting) (*MariaDB, error) {
	pidFile := filepath.Join(dir, "my.pid")
	settings, env, secure := split(settings)
	if secure != nil {
		settings = append([]Setting{Set("ssl-cert", secure.Cert), Set("ssl-key", secure.Key), Set("ssl-ca", secure.CA)}, settings...)
	}
	m := &MariaDB{data: data, Process: &Process{
		path: server,
		args: mariaDBArgs(dir, data, pidFile, port, settings),
		env:  env,
		addr: addrOf(port),
		log:  filepath.Join(dir, "my.log"),
	}}
	if secure != nil {
		m.tlsAddr = m.addr
	}
	m.ready = func(ctx context.Context, pid int) error {
		if err := hasPID(pidFile, pid); err != nil {
			return err
		}
		return m.ping(ctx)
	}
	if err := m.start(ctx); err != nil {
		return nil, err
	}
	return m, nil
}

func mariaDBArgs(dir, data, pidFile string, port int, settings []Setting) []string {
	args := []string{
		"--no-defaults", // first, or it is refused
		"--datadir=" + data,
		"--port=" + strconv.Itoa(port),
		"--bind-address=127.0.0.1",
		"--socket=my.sock", // in the data folder: a full path may be too long for a socket
		"--pid-file=" + pidFile,
		"--tmpdir=" + tmpOf(dir),
		"--key-buffer-size=64K", // of MyISAM, which nothing here uses: the usual one costs a fifth of a start
		"--skip-log-bin",
		"--skip-name-resolve",
		"--max-connections=2000",
		"--innodb-lock-wait-timeout=5",
		"--innodb-flush-log-at-trx-commit=1",
	}
	if os.Geteuid() == 0 {
		args = append(args, "--user=root") // otherwise it refuses to run as root
	}
	return append(args, flags(settings)...)
}

// tmpOf returns the folder of a MariaDB's temporary tables. Each server needs its own: at its start
// it removes all temporary tables that it finds there, those of a running server too.
func tmpOf(dir string) string { return filepath.Join(dir, "tmp") }

// hasPID returns nil if MariaDB has written this process id. It does so after it has bound its
// port, so the server that responds there is the one with this id.
func hasPID(file string, pid int) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the process id: %w", err)
	}
	if strings.TrimSpace(string(text)) != strconv.Itoa(pid) {
		return fmt.Errorf("%s is not of process %d", file, pid)
	}
	return nil
}
