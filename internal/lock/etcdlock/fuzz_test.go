package etcdlock

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func FuzzRaisedFence_AnyText_IsANumberOrRefused(f *testing.F) {
	for _, text := range []string{"0", "17", "18446744073709551615", "18446744073709551616", "-1", "", "1 ", "0x1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := parseOffset([]byte(text))
		if want, bad := strconv.ParseUint(text, 10, 64); bad == nil {
			require.NoError(t, err)
			require.Equal(t, want, n)
			return
		}
		require.ErrorContains(t, err, strconv.Quote(text))
	})
}
