package coupon

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// One coupon's trouble does not hide what is wrong with another.
func TestRestorer_CouponFailsAgain_LogsFirstFailure(t *testing.T) {
	var log bytes.Buffer
	w := restorer{
		Service: &Service{log: slog.New(slog.NewTextHandler(&log, nil))}, onResult: func(int, error) {}, failing: map[int64]bool{}, again: map[int64]bool{},
	}
	for _, e := range []struct {
		loadResult

		logs int
	}{
		{loadResult{err: errors.New("no list")}, 1},
		{loadResult{err: errors.New("no list")}, 0},
		{loadResult{coupon: 1, err: errors.New("away")}, 1},
		{loadResult{coupon: 1, err: errors.New("away")}, 0},
		{loadResult{coupon: 2, err: errors.New("may not use INFO")}, 1},
		{loadResult{coupon: 1, restored: true}, 0},
		{loadResult{coupon: 1, err: errors.New("away")}, 1},
		{loadResult{coupon: 3, err: ErrConflict}, 0},
	} {
		log.Reset()
		w.report(t.Context(), e.loadResult)
		require.Equal(t, e.logs, strings.Count(log.String(), "cannot be checked or restored"), "%+v", e.loadResult)
	}
}
