package harness

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"example.com/seckill/internal/tools/servers"
)

// createDatabase creates a temporary database.
func createDatabase(ctx context.Context, dsn *mysql.Config) (name string, drop func() error, err error) {
	connector, err := mysql.NewConnector(dsn)
	if err != nil {
		return "", nil, fmt.Errorf("mysql.dsn: %w", err)
	}
	db := sql.OpenDB(connector)
	name = "seckill_lab_" + strings.ToLower(rand.Text()[:10])
	if _, err := db.ExecContext(ctx, "CREATE DATABASE "+name); err != nil {
		return "", nil, errors.Join(&NoServerError{NewText(
			"the user of mysql.dsn must be able to create a database: "+err.Error(), "mysql.dsn 的用户必须能创建数据库："+err.Error())}, db.Close())
	}
	return name, func() error {
		_, err := db.ExecContext(context.WithoutCancel(ctx), "DROP DATABASE "+name)
		return errors.Join(err, db.Close())
	}, nil
}

// DSN returns the DSN of the database of the experiments.
func (run *Run) DSN() string {
	dsn, err := run.servers.Database(run.ctx)
	run.Must(err)
	return dsn
}

// DB returns a pool on the database of the experiments.
func (run *Run) DB() *sql.DB {
	if run.db == nil {
		db := run.Pool(run.DSN(), 0)
		conn, err := db.Conn(run.ctx)
		run.Must(err)
		run.OnStop(func() { _ = conn.Close() })
		run.db, run.observer = db, conn
	}
	return run.db
}

// Pool opens a pool of at most conns connections; 0 is no limit.
func (run *Run) Pool(dsn string, conns int) *sql.DB {
	db, err := servers.OpenDatabase(dsn) // lost replies are part of some experiments
	run.Must(err)
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(max(conns, 8))
	run.OnStop(func() { _ = db.Close() })
	return db
}

// Tables creates tables, each `name (columns)`, and drops them at the end.
func (run *Run) Tables(definitions ...string) {
	db := run.DB()
	for _, d := range definitions {
		name, _, _ := strings.Cut(d, " ")
		run.Exec("DROP TABLE IF EXISTS "+name, "CREATE TABLE "+d+" ENGINE = InnoDB")
		run.OnStop(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(run.ctx), stepLimit)
			defer cancel()
			_, _ = db.ExecContext(ctx, "DROP TABLE IF EXISTS "+name)
		})
	}
}

// Exec runs statements that are not part of the timeline.
func (run *Run) Exec(statements ...string) {
	for _, s := range statements {
		_, err := run.DB().ExecContext(run.ctx, s)
		run.Must(err)
	}
}

// Count returns a function that reads one committed number.
func (run *Run) Count(query string, args ...any) func() int64 {
	run.DB()
	return func() (n int64) {
		run.Must(run.observer.QueryRowContext(run.ctx, query, args...).Scan(&n))
		return n
	}
}

// On sets the actor's connection to one of this pool instead of the run's.
func (a *Actor) On(db *sql.DB) {
	conn, err := db.Conn(a.run.ctx)
	a.must("connect", err)
	a.run.OnStop(func() { _ = conn.Close() })
	a.conn = conn
	var thread int64
	a.must("connect", conn.QueryRowContext(a.run.ctx, "SELECT CONNECTION_ID()").Scan(&thread))
	a.thread.Store(thread)
}

// SQL runs a statement that must succeed and returns the number of rows that it
// changed.
func (a *Actor) SQL(statement string) int64 {
	n, err := a.TrySQL(statement)
	a.must(statement, err)
	return n
}

// TrySQL runs a statement that the server may refuse.
func (a *Actor) TrySQL(statement string) (changed int64, err error) {
	return a.TrySQLThen(statement, func(error) {})
}

// TrySQLThen is TrySQL that passes the result to tell within the step, for a rule.
func (a *Actor) TrySQLThen(statement string, tell func(err error)) (changed int64, err error) {
	err = a.statement(statement, func(s *Step) error {
		result, err := a.conn.ExecContext(s.Ctx, statement)
		tell(err)
		if err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
		if changed, err = result.RowsAffected(); changed > 0 || kindOf(statement) == Write {
			s.Note("%d row%s", changed, plural(changed))
		}
		return err //nolint:wrapcheck // not this driver
	})
	return changed, err
}

// Number reads one number; 0 if there is no row.
func (a *Actor) Number(query string) int64 {
	n, err := a.TryNumber(query)
	a.must(query, err)
	return n
}

// TryNumber is Number for a query that the server may refuse.
func (a *Actor) TryNumber(query string) (n int64, err error) {
	err = a.statement(query, func(s *Step) error {
		err := a.conn.QueryRowContext(s.Ctx, query).Scan(&n)
		if errors.Is(err, sql.ErrNoRows) {
			s.Note("no row")
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
		s.Note("→ %d", n)
		return nil
	})
	return n, err
}

// statement is a step in the database.
func (a *Actor) statement(text string, do func(s *Step) error) error {
	kind := kindOf(text)
	return a.DoWaiting(Database, kind, text, a.waitsInDatabase, func(s *Step) error {
		if a.conn == nil {
			a.On(a.run.db)
		}
		err := do(s)
		switch {
		case err != nil:
			if my := (*mysql.MySQLError)(nil); errors.As(err, &my) {
				s.Note("error %d: %s", my.Number, brief(errors.New(my.Message)))
			}
		case kind == Begin:
			s.Open(TxSpan, "transaction")
		case kind == Commit, kind == Rollback:
			s.End(TxSpan, "")
		}
		return err
	})
}

// waitsInDatabase reports whether the actor's connection waits for a row or for a name. It reads
// InnoDB's own report, because the table INNODB_TRX can be a tenth of a second old.
func (a *Actor) waitsInDatabase(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if a.thread.Load() == 0 || a.run.observer == nil {
		return false
	}
	var kind, name, status string
	if err := a.run.observer.QueryRowContext(ctx, "SHOW ENGINE INNODB STATUS").Scan(&kind, &name, &status); err != nil {
		return false
	}
	id := " thread id " + strconv.FormatInt(a.thread.Load(), 10) + ","
	for transaction := range strings.SplitSeq(status, "---TRANSACTION ") {
		if strings.Contains(transaction, id) && strings.Contains(transaction, "LOCK WAIT") {
			return true
		}
	}
	var state sql.NullString
	err := a.run.observer.QueryRowContext(ctx, "SELECT state FROM information_schema.processlist WHERE id = ?", a.thread.Load()).Scan(&state)
	return err == nil && state.String == "User lock"
}

// kindOf returns the kind of a statement, by its first word.
func kindOf(statement string) Kind {
	word, _, _ := strings.Cut(statement, " ")
	switch strings.ToUpper(word) {
	case "BEGIN", "START":
		return Begin
	case "COMMIT":
		return Commit
	case "ROLLBACK":
		return Rollback
	case "INSERT", "UPDATE", "DELETE":
		return Write
	case "SET":
		return Work
	}
	return Read
}

func plural(n int64) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// Network returns the proxy in front of the database, started on first use.
func (run *Run) Network() *Proxy {
	if run.network == nil {
		dsn, err := mysql.ParseDSN(run.DSN())
		run.Must(err)
		run.network = run.Proxy(dsn.Addr)
	}
	return run.network
}

// ProxiedDSN returns the DSN of the database behind Network.
func (run *Run) ProxiedDSN() string {
	dsn, err := mysql.ParseDSN(run.DSN())
	run.Must(err)
	dsn.Addr = run.Network().Addr()
	return dsn.FormatDSN()
}

// Conn returns the connection that On gave the actor.
func (a *Actor) Conn() *sql.Conn { return a.conn }

// MustSQL is a step of the actor's own in the database. It may wait for another actor's if On has
// set the actor's connection.
func (a *Actor) MustSQL(kind Kind, what string, do func(s *Step) error) {
	a.must(what, a.DoWaiting(Database, kind, what, a.waitsInDatabase, do))
}
