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

	"example.com/seckill/internal/coupon"
	"example.com/seckill/internal/order"
)

func TestErrors_EveryNumber_HasItsMeaning(t *testing.T) {
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
		"a killed statement":            {numbered(1317), errRetry},
		"a killed sort":                 {numbered(1028), errRetry},
		"max_statement_time":            {numbered(1969), errRetry},
		"max_execution_time":            {numbered(3024), errRetry},
		"too many transactions":         {numbered(1637), errRetry},
		"a pending ALTER TABLE":         {numbered(1689), errRetry},
		"what is run again":             {numbered(1213), order.ErrUnavailable},
		"a check that MariaDB refused":  {numbered(4025), order.ErrUnavailable},
		"a check that MySQL refused":    {numbered(3819), order.ErrUnavailable},
		"a mistake in a statement":      {numbered(1064), order.ErrUnavailable},
		"a column that is not there":    {numbered(1054), order.ErrUnavailable},
		"a right that was taken":        {numbered(1142), order.ErrUnavailable},
		"an error of a later version":   {numbered(9999), order.ErrUnavailable},
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
		"a row that is there already": numbered(1062),
		"a smaller fence":             numbered(1690),
		"a refusal":                   coupon.ErrSoldOut,
		"a caller that left":          context.Canceled,
		"no error":                    nil,
	} {
		require.Equal(t, err, classify(err), name)
	}
}

// A disk that is full answers each statement, and is away as a server is that does not.
func TestErrors_EmbeddedDatabaseFull_IsUnavailable(t *testing.T) {
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
