// Package store keeps coupons, orders, fences and the outbox in a SQL database. It
// is the only package with gorm.
//
//	InTx:  begin ─▶ work(tx) ─▶ commit        one place that begins and commits
//	               │ error ─▶ rollback, and for a deadlock or a lock-wait
//	               │          timeout the whole of it again, twice at most
//	               └ a failed commit is unknown, and is said to be
//
// On MySQL and MariaDB it relies on row locks at READ COMMITTED. SQLite has none. There one connection writes, and
// its transactions run one after the other.
package store

import (
	"context"
	"crypto/tls"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/glebarez/sqlite"
	driver "github.com/go-sql-driver/mysql"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"example.com/seckill/internal/platform/mysqlconn"
	files "example.com/seckill/sql"
)

// Options say which database, and how it is used.
type Options struct {
	MySQL     string      // a DSN of go-sql-driver/mysql; or
	SQLite    string      // a DSN of glebarez/go-sqlite
	TLS       *tls.Config // how MySQL is verified; nil: as the DSN says
	MaxOpen   int         // connections
	MaxIdle   int
	MaxLife   time.Duration
	TxTimeout time.Duration // the budget of one transaction
	Log       *slog.Logger  // nil is slog.Default
	// OnBreakerChange is called when the database goes away and when it answers again. It may be nil.
	OnBreakerChange func(server string, away bool)
	Now             func() time.Time // of epochs and heartbeats; nil is time.Now
}

// Store is an open database.
type Store struct {
	write              *gorm.DB
	read               *gorm.DB // the same as write, but on SQLite, where readers need not wait for the writer
	bulk               *gorm.DB // for reads of a whole sale: see bulkread.go
	dialect            dialect
	isolation          sql.IsolationLevel
	txTimeout          time.Duration
	clock              func() time.Time
	log                *slog.Logger
	byID               *orderLoader
	byRequest          *orderLoader
	loaded             atomic.Pointer[loadedList] // as it was last read
	pools              []*sql.DB
	migrationConnector sqldriver.Connector // connects without limits, for migrations; nil on SQLite
	migrationFiles     fs.FS               // a folder for each dialect
	stopBreaker        func()              // nil on SQLite, which is in this process
}

type dialect string

const (
	mysqlDialect  dialect = "mysql"
	sqliteDialect dialect = "sqlite"
)

// Open connects, and fails within the DSN's timeout if the database does not answer.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	open := openMySQL
	if o.MySQL == "" {
		open = openSQLite
	}
	s, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	s.txTimeout, s.clock, s.log, s.migrationFiles = o.TxTimeout, o.Now, o.Log, files.Migrations
	s.byID = s.newLoader(orderByID, func(r orderRow) any { return r.ID })
	s.byRequest = s.newLoader(orderByRequest, func(r orderRow) any { return r.RequestID })
	if err := s.pools[0].PingContext(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("the database does not answer: %w", err), s.Close())
	}
	return s, nil
}

// openMySQL overrides the DSN where this program relies on a value: times in UTC, and affected rows that count the
// rows found and not only those changed. Interpolated parameters save a round trip per statement. Several statements
// in one trip save most of the others. They contain values as parameters only.
func openMySQL(ctx context.Context, o Options) (*Store, error) {
	dsn, err := driver.ParseDSN(o.MySQL)
	if err != nil {
		return nil, errors.New("mysql.dsn cannot be parsed") // the driver's error may quote the password
	}
	if o.TLS != nil {
		dsn.TLS = o.TLS
	}
	dsn.ParseTime, dsn.Loc, dsn.ClientFoundRows = true, time.UTC, true
	dsn.InterpolateParams, dsn.MultiStatements = true, true
	dsn.Logger = debugLogger{o.Log}
	if dsn.Params == nil {
		dsn.Params = map[string]string{}
	}
	mariaDB, err := isMariaDB(ctx, dsn)
	if err != nil {
		return nil, err
	}
	patient, err := unlimitedConnector(dsn, mariaDB)
	if err != nil {
		return nil, err
	}
	long, longPool, err := openBulk(dsn, mariaDB, o.Log)
	if err != nil {
		return nil, err
	}
	setLockWaitTimeout(dsn, o.TxTimeout)
	idle := setIdleLimit(dsn, mariaDB)
	connector, err := mysqlconn.NewConnector(dsn)
	if err != nil {
		return nil, errors.Join(err, longPool.Close())
	}
	pool := sql.OpenDB(deadlineConnector{connector})
	pool.SetMaxOpenConns(o.MaxOpen)
	pool.SetMaxIdleConns(o.MaxIdle)
	pool.SetConnMaxLifetime(o.MaxLife)
	pool.SetConnMaxIdleTime(idle)
	g := newBreakerPool(pool, o.TxTimeout, o.Log, o.OnBreakerChange)
	db, err := openGorm(mysql.New(mysql.Config{Conn: g, SkipInitializeWithVersion: true}), o.Log)
	if err != nil {
		g.breaker.Close()
		return nil, errors.Join(err, pool.Close(), longPool.Close())
	}
	return &Store{
		write: db, read: db, bulk: long, dialect: mysqlDialect, isolation: sql.LevelReadCommitted,
		pools: []*sql.DB{pool, longPool}, migrationConnector: patient, stopBreaker: g.breaker.Close,
	}, nil
}

// unlimitedConnector connects as the DSN says, and waits for an answer for as long as it takes.
func unlimitedConnector(dsn *driver.Config, mariaDB bool) (sqldriver.Connector, error) {
	dsn = dsn.Clone()
	dsn.ReadTimeout, dsn.WriteTimeout = 0, 0
	liftTimeLimits(dsn, mariaDB)
	return mysqlconn.NewConnector(dsn)
}

// setLockWaitTimeout lets the server give up waiting for a row within half of the transaction's
// budget, in whole seconds, unless the DSN says otherwise. Then the server rolls back
// in order; a client that gives up first leaves a session that goes on waiting, with
// all the rows that it has locked.
func setLockWaitTimeout(dsn *driver.Config, budget time.Duration) {
	const variable = "innodb_lock_wait_timeout"
	if dsn.Params[variable] == "" {
		dsn.Params[variable] = strconv.Itoa(max(1, int(budget/2/time.Second)))
	}
}

// openSQLite opens one connection to write, because SQLite has one writer and a
// queue in the pool is better than a busy database, and a few to read.
func openSQLite(_ context.Context, o Options) (*Store, error) {
	readDSN, err := deferredDSN(o.SQLite)
	if err != nil {
		return nil, err
	}
	s := &Store{dialect: sqliteDialect, isolation: sql.LevelDefault}
	for _, one := range []struct {
		dsn   string
		conns int
		to    **gorm.DB
	}{{o.SQLite, 1, &s.write}, {readDSN, 4, &s.read}} {
		pool, err := sql.Open(sqlite.DriverName, one.dsn)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open SQLite: %w", err), s.Close())
		}
		pool.SetMaxOpenConns(one.conns)
		pool.SetMaxIdleConns(one.conns)
		s.pools = append(s.pools, pool)
		if *one.to, err = openGorm(&sqlite.Dialector{Conn: pool}, o.Log); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	s.bulk = s.read
	return s, nil
}

// deferredDSN is the DSN for readers: their transactions do not take the write lock.
func deferredDSN(dsn string) (string, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return "", fmt.Errorf("the DSN of SQLite: %w", err)
	}
	q := u.Query()
	q.Set("_txlock", "deferred")
	u.RawQuery = q.Encode()
	return u.String(), nil
}

func openGorm(d gorm.Dialector, log *slog.Logger) (*gorm.DB, error) {
	db, err := gorm.Open(d, &gorm.Config{
		SkipDefaultTransaction: true, // only InTx begins and commits
		DisableAutomaticPing:   true,
		// Errors are not translated: the translation drops the name of the index that refused a row. errors.go knows
		// them. The caller logs the failure, with the request.
		Logger: logger.NewSlogLogger(log, logger.Config{LogLevel: logger.Silent}),
	})
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return db, nil
}

// debugLogger sends the driver's lines about broken connections to the debug log. Each of them also reaches a caller
// as an error.
type debugLogger struct{ log *slog.Logger }

func (q debugLogger) Print(v ...any) { q.log.Debug("mysql", "said", fmt.Sprint(v...)) }

// Ping asks whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.pools[0].PingContext(ctx); err != nil {
		return fmt.Errorf("the database does not answer: %w", err)
	}
	return nil
}

// Pool returns the connection pool that orders are written through. Use it for statistics only: a statement on it
// would pass the breaker by.
func (s *Store) Pool() *sql.DB { return s.pools[0] }

// Close closes all connections.
func (s *Store) Close() error {
	if s.stopBreaker != nil {
		s.stopBreaker()
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.txTimeout)
	defer cancel()
	err := errors.Join(s.byID.queries.Close(ctx), s.byRequest.queries.Close(ctx))
	for _, pool := range s.pools {
		err = errors.Join(err, pool.Close())
	}
	return err
}
