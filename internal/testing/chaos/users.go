package chaos

import (
	"context"
	"fmt"
	"strings"

	"example.com/seckill/internal/platform/preflight"
	"example.com/seckill/internal/tools/servers"
)

// user is the fleet's name and password at its stores, where it has the rights that it is
// told to need, and no others.
const user = "app"

// redisUser makes the user of Redis.
func redisUser() servers.Setting {
	rights := preflight.RedisUse{Username: user, Prefix: "seckill:"}.Grant()
	return servers.Set("user", strings.Replace(rights, "ACL SETUSER "+user, user+" on >"+user, 1))
}

// grant makes the user of the database, if there is none yet, with rights on each table, because those
// count at once when they are changed.
func (b *environment) grant(ctx context.Context) error {
	rows, err := b.db.QueryContext(ctx, "SHOW TABLES")
	if err != nil {
		return fmt.Errorf("list the tables: %w", err)
	}
	defer func() { _ = rows.Close() }() // Err tells
	do := []string{"CREATE USER IF NOT EXISTS " + user + " IDENTIFIED BY '" + user + "'"}
	for rows.Next() {
		var table string
		if err := rows.Scan(&table); err != nil {
			return fmt.Errorf("list the tables: %w", err)
		}
		do = append(do, "GRANT SELECT, INSERT, UPDATE, DELETE ON "+table+" TO "+user)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("list the tables: %w", err)
	}
	for _, statement := range do {
		if _, err := b.db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("make the user of the database: %w", err)
		}
	}
	return nil
}

// sessions is how many connections to the database stay open.
const sessions = 16

// openDatabase makes a server the environment's.
func (b *environment) openDatabase(m *servers.MariaDB) error {
	db, err := servers.OpenDatabase(m.DSN(b.dbase))
	if err != nil {
		return err
	}
	db.SetMaxIdleConns(sessions) // buyers read it
	db.SetMaxOpenConns(2 * sessions)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.MariaDB, b.db = m, db
	return nil
}
