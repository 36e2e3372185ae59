package app

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLog_Terminal_IsColouredUnlessNoColorIsSet(t *testing.T) {
	for value, coloured := range map[string]bool{"": true, "1": false} {
		t.Setenv("NO_COLOR", value)
		var out strings.Builder
		slog.New(newHandler("auto", slog.LevelInfo, &out, true)).Warn("clock skew detected")
		require.Equal(t, coloured, strings.Contains(out.String(), "\x1b["), "NO_COLOR=%s: %q", value, out.String())
	}
}
