package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	"gorm.io/gorm"

	"example.com/seckill/internal/coupon"
)

// A database can be set back, copied, made anew or replaced by a replica that lacks
// writes, while Redis goes on. Its own rows cannot tell; two things outside of them can:
//
//	mark    grows with each heartbeat, here first and then in Redis: Redis knows a
//	        larger one only if the rows are older than they were
//	server  which server keeps the rows: a promoted replica may lack the last of them
//
// Either ends every epoch: the shards are then loaded from the present rows.

// Heartbeat notes that this database's history goes on, after what Redis knows of it.
func (c Coupons) Heartbeat(ctx context.Context, known coupon.Owner) (coupon.Owner, error) {
	var now coupon.Owner
	err := c.s.inUpdateTx(ctx, func(ctx context.Context, db *gorm.DB) error {
		db = db.WithContext(ctx)
		server, err := c.s.server(db)
		if err != nil {
			return fmt.Errorf("which server this is: %w", err)
		}
		var row deploymentRow
		// The row is locked first, so that of two heartbeats the second sees the first's mark.
		if err := db.Exec("UPDATE deployment SET mark = mark + 1 WHERE mark >= 0").Error; err != nil {
			return fmt.Errorf("lock the deployment: %w", err)
		}
		if err := db.Take(&row).Error; err != nil {
			return fmt.Errorf("read the deployment: %w", err)
		}
		now = coupon.Owner{Deployment: row.ID, Server: server, Mark: max(row.Mark, c.s.now().UnixMicro())}
		if known.Alive && (known.Deployment != now.Deployment || known.Server != now.Server) {
			return fmt.Errorf("%w: deployment %s on %s; this is %s on %s", coupon.ErrOtherDeployment,
				known.Deployment, known.Server, now.Deployment, now.Server)
		}
		setBack := known.Deployment == now.Deployment && row.Mark <= known.Mark
		if setBack || row.Server != "" && row.Server != server {
			now.Mark = max(now.Mark, known.Mark+1)
			if err := c.s.endEpochs(db); err != nil {
				return err
			}
		}
		set := map[string]any{"mark": now.Mark, "server": server}
		return wrap(db.Model(&deploymentRow{}).Where("id = ?", row.ID).UpdateColumns(set).Error, "note the heartbeat")
	})
	return now, err
}

// endEpochs ends the epoch of every coupon that may be sold, so that its shards are worthless and
// are loaded again. A coupon whose shards are freed has no epoch to end.
func (s *Store) endEpochs(db *gorm.DB) error {
	next := s.now().UnixMicro()
	running := db.Model(&couponRow{}).Where("epoch > 0 AND shards > 0 AND state IN ?", []coupon.State{coupon.OnSale, coupon.Paused})
	err := running.UpdateColumns(map[string]any{
		"epoch": gorm.Expr("CASE WHEN epoch < ? THEN ? ELSE epoch + 1 END", next, next), "loading": loadFilling,
	}).Error
	return wrap(err, "end the epochs")
}

// server names the server that keeps this database. The nodes of a Galera cluster keep
// the same rows, so they are one.
func (s *Store) server(db *gorm.DB) (string, error) {
	if s.dialect == sqliteDialect {
		return "this process", nil
	}
	var rows []struct {
		Name  string `gorm:"column:Variable_name"`
		Value string `gorm:"column:Value"`
	}
	err := db.Raw(`SHOW GLOBAL VARIABLES WHERE Variable_name IN
		('hostname', 'port', 'server_id', 'server_uuid', 'wsrep_on', 'wsrep_cluster_name')`).Scan(&rows).Error
	if err != nil {
		return "", wrap(err, "read the server's variables")
	}
	is := map[string]string{}
	for _, row := range rows {
		is[strings.ToLower(row.Name)] = row.Value
	}
	if is["wsrep_on"] == "ON" {
		return "Galera cluster " + is["wsrep_cluster_name"], nil
	}
	return strings.TrimSpace(fmt.Sprintf("%s:%s %s %s", is["hostname"], is["port"], is["server_id"], is["server_uuid"])), nil
}

// now is the clock of epochs and marks.
func (s *Store) now() time.Time {
	if s.clock == nil {
		return time.Now()
	}
	return s.clock()
}

// Time returns the server's time of day. SQLite has that of this process.
func (s *Store) Time(ctx context.Context) (now time.Time, err error) {
	if s.dialect == sqliteDialect {
		return s.now(), nil
	}
	if err := s.pools[0].QueryRowContext(ctx, "SELECT UTC_TIMESTAMP(6)").Scan(&now); err != nil {
		return time.Time{}, fmt.Errorf("read the time: %w", err)
	}
	return now, nil
}
