package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/config"
)

// pipe takes lines while it is open, and keeps its writer waiting while it is not.
type pipe struct {
	open chan struct{}
	err  error

	mu   sync.Mutex
	text bytes.Buffer
}

func (p *pipe) Write(b []byte) (int, error) {
	<-p.open
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err != nil {
		return 0, p.err
	}
	return p.text.Write(b)
}

func (p *pipe) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

func TestLogWriter_NoReader_CountsDroppedLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipe{open: make(chan struct{})}
		w := NewLogWriter(p)
		log := NewLog(config.Log{Level: "info", Format: "json"}, w)
		log.Info("first")
		synctest.Wait() // it is being written, and does not get through
		const many = 50_000
		for i := range many {
			log.Info("line", "n", i) // would wait for ever
		}
		dropped := w.Dropped()
		require.Positive(t, dropped)
		require.Less(t, dropped, many, "as many lines as there is room for are kept")

		close(p.open)
		synctest.Wait()
		lines := strings.Split(strings.TrimSpace(p.said()), "\n")
		require.Len(t, lines, 1+many-dropped+1)
		require.Contains(t, lines[0], `"first"`)
		for i, line := range lines[1 : len(lines)-1] {
			require.Contains(t, line, fmt.Sprintf(`"n":%d}`, i), "in their order")
		}
		var last struct {
			Level, Msg string
			Lines      int
		}
		require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &last))
		require.Equal(t, "WARN", last.Level)
		require.Equal(t, dropped, last.Lines, last.Msg)

		log.Info("again")
		w.Close()
		require.True(t, strings.HasSuffix(p.said(), `"msg":"again"}`+"\n"), "Close waits for what was written")
		require.Equal(t, dropped, w.Dropped())
	})
}

func TestLogWriter_WriteFails_IsCountedAndReportedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipe{open: make(chan struct{}), err: errors.New("no space left on device")}
		close(p.open)
		w := NewLogWriter(p)
		log := NewLog(config.Log{Level: "info", Format: "json"}, w)
		log.Info("one")
		log.Info("two")
		synctest.Wait()
		require.Equal(t, 2, w.Dropped())
		p.mu.Lock()
		p.err = nil
		p.mu.Unlock()
		log.Info("three")
		synctest.Wait()
		require.Contains(t, p.said(), `"lines":2}`)
		w.Close()
	})
}

func TestLogWriter_NoReader_DoesNotBlockExit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipe{open: make(chan struct{})}
		w := NewLogWriter(p)
		_, _ = w.Write([]byte("line\n"))
		w.Close() // a second of the bubble's clock, and then it returns
		close(p.open)
	})
}

func TestLogWriter_Close_WritesLastLineLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipe{open: make(chan struct{})}
		close(p.open)
		w := NewLogWriter(p)
		log := NewLog(config.Log{Level: "info", Format: "json"}, w)
		for range 3 {
			log.Warn("away")
		}
		w.Last("seckill: stopped")
		lines := strings.Split(p.said(), "\n")
		require.Len(t, lines, 4)
		require.Contains(t, lines[1], `"times":2`)
		require.Equal(t, "seckill: stopped", lines[2])
	})
}
