package scale

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A small one, so that what makes the figures does not break unseen.
func TestALoadingIsPlayed(t *testing.T) {
	e, err := Open(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, e.Close()) }()
	l, err := e.PlayLoading(t.Context(), 500)
	require.NoError(t, err)
	require.EqualValues(t, 500, l.Noted, "every buyer is known to the shards")
	require.Zero(t, l.Others.Refused)
	require.Positive(t, l.Publish)
	require.Positive(t, l.Restore)
}
