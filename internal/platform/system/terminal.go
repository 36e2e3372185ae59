package system

import (
	"os"

	"golang.org/x/term"
)

// Columns returns the width of a terminal, or 0 if f is none or does not say.
func Columns(f *os.File) int {
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return columns
}
