package bench

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
)

// createDatabase makes a database that is thrown away.
func createDatabase(ctx context.Context, dsn *mysql.Config) (name string, drop func() error, err error) {
	connector, err := mysql.NewConnector(dsn)
	if err != nil {
		return "", nil, fmt.Errorf("mysql.dsn: %w", err)
	}
	db := sql.OpenDB(connector)
	name = "seckill_lab_" + strings.ToLower(rand.Text()[:10])
	if _, err := db.ExecContext(ctx, "CREATE DATABASE "+name); err != nil {
		return "", nil, errors.Join(&NoServerError{Say(
			"the user of mysql.dsn must be able to create a database: "+err.Error(), "mysql.dsn 的用户必须能创建数据库："+err.Error())}, db.Close())
	}
	return name, func() error {
		_, err := db.ExecContext(context.WithoutCancel(ctx), "DROP DATABASE "+name)
		return errors.Join(err, db.Close())
	}, nil
}

// DSN leads to the database of the experiments.
func (b *Bench) DSN() string {
	dsn, err := b.places.Database(b.ctx)
	b.Must(err)
	return dsn
}

// DB is a pool on the database of the experiments.
func (b *Bench) DB() *sql.DB {
	if b.db == nil {
		db := b.Pool(b.DSN(), 0)
		conn, err := db.Conn(b.ctx)
		b.Must(err)
		b.OnStop(func() { _ = conn.Close() })
		b.db, b.observer = db, conn
	}
	return b.db
}

// Pool opens a pool of at most so many connections; 0 is any number.
func (b *Bench) Pool(dsn string, conns int) *sql.DB {
	parsed, err := mysql.ParseDSN(dsn)
	b.Must(err)
	parsed.Logger = &mysql.NopLogger{} // a lost answer is what some are about
	connector, err := mysql.NewConnector(parsed)
	b.Must(err)
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(max(conns, 8))
	b.OnStop(func() { _ = db.Close() })
	return db
}

// Tables makes tables anew, each `name (columns)`, and throws them away at the end.
func (b *Bench) Tables(definitions ...string) {
	db := b.DB()
	for _, d := range definitions {
		name, _, _ := strings.Cut(d, " ")
		b.Exec("DROP TABLE IF EXISTS "+name, "CREATE TABLE "+d+" ENGINE = InnoDB")
		b.OnStop(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), stepLimit)
			defer cancel()
			_, _ = db.ExecContext(ctx, "DROP TABLE IF EXISTS "+name)
		})
	}
}

// Exec runs statements that are no part of the timeline.
func (b *Bench) Exec(statements ...string) {
	for _, s := range statements {
		_, err := b.DB().ExecContext(b.ctx, s)
		b.Must(err)
	}
}

// Count gives a function that reads one committed number.
func (b *Bench) Count(query string, args ...any) func() int64 {
	b.DB()
	return func() (n int64) {
		b.Must(b.observer.QueryRowContext(b.ctx, query, args...).Scan(&n))
		return n
	}
}

// On gives the actor a connection of this pool instead of the bench's.
func (a *Actor) On(db *sql.DB) {
	conn, err := db.Conn(a.b.ctx)
	a.must("connect", err)
	a.b.OnStop(func() { _ = conn.Close() })
	a.conn = conn
	var thread int64
	a.must("connect", conn.QueryRowContext(a.b.ctx, "SELECT CONNECTION_ID()").Scan(&thread))
	a.thread.Store(thread)
}

// SQL runs a statement that must succeed, and gives the number of rows that it
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

// TrySQLThen is TrySQL that tells what came of it as a part of the step, for a rule.
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
		return err //nolint:wrapcheck // this driver has none here
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
			a.On(a.b.db)
		}
		err := do(s)
		switch {
		case err != nil:
			if my := (*mysql.MySQLError)(nil); errors.As(err, &my) {
				s.Note("error %d: %s", my.Number, brief(errors.New(my.Message)))
			}
		case kind == Begin:
			s.Open(TxSpan, "transaction")
		case kind == Commit, kind == Back:
			s.End(TxSpan, "")
		}
		return err
	})
}

// waitsInDatabase asks the server whether the actor's connection waits for a row or
// for a name. InnoDB's own report is asked, because the table INNODB_TRX is as old as
// a tenth of a second.
func (a *Actor) waitsInDatabase(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if a.thread.Load() == 0 || a.b.observer == nil {
		return false
	}
	var kind, name, status string
	if err := a.b.observer.QueryRowContext(ctx, "SHOW ENGINE INNODB STATUS").Scan(&kind, &name, &status); err != nil {
		return false
	}
	id := " thread id " + strconv.FormatInt(a.thread.Load(), 10) + ","
	for transaction := range strings.SplitSeq(status, "---TRANSACTION ") {
		if strings.Contains(transaction, id) && strings.Contains(transaction, "LOCK WAIT") {
			return true
		}
	}
	var state sql.NullString
	err := a.b.observer.QueryRowContext(ctx, "SELECT state FROM information_schema.processlist WHERE id = ?", a.thread.Load()).Scan(&state)
	return err == nil && state.String == "User lock"
}

// kindOf is what a statement does, by its first word.
func kindOf(statement string) Kind {
	word, _, _ := strings.Cut(statement, " ")
	switch strings.ToUpper(word) {
	case "BEGIN", "START":
		return Begin
	case "COMMIT":
		return Commit
	case "ROLLBACK":
		return Back
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

// Network is a wire in front of the database, made when it is first asked for.
func (b *Bench) Network() *Wire {
	if b.network == nil {
		dsn, err := mysql.ParseDSN(b.DSN())
		b.Must(err)
		b.network = b.Wire(dsn.Addr)
	}
	return b.network
}

// WiredDSN leads to the database over Network.
func (b *Bench) WiredDSN() string {
	dsn, err := mysql.ParseDSN(b.DSN())
	b.Must(err)
	dsn.Addr = b.Network().Addr()
	return dsn.FormatDSN()
}

// Conn is the connection that On gave the actor.
func (a *Actor) Conn() *sql.Conn { return a.conn }

// MustSQL is a step of the actor's own making in the database. It may wait for another
// actor's, if On has given the actor a connection.
func (a *Actor) MustSQL(kind Kind, what string, do func(s *Step) error) {
	a.must(what, a.DoWaiting(Database, kind, what, a.waitsInDatabase, do))
}
