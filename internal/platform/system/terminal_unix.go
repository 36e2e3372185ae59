//go:build unix

package system

import (
	"os"

	"golang.org/x/term"
)

// IsColourTerminal reports whether f is a terminal, which then shows the escape sequences of colours.
func IsColourTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
