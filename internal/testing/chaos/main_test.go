package chaos_test

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"example.com/seckill/internal/testing/testservers"
)

// program is the path of a seckill with fault points.
var program string

func TestMain(m *testing.M) {
	flag.Parse()
	if !testing.Short() {
		var err error
		if program, err = testservers.BuildDrawn("../../../cmd/seckill", "faults"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	testservers.Main(m)
}
