package app

import (
	"io"
	"log/slog"
	"os"

	"github.com/lmittmann/tint"

	"example.com/seckill/internal/config"
	"example.com/seckill/internal/platform/system"
)

// NewLog returns a logger that writes JSON, or text to a terminal, coloured unless NO_COLOR is set. On a LogWriter it
// warns once a cause and minute.
func NewLog(cfg config.Log, to io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Level)); err != nil {
		level = slog.LevelInfo // the configuration has checked the word
	}
	w, bounded := to.(*LogWriter)
	if bounded {
		direct := slog.New(newHandler(cfg.Format, level, w.to, isTerminal(w.to)))
		calm := newCalmHandler(newHandler(cfg.Format, level, w, isTerminal(w.to)))
		w.serve(func(lines int) { direct.Warn("log lines dropped: the log was not read in time", "lines", lines) }, calm.flush)
		return slog.New(calm)
	}
	return slog.New(newHandler(cfg.Format, level, to, isTerminal(to)))
}

func newHandler(format string, level slog.Level, to io.Writer, terminal bool) slog.Handler {
	if format == "text" || format == "auto" && terminal {
		return tint.NewTextHandler(to, &tint.Options{Level: level, NoColor: !terminal || os.Getenv("NO_COLOR") != ""})
	}
	return slog.NewJSONHandler(to, &slog.HandlerOptions{Level: level})
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && system.IsColourTerminal(f)
}
