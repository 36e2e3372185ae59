package idworker

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzMark_AnyMark_RoundTripsOrIsNamed(f *testing.F) {
	for _, text := range []string{"1795248100708 17", "0 0", "", " ", "x 1", "99999999999999999999 1", "-1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := markOf(7, text); err != nil {
			require.ErrorContains(t, err, strconv.Quote(text))
		}
		ms := int64(len(text))
		got, err := markOf(7, strconv.FormatInt(ms, 10)+" "+text)
		require.NoError(t, err)
		require.Equal(t, ms, got)
	})
}
