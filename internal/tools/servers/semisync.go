package servers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// noTimeout is the longest time that MariaDB takes, in milliseconds: a commit waits for its replica
// for as long as it takes, and is never acknowledged without it.
const noTimeout = "18446744073709551615"

// StartSemiSync starts a primary and one replica, semi-synchronous: a commit is on both disks, or on
// its way into them, before any client sees it or is told of it. It returns when the
// replica follows. docs/FAILOVER.md has the same setup as a recipe.
func StartSemiSync(ctx context.Context, dir string, settings ...Setting) (*Replicas, error) {
	if err := sameData(ctx, dir, 2); err != nil {
		return nil, err
	}
	r := &Replicas{promote: promoteReplica}
	for n := range 2 {
		own := append([]Setting{
			Set("log-bin", "bin"), Set("log-slave-updates", "ON"), Set("binlog-format", "ROW"), Set("sync-binlog", "1"),
			Set("gtid-strict-mode", "ON"), Set("relay-log", "relay"), Set("skip-slave-start", "ON"),
			Set("server-id", strconv.Itoa(n+1)), Set("rpl-semi-sync-master-wait-point", "AFTER_SYNC"),
			Set("rpl-semi-sync-master-timeout", noTimeout),
		}, settings...)
		if n > 0 {
			own = append(own, Set("read-only", "ON"), Set("rpl-semi-sync-slave-enabled", "ON"))
		}
		m, err := StartMariaDB(ctx, folderOf(dir, n), own...)
		if err != nil {
			return nil, errors.Join(err, r.Stop())
		}
		r.nodes = append(r.nodes, m)
	}
	if err := follow(ctx, r.nodes[0], r.nodes[1]); err != nil {
		return nil, errors.Join(err, r.Stop())
	}
	return r, nil
}

// follow makes a server the replica of another, and from then on the other waits for it.
func follow(ctx context.Context, primary, replica *MariaDB) error {
	host, port, _ := strings.Cut(primary.Addr(), ":")
	err := replica.all(ctx,
		"CHANGE MASTER TO MASTER_HOST = '"+host+"', MASTER_PORT = "+port+
			", MASTER_USER = 'root', MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1",
		"START SLAVE")
	if err == nil {
		err = primary.all(ctx, "SET GLOBAL rpl_semi_sync_master_enabled = ON")
	}
	if err != nil {
		return err
	}
	return await(ctx, func(ctx context.Context) error {
		n, err := primary.status(ctx, "Rpl_semi_sync_master_clients")
		if err == nil && n != "1" {
			err = fmt.Errorf("the primary on %s has %s replicas", primary.Addr(), n)
		}
		return err
	})
}

// promoteReplica ends the replication when all that has arrived is applied, and takes writes: from
// then on without a replica that it could wait for.
func promoteReplica(ctx context.Context, m *MariaDB) error {
	if err := m.all(ctx, "STOP SLAVE IO_THREAD"); err != nil {
		return err
	}
	is, err := m.row(ctx, "SHOW SLAVE STATUS")
	if err != nil {
		return err
	}
	arrived := is["Gtid_IO_Pos"]
	err = await(ctx, func(ctx context.Context) error {
		row, err := m.row(ctx, "SELECT MASTER_GTID_WAIT('"+arrived+"', 1) AS late")
		if err == nil && row["late"] != "0" {
			err = fmt.Errorf("%s is not applied yet", arrived)
		}
		return err
	})
	if err != nil {
		return err
	}
	return m.all(ctx, "STOP SLAVE", "RESET SLAVE ALL", "SET GLOBAL read_only = OFF")
}
