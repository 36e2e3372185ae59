// The tests of this package run the real program, built with the race detector, as
// processes of its own:
//
//	test ─▶ shop (a database, a Redis) ─▶ fleet of instances ─▶ HTTP, signals
//
// A test ends each process that it started, and fails if one of them had a data
// race, panicked, or did not end with exit code 0 when it was asked to.
package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"seckill/internal/servers/testservers"
)

// binary is the program under test, open for as long as the tests run, and program
// its path.
var (
	binary  *os.File
	program string
)

func TestMain(m *testing.M) {
	var err error
	if binary, err = build(); err != nil {
		fmt.Fprintln(os.Stderr, "build the program:", err)
		os.Exit(1)
	}
	program = fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), binary.Fd())
	testservers.Main(m)
}

// build compiles the program and removes the file at once: it is run through its
// descriptor, so that nothing stays behind however the tests end.
func build() (*os.File, error) {
	dir, err := os.MkdirTemp("", "seckill-e2e-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "seckill")
	cmd := exec.Command("go", "build", "-race", "-o", path, ".")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	return os.Open(path)
}
