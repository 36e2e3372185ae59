package rush

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// halfWay is a run in which six of ten taps have an outcome.
func halfWay(out *strings.Builder) *run {
	r := &run{Options: Options{Users: 10, ProgressOutput: out}, tally: newTally(), sale: sale{Stock: 9, Left: 8}}
	for range 7 {
		r.countTap()
	}
	for range 3 {
		r.countAccepted(&ack{}, time.Now(), 0)
	}
	r.countRefusal("limit_reached", arrival{since: time.Now()})
	r.countRefusal("request_in_progress", arrival{since: time.Now()})
	r.countFailure("timeout")
	return r
}

const standing = "asked 7  accepted 3  refused 2  left 5  failed 1"

func TestProgress_Bar_ShowsFigures(t *testing.T) {
	var out strings.Builder
	_, draw, finish := halfWay(&out).bar()
	draw()
	require.Contains(t, out.String(), standing)
	require.Contains(t, out.String(), "60%")
	finish()
	require.True(t, strings.HasSuffix(out.String(), "\r"), "the line is cleared for the report")
}

func TestProgress_File_GetsPlainLines(t *testing.T) {
	var out strings.Builder
	_, draw, finish := halfWay(&out).lines()
	draw()
	finish()
	require.Equal(t, standing+"\n", out.String())
}

func TestProgress_Terminal_GetsABar(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	require.False(t, onTerminal(f))
	require.False(t, onTerminal(&strings.Builder{}))
}

// A visitor of the page may have bought some of it.
func TestProgress_SoldOutAnswer_LeavesZeroUnits(t *testing.T) {
	r := halfWay(nil)
	r.countRefusal("sold_out", arrival{since: time.Now()})
	_, text := r.progressLine()
	require.Contains(t, text, "left 0")
	r.cancelled = 1 // what is cancelled is sold again
	_, text = r.progressLine()
	require.Contains(t, text, "left 6")
}
