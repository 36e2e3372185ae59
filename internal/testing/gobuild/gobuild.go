// Package gobuild compiles the programs of this module. All tests and tools share its flags, so that go
// compiles no package twice.
package gobuild

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
)

// Tags is the go flag of every build here. A build with other tags would compile each package again.
const Tags = "-tags=nomsgpack"

// RaceFlags returns the go flags for a program with the race detector. `make test` uses the same flags.
//
// -race enables checkptr, which checks every conversion of a pointer. The program makes no such conversion, and
// the embedded database makes enough of them that its tests would take a fifth longer. The flags therefore
// disable checkptr. Without DWARF, compiling takes 7 to 10 % less time, and the detector's reports do not need
// DWARF.
func RaceFlags() []string { return []string{"-race", "-gcflags=all=-d=checkptr=0 -dwarf=false"} }

// Build compiles pkg, a program of the module in root, into file, with the given flags of go build. If root is
// "", Build uses the module of the working directory.
func Build(ctx context.Context, root, file, pkg string, flags ...string) error {
	args := slices.Concat([]string{"build", "-o", file}, flags, []string{pkg})
	cmd := exec.CommandContext(ctx, "go", args...) //nolint:gosec // our own packages
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", pkg, err, out)
	}
	return nil
}
