package cli

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWrapped_Paragraphs_FitTheWidth(t *testing.T) {
	t.Parallel()
	require.Equal(t, "one two\nthree\n\n  kept as it is\n\ngäß ü\nfour", wrapped("one\ntwo three\n\n  kept as it is\n\ngäß ü four", 7))
	require.Empty(t, wrapped("", 7))
}
