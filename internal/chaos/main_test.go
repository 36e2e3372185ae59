package chaos_test

import (
	"fmt"
	"os"
	"testing"

	"seckill/internal/servers/testservers"
)

// program is the path of a seckill with fault points.
var program string

func TestMain(m *testing.M) {
	var err error
	if program, err = testservers.Build("../../cmd/seckill", "-tags", "faults"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testservers.Main(m)
}
