package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/order"
)

func TestUnavailable_Database_SaysWhy(t *testing.T) {
	for number, want := range map[uint16]string{
		1290: CauseReadOnly, 1792: CauseReadOnly, 1836: CauseReadOnly, 1021: CauseFull, 1026: CauseFull, 1114: CauseFull,
		1878: CauseFull, 1037: CauseMemory, 1038: CauseMemory, 1041: CauseMemory, 1040: CauseConnections, 1203: CauseConnections,
		1226: CauseConnections, 1047: CauseNoMajority, 1053: CauseAway, 1927: CauseAway, 3169: CauseAway, 4031: CauseAway,
		1205: CauseAway, 1317: CauseInterrupted, 1969: CauseInterrupted, 3024: CauseInterrupted, 1028: CauseInterrupted,
		1064: CauseRejected, 1142: CauseRejected, 1030: CauseRejected, 4025: CauseRejected,
	} {
		err := fmt.Errorf("place: %w", classify(&mysql.MySQLError{Number: number, Message: "said"}))
		require.Equal(t, want, Cause(err), number)
		require.ErrorIs(t, err, order.ErrUnavailable)
	}
	full := &mysql.MySQLError{Number: 1030, Message: `Got error 28 "No space left on device" from storage engine InnoDB`}
	require.Equal(t, CauseFull, Cause(classify(full)))
	require.Equal(t, CauseAway, Cause(classify(driver.ErrBadConn)))
	require.Equal(t, CauseAway, Cause(classify(context.DeadlineExceeded)))
	require.Empty(t, Cause(fmt.Errorf("%w: redis", order.ErrUnavailable)), "of another store")
	require.Empty(t, Cause(classify(&mysql.MySQLError{Number: 1062})))
	require.Empty(t, Cause(errors.New("other")))
	require.Equal(t, order.ErrUnavailable.Error()+": away", (&unavailableError{CauseAway, errors.New("away")}).Error())
}
