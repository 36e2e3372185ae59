// Package gobuild compiles our programs with the flags that all tests and tools share, so that nothing is
// compiled twice.
package gobuild

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
)

// Tags is the flag of go that everything here is built with: with another, a package is compiled once more.
const Tags = "-tags=nomsgpack"

// RaceFlags returns the flags of go for a program with the race detector, as `make test` has them. checkptr,
// which -race brings along, looks at every conversion of a pointer: the program makes none itself, and the
// embedded database makes so many that its tests would take a fifth longer. Without DWARF compiling
// takes 7 to 10 % less; the detector's reports need none.
func RaceFlags() []string { return []string{"-race", "-gcflags=all=-d=checkptr=0 -dwarf=false"} }

// Build compiles a program of the module in root into a file, with these flags of go build. "" is the module of the
// working directory.
func Build(ctx context.Context, root, file, pkg string, flags ...string) error {
	args := slices.Concat([]string{"build", "-o", file}, flags, []string{pkg})
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // our own packages
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", pkg, err, out)
	}
	return nil
}
