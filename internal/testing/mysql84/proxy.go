// Package mysql84 answers as MySQL 8.4 does, in front of a MariaDB, so that the spelling of the program's statements
// is tested without a MySQL:
//
//	program ──▶ Proxy ──▶ MariaDB
//	             │ says that it is MySQL 8.4
//	             ├ a statement that MySQL 8.4 does not know: MySQL's error, and Refused lists it
//	             └ a statement that MariaDB spells differently: translated
//
// It judges statements by lists (dialect.go). It does not imitate MySQL otherwise: the server behind it plans,
// locks and stores as MariaDB.
package mysql84

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/go-sql-driver/mysql"
)

// version is the one of the greeting and of VERSION().
const version = "8.4.7"

// Proxy forwards connections to a MariaDB. All methods may be called concurrently.
type Proxy struct {
	listener net.Listener
	dsn      *mysql.Config // of the MariaDB
	db       *sql.DB       // for the proxy's own questions
	tasks    sync.WaitGroup

	mu      sync.Mutex
	conns   []net.Conn
	refused []string
}

// New starts a proxy in front of the MariaDB of a DSN. The caller must call Close.
func New(ctx context.Context, dsn string) (*Proxy, error) {
	to, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("the DSN: %w", err)
	}
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen: %w", err), db.Close())
	}
	p := &Proxy{listener: listener, dsn: to, db: db}
	p.tasks.Go(p.accept)
	return p, nil
}

// DSN returns the DSN of the database through the proxy.
func (p *Proxy) DSN() string {
	dsn := p.dsn.Clone()
	dsn.Addr = p.listener.Addr().String()
	return dsn.FormatDSN()
}

// Refused returns the statements that MySQL 8.4 does not know, each with why.
func (p *Proxy) Refused() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.refused)
}

// Close ends all connections.
func (p *Proxy) Close() error {
	err := p.listener.Close()
	p.mu.Lock()
	for _, c := range p.conns {
		_ = c.Close() // the other end may have closed it
	}
	p.conns = nil
	p.mu.Unlock()
	p.tasks.Wait()
	return errors.Join(err, p.db.Close())
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.dsn.Addr) //nolint:noctx // Close ends it
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		p.tasks.Go(func() {
			_ = p.serve(client, server)
			_, _ = client.Close(), server.Close()
		})
	}
}

// serve forwards one connection until either end closes it.
func (p *Proxy) serve(client, server net.Conn) error {
	greeting, err := readPacket(server)
	if err != nil {
		return err
	}
	greeting.body = asMySQL(greeting.body)
	if err := greeting.write(client); err != nil {
		return err
	}
	p.tasks.Go(func() {
		_, _ = io.Copy(client, server)
		_, _ = client.Close(), server.Close()
	})
	for {
		command, err := readPacket(client)
		if err != nil {
			return err
		}
		if command.isStatement() {
			statement := string(command.body[1:])
			if refusal := refusalOf(statement); refusal != nil {
				p.mu.Lock()
				p.refused = append(p.refused, refusal.Error()+": "+statement)
				p.mu.Unlock()
				// The server got no command, so it writes nothing in between.
				if err := refusalPacket(refusal).write(client); err != nil {
					return err
				}
				continue
			}
			if statement, err = p.translate(statement); err != nil {
				return err
			}
			command.body = append(command.body[:1:1], statement...)
		}
		if err := command.write(server); err != nil {
			return err
		}
	}
}

// translate returns the words of MariaDB for a statement.
func (p *Proxy) translate(statement string) (string, error) {
	switch strings.ToUpper(strings.TrimSpace(statement)) {
	case "SELECT VERSION()":
		return "SELECT '" + version + "'", nil
	case "SHOW REPLICA STATUS":
		return p.replicaStatus()
	}
	if strings.HasPrefix(strings.ToUpper(statement), "SET ") {
		return strings.Replace(statement, "max_execution_time", "max_statement_time", 1), nil
	}
	return statement, nil
}

// replicaStatus returns a statement that answers SHOW REPLICA STATUS in the columns of MySQL.
func (p *Proxy) replicaStatus() (string, error) {
	rows, err := p.db.QueryContext(context.Background(), "SHOW SLAVE STATUS")
	if err != nil {
		return "", fmt.Errorf("the replica's status: %w", err)
	}
	defer func() { _ = rows.Close() }() // its error is that of Err
	columns, err := rows.Columns()
	if err != nil {
		return "", fmt.Errorf("the replica's status: %w", err)
	}
	values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	where := " FROM DUAL WHERE 1 = 0"
	if rows.Next() {
		where = ""
		if err := rows.Scan(into...); err != nil {
			return "", fmt.Errorf("the replica's status: %w", err)
		}
	}
	of := strings.NewReplacer("Master", "Source", "Slave", "Replica")
	fields := make([]string, len(columns))
	for i, column := range columns {
		fields[i] = "'" + strings.ReplaceAll(values[i].String, "'", "''") + "' AS `" + of.Replace(column) + "`"
	}
	return "SELECT " + strings.Join(fields, ", ") + where, rows.Err()
}
