// The tests of this package run the real program, built as the tests are, as
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
	"testing"

	"seckill/internal/testbed/testservers"
)

// program is the path of the program under test.
var program string

func TestMain(m *testing.M) {
	var err error
	if program, err = testservers.Build("."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testservers.Main(m)
}
