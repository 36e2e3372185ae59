package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

type logLine struct {
	Level, Msg, Task, Error string
	Times                   int
}

// logBuffer is written to by the goroutines of timers, too.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.b.Reset()
	return l.b.String()
}

func linesOf(t *testing.T, b *logBuffer) (all []logLine) {
	t.Helper()
	for line := range strings.Lines(b.take()) {
		var one logLine
		require.NoError(t, json.Unmarshal([]byte(line), &one))
		all = append(all, one)
	}
	return all
}

func TestWarnings_SameCause_AreLoggedOncePerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b logBuffer
		h := newCalmHandler(slog.NewJSONHandler(&b, nil))
		log := slog.New(h)
		fail := func(task string) { log.Warn("background task failed", "task", task, "error", errors.New("away")) }
		for range 30 {
			fail("relay")
			fail("expire")
			time.Sleep(time.Second)
		}
		log.Info("told")
		log.Info("told")
		log.Error("failed")
		log.Error("failed")
		got := linesOf(t, &b)
		require.Len(t, got, 6, "one a task, and all that is no warning")
		require.Equal(t, []string{"relay", "expire"}, []string{got[0].Task, got[1].Task})
		require.Zero(t, got[0].Times)

		time.Sleep(31 * time.Second)
		synctest.Wait()
		got = linesOf(t, &b)
		require.Len(t, got, 2)
		require.Equal(t, 29, got[0].Times)
		require.Equal(t, "away", got[0].Error, "the last of them is shown")

		time.Sleep(2 * time.Minute) // in which there was none: it is new again
		fail("relay")
		require.Len(t, linesOf(t, &b), 1)

		fail("relay")
		fail("relay")
		h.flush()
		got = linesOf(t, &b)
		require.Len(t, got, 1, "the end does not swallow what was kept back")
		require.Equal(t, 2, got[0].Times)
	})
}

func TestWarnings_LoggerWithAttributes_AreDistinct(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b logBuffer
		h := newCalmHandler(slog.NewJSONHandler(&b, nil))
		for range 2 {
			slog.New(h).With("task", "a").Warn("failed")
			slog.New(h).With("task", "b").Warn("failed")
		}
		require.Len(t, linesOf(t, &b), 2)
		h.flush()
		require.Len(t, linesOf(t, &b), 2)
	})
}
