package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"seckill/internal/coupon"
	"seckill/internal/order"
)

func TestEveryErrorHasItsMeaning(t *testing.T) {
	numbered := func(n uint16) error { return &mysql.MySQLError{Number: n, Message: "said the server"} }
	for name, tc := range map[string]struct {
		err  error
		want error
	}{
		"a lock wait that timed out":    {numbered(1205), errRetry},
		"a deadlock":                    {numbered(1213), errRetry},
		"a row that changed":            {numbered(1020), errRetry},
		"a row that is locked":          {numbered(3572), errRetry},
		"too many connections":          {numbered(1040), order.ErrUnavailable},
		"a node without the majority":   {numbered(1047), order.ErrUnavailable},
		"a server that shuts down":      {numbered(1053), order.ErrUnavailable},
		"a server that is read only":    {numbered(1290), order.ErrUnavailable},
		"a session that was killed":     {numbered(1927), order.ErrUnavailable},
		"a disk that is full":           {numbered(1021), order.ErrUnavailable},
		"a file that cannot be written": {numbered(1026), order.ErrUnavailable},
		"a table that has no room":      {numbered(1114), order.ErrUnavailable},
		"a connection that broke":       {mysql.ErrInvalidConn, order.ErrUnavailable},
		"a connection that never was":   {driver.ErrBadConn, order.ErrUnavailable},
		"a connection that was refused": {&net.OpError{Op: "dial", Err: errors.New("refused")}, order.ErrUnavailable},
		"an answer that ended early":    {io.ErrUnexpectedEOF, order.ErrUnavailable},
		"a budget that is spent":        {context.DeadlineExceeded, order.ErrUnavailable},
		"a transaction that is over":    {sql.ErrTxDone, order.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			got := classify(fmt.Errorf("insert: %w", tc.err))
			require.ErrorIs(t, got, tc.want)
			require.ErrorIs(t, got, tc.err, "the cause is kept")
			require.Equal(t, got, classify(got), "once is enough")
		})
	}
	for name, err := range map[string]error{
		"a check that failed":      numbered(4025),
		"a check that failed, too": numbered(3819),
		"a refusal":                coupon.ErrSoldOut,
		"a caller that left":       context.Canceled,
		"a mistake in a statement": numbered(1064),
		"no error":                 nil,
	} {
		require.Equal(t, err, classify(err), name)
	}
}

// A disk that is full answers each statement, and is away as a server is that does not.
func TestAFullEmbeddedDatabaseIsAway(t *testing.T) {
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "full.db"))
	require.NoError(t, err)
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1) // the pragma is of a connection
	for _, statement := range []string{"CREATE TABLE t (x BLOB)", "PRAGMA max_page_count = 2"} {
		_, err = db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	_, err = db.ExecContext(t.Context(), "INSERT INTO t VALUES (zeroblob(100000))")
	require.ErrorContains(t, err, "full")
	require.ErrorIs(t, classify(err), order.ErrUnavailable)
}
