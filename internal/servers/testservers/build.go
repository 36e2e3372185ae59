package testservers

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// built keeps the programs open for as long as the tests run.
var built []*os.File

// Build compiles a program and gives the path to run it by. Its file is removed at
// once and it is run through its descriptor, so that nothing stays behind however the
// tests end. It is for TestMain, before Main.
func Build(pkg string, flags ...string) (path string, err error) {
	dir, err := os.MkdirTemp("", "seckill-build-")
	if err != nil {
		return "", fmt.Errorf("build %s: %w", pkg, err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, "program")
	cmd := exec.Command("go", append(append([]string{"build", "-o", file}, flags...), pkg)...)
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
