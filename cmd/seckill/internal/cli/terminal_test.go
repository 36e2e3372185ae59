package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestColours_FileOrNoColor_AreOff(t *testing.T) {
	t.Parallel()
	f, err := os.Create(filepath.Join(t.TempDir(), "report"))
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	require.False(t, Console{}.Colours(f))
	require.False(t, Console{}.Colours(&strings.Builder{}))
	require.True(t, Console{Environ: []string{"NO_COLOR=1"}}.refusesColour())
	require.False(t, Console{Environ: []string{"NO_COLOR="}}.refusesColour())
	require.False(t, Console{}.refusesColour())
}
