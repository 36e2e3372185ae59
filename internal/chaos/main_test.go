package chaos_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"seckill/internal/servers/testservers"
)

// binary is a seckill with fault points, open for as long as the tests run, and program
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

// build compiles the program with the tag faults and removes the file at once: it is
// run through its descriptor, so that nothing stays behind however the tests end.
func build() (*os.File, error) {
	dir, err := os.MkdirTemp("", "seckill-chaos-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "seckill")
	cmd := exec.Command("go", "build", "-tags", "faults", "-o", path, "../../cmd/seckill")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	return os.Open(path)
}
