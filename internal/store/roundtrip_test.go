package store

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"
)

// TestExecBatch_StatementBehindTheLastAnswerFails_ReturnsItsError fails each statement of a round trip in
// turn: the first, one between two answers, and the last, which has no answer behind it.
func TestExecBatch_StatementBehindTheLastAnswerFails_ReturnsItsError(t *testing.T) {
	onEach(t, func(t *testing.T, s *subject) {
		raw(t, s, "CREATE TABLE batch_rows (id INTEGER PRIMARY KEY)")
		insert := statement{sql: "INSERT INTO batch_rows VALUES (1)"}
		for name, at := range map[string]int{"first": 1, "between": 2, "last": 3} {
			t.Run(name, func(t *testing.T) {
				raw(t, s, "DELETE FROM batch_rows")
				var n, answers int
				count := statement{sql: "SELECT COUNT(*) FROM batch_rows", dest: []any{&n}, onRow: func() { answers++ }}
				batch := []statement{insert, count, count}
				batch = append(batch[:at:at], append([]statement{insert}, batch[at:]...)...)

				err := s.runTx(t.Context(), s.write, nil, func(ctx context.Context, db *gorm.DB) error {
					return groupTx{db.Statement.ConnPool, s.dialect}.execBatch(ctx, batch...)
				})

				require.True(t, isDuplicate(err), "the second insert of the same id: %v", err)
				require.Equal(t, at-1, answers, "answers of the statements before it")
			})
		}
	})
}
