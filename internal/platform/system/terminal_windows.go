package system

import (
	"os"

	"golang.org/x/sys/windows"
)

// IsColourTerminal reports whether f is a console that shows the escape sequences of colours. It turns them on: a
// console prints them as text otherwise.
func IsColourTerminal(f *os.File) bool {
	console := windows.Handle(f.Fd())
	var mode uint32
	if windows.GetConsoleMode(console, &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
