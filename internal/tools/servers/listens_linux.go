package servers

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// listens returns nil if the process with this id is the one that accepts connections at addr. It
// is for servers that do not report their process id.
func listens(pid int, addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("who listens on %s: %w", addr, err)
	}
	open, err := socketsOf(pid)
	if err != nil {
		return err
	}
	for _, table := range []string{"tcp", "tcp6"} {
		inodes, err := listeners(fmt.Sprintf("/proc/%d/net/%s", pid, table), port)
		if err != nil {
			return err
		}
		for _, inode := range inodes {
			if open[inode] {
				return nil
			}
		}
	}
	return fmt.Errorf("process %d does not listen on %s", pid, addr)
}

// socketsOf returns the inodes of the sockets that a process has open.
func socketsOf(pid int) (map[string]bool, error) {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list the open files of process %d: %w", pid, err)
	}
	open := map[string]bool{}
	for _, f := range files {
		target, err := os.Readlink(filepath.Join(dir, f.Name()))
		if err != nil {
			continue // closed in the meantime
		}
		if inode, is := strings.CutPrefix(target, "socket:["); is {
			open[strings.TrimSuffix(inode, "]")] = true
		}
	}
	return open, nil
}

// listeners returns, from a table of the kernel, the inodes of the sockets that listen on a port.
// The columns are number, local address, remote address, state, two queues, timer, retransmits,
// user, timeouts, inode.
func listeners(table, port string) ([]string, error) {
	const (
		local, state, inode = 1, 3, 9
		listening           = "0A"
	)
	want, err := strconv.Atoi(port)
	if err != nil {
		return nil, fmt.Errorf("read the port: %w", err)
	}
	file, err := os.Open(table)
	if err != nil {
		return nil, fmt.Errorf("list the sockets: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	var found []string
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) <= inode || words[state] != listening {
			continue
		}
		_, hex, _ := strings.Cut(words[local], ":")
		if got, err := strconv.ParseInt(hex, 16, 32); err == nil && int(got) == want {
			found = append(found, words[inode])
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("list the sockets: %w", err)
	}
	return found, nil
}
