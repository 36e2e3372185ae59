package app

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// released is the version of a release; .ci/release sets it when it links.
var released string

// Version returns the release, the module's version or the commit, whichever is known first.
func Version() string {
	if released != "" {
		return released
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return s.Value[:12]
		}
	}
	return "devel"
}

// VersionText returns the version of the program and what it was built with and for.
func VersionText() string {
	return fmt.Sprintf("seckill %s %s %s/%s", Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
