package app

import (
	"io"
	"log/slog"
	"os"

	"github.com/lmittmann/tint"
	"golang.org/x/term"

	"seckill/internal/config"
)

// NewLog returns a logger that writes JSON, or coloured text to a terminal.
func NewLog(cfg config.Log, to io.Writer) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Level)); err != nil {
		level = slog.LevelInfo // the configuration has checked the word
	}
	terminal := isTerminal(to)
	if cfg.Format == "text" || cfg.Format == "auto" && terminal {
		return slog.New(tint.NewTextHandler(to, &tint.Options{Level: level, NoColor: !terminal}))
	}
	return slog.New(slog.NewJSONHandler(to, &slog.HandlerOptions{Level: level}))
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
