package mysqlforms

import (
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"
)

func TestPoisons_StatementThatTheServerBrokeOff_IsRunAgain(t *testing.T) {
	for _, number := range []uint16{1020, 1205, 1213, 1317, 1969, 3024} {
		require.True(t, poisons(&mysql.MySQLError{Number: number}), number)
	}
	require.False(t, poisons(&mysql.MySQLError{Number: 1064}))
}
