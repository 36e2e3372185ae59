package servers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	galeraNodes   = 3
	galeraPackage = "galera-4"
	// galeraState is the state in which all nodes begin, because their data are equal.
	galeraState = "6f1f6a3e-0000-11ee-8000-000000000001"
)

// libraries are the folders in which Debian and other systems keep the libraries of MariaDB.
var libraries = []string{"/usr/lib", "/usr/lib/galera", "/usr/lib64/galera-4", "/usr/local/lib"}

// LookGalera returns nil if StartGalera would find its programs. The error is a *MissingError.
func LookGalera() error {
	_, err := lookProvider()
	return errors.Join(LookMariaDB(), err)
}

func lookProvider() (string, error) {
	for _, dir := range libraries {
		path := filepath.Join(dir, "libgalera_smm.so")
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", &MissingError{Program: "libgalera_smm.so", Package: galeraPackage}
}

// StartGalera starts a Galera cluster of three nodes. The first node is meant to take the writes. A commit
// reaches all nodes before its client gets the reply. StartGalera returns when all nodes are ready.
// docs/FAILOVER.md has the same setup as a recipe.
func StartGalera(ctx context.Context, dir string, settings ...Setting) (*Replicas, error) {
	provider, err := lookProvider()
	if err != nil {
		return nil, err
	}
	server, err := look("mariadbd", mariaDBPackage)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("find the folder of MariaDB: %w", err)
	}
	return onFreePorts(ctx, 2*galeraNodes, func(ports []int) (*Replicas, error) {
		r := &Replicas{promote: takesWrites}
		err := os.RemoveAll(dir) // of a try on other ports
		if err == nil {
			err = sameData(ctx, dir, galeraNodes)
		}
		for n := 0; n < galeraNodes && err == nil; n++ {
			err = formerMember(dataOf(folderOf(dir, n)), n)
		}
		if err != nil {
			return nil, err
		}
		if err := r.startNodes(ctx, server, provider, dir, ports, settings); err != nil {
			return nil, errors.Join(err, r.Stop())
		}
		return r, nil
	})
}

// startNodes starts the nodes at the same time: no node is ready before all of them are.
func (r *Replicas) startNodes(ctx context.Context, server, provider, dir string, ports []int, settings []Setting) error {
	type started struct {
		n   int
		m   *MariaDB
		err error
	}
	talk := ports[galeraNodes:] // where the nodes talk
	done := make(chan started)
	for n := range galeraNodes {
		own := append(galeraSettings(provider, n, talk), settings...)
		go func() {
			m, err := startMariaDB(ctx, server, folderOf(dir, n), dataOf(folderOf(dir, n)), ports[n], own)
			done <- started{n, m, err}
		}()
	}
	nodes, err := make([]*MariaDB, galeraNodes), error(nil)
	for range galeraNodes {
		s := <-done
		nodes[s.n], err = s.m, errors.Join(err, s.err)
	}
	for _, m := range nodes {
		if m != nil {
			r.nodes = append(r.nodes, m)
		}
	}
	for _, m := range r.nodes {
		if err == nil {
			err = await(ctx, func(ctx context.Context) error { return m.synced(ctx, galeraNodes) })
		}
	}
	return err
}

func galeraSettings(provider string, n int, talk []int) []Setting {
	var all []string
	for _, port := range talk {
		all = append(all, addrOf(port))
	}
	own := strconv.Itoa(talk[n])
	return []Setting{
		Set("binlog-format", "ROW"), Set("innodb-autoinc-lock-mode", "2"), Set("server-id", strconv.Itoa(n+1)),
		Set("wsrep-on", "ON"), Set("wsrep-provider", provider), Set("wsrep-cluster-name", "seckill"+strconv.Itoa(talk[0])),
		Set("wsrep-cluster-address", "gcomm://"+strings.Join(all, ",")), Set("wsrep-node-name", "node"+strconv.Itoa(n+1)),
		Set("wsrep-node-address", "127.0.0.1"), Set("wsrep-sst-method", "skip"), // the data are equal
		Set("wsrep-sync-wait", "1"),
		Set("wsrep-provider-options", strings.Join([]string{
			"base_port=" + own, "gmcast.listen_addr=tcp://" + addrOf(talk[n]), "ist.recv_addr=" + addrOf(talk[n]+busOffset),
			"evs.suspect_timeout=PT3S", "evs.inactive_timeout=PT9S", "gcache.size=16M",
		}, ";")),
	}
}

// formerMember writes the last state and the last view that a node was in. Nodes with equal states and
// views form a cluster by themselves as soon as all of them are there.
func formerMember(data string, n int) error {
	member := func(n int) string { return "11111111-0000-11ee-8000-00000000000" + strconv.Itoa(n+1) }
	var view strings.Builder
	view.WriteString("my_uuid: " + member(n) + "\n#vwbeg\nview_id: 3 " + member(0) + " 1\nbootstrap: 0\n")
	for k := range galeraNodes {
		view.WriteString("member: " + member(k) + " 0\n")
	}
	view.WriteString("#vwend\n")
	state := "# GALERA saved state\nversion: 2.1\nuuid: " + galeraState + "\nseqno: 0\nsafe_to_bootstrap: 0\n"
	err := errors.Join(
		os.WriteFile(filepath.Join(data, "gvwstate.dat"), []byte(view.String()), 0o600),
		os.WriteFile(filepath.Join(data, "grastate.dat"), []byte(state), 0o600),
	)
	if err != nil {
		return fmt.Errorf("write the state of a Galera node: %w", err)
	}
	return nil
}

// synced returns nil if a node is one of size nodes that have the majority, and has applied everything that
// it received.
func (m *MariaDB) synced(ctx context.Context, size int) error {
	for name, want := range map[string]string{
		"wsrep_cluster_status": "Primary", "wsrep_cluster_size": strconv.Itoa(size), "wsrep_ready": "ON",
		"wsrep_local_state_comment": "Synced", "wsrep_local_recv_queue": "0",
	} {
		is, err := m.status(ctx, name)
		if err != nil {
			return err
		}
		if is != want {
			return fmt.Errorf("%s of the node on %s is %q", name, m.Addr(), is)
		}
	}
	return nil
}

// takesWrites waits until the other nodes have noticed that the writer is gone. It also waits until this
// node has applied everything that it received.
func takesWrites(ctx context.Context, m *MariaDB) error {
	return await(ctx, func(ctx context.Context) error { return m.synced(ctx, galeraNodes-1) })
}
