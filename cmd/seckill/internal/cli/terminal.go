package cli

import (
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"example.com/seckill/internal/platform/system"
)

// Colours reports whether text for w may be coloured: w is a terminal, and NO_COLOR is not set.
func (c Console) Colours(w io.Writer) bool {
	f, is := w.(*os.File)
	return is && system.IsColourTerminal(f) && !c.refusesColour()
}

// refusesColour reports whether NO_COLOR has a value, whatever it is.
func (c Console) refusesColour() bool {
	for _, one := range c.Environ {
		if value, is := strings.CutPrefix(one, "NO_COLOR="); is {
			return value != ""
		}
	}
	return false
}

// Program returns how the user calls this program, for commands that the user may type next.
func Program() string {
	called := os.Args[0]
	if !strings.Contains(filepath.ToSlash(called), "/go-build") {
		return called
	}
	tags := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "-tags" {
				tags = "-tags " + s.Value + " "
			}
		}
	}
	return "go run " + tags + "./cmd/seckill"
}
