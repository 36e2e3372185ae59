package testservers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// built keeps the programs open for as long as the tests run.
var built []*os.File

// BuildFlags are the flags by which the tests were built, if they were by the Makefile:
// with others a program that they start would be compiled from the ground up.
func BuildFlags(tags ...string) []string {
	flags := []string{"-tags=" + strings.Join(append(tags, "nomsgpack"), ",")}
	if race {
		flags = append(flags, "-race")
	}
	return flags
}

// Build compiles a program, with the race detector if the tests have it, and gives
// the path to run it by. Its file is removed at once and it is run through its
// descriptor, so that nothing stays behind however the tests end. It is for TestMain,
// before Main.
func Build(pkg string, tags ...string) (path string, err error) {
	dir, err := os.MkdirTemp("", "seckill-build-")
	if err != nil {
		return "", fmt.Errorf("build %s: %w", pkg, err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "program")
	cmd := exec.Command("go", slices.Concat([]string{"build", "-o", file}, BuildFlags(tags...), []string{pkg})...)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("build %s: %w", pkg, err)
	}
	open, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", pkg, err)
	}
	built = append(built, open)
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), open.Fd()), nil
}
