package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"seckill/internal/order"
)

func TestADatabaseThatIsUnavailableSaysWhy(t *testing.T) {
	for number, want := range map[uint16]string{
		1290: CauseReadOnly, 1836: CauseReadOnly, 1021: CauseFull, 1114: CauseFull, 1040: CauseConnections, 1047: CauseNoMajority,
		1053: CauseAway,
	} {
		err := fmt.Errorf("place: %w", classify(&mysql.MySQLError{Number: number, Message: "said"}))
		require.Equal(t, want, Cause(err), number)
		require.ErrorIs(t, err, order.ErrUnavailable)
	}
	require.Equal(t, CauseAway, Cause(classify(driver.ErrBadConn)))
	require.Equal(t, CauseAway, Cause(classify(context.DeadlineExceeded)))
	require.Empty(t, Cause(fmt.Errorf("%w: redis", order.ErrUnavailable)), "of another store")
	require.Empty(t, Cause(classify(&mysql.MySQLError{Number: 1062})))
	require.Empty(t, Cause(errors.New("other")))
	require.Equal(t, order.ErrUnavailable.Error()+": away", (&unavailableError{errors.New("away")}).Error())
}
