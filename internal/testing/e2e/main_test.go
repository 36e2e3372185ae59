// Package e2e_test runs the real program, built once as the tests are and once as users build it,
// as processes of its own:
//
//	test ─▶ shop (a database, a Redis) ─▶ fleet of instances ─▶ HTTP, signals
//
// A test ends each process that it started, and fails if one of them had a data
// race, panicked, or did not end with exit code 0 when it was asked to.
package e2e_test

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"example.com/seckill/internal/testing/testservers"
)

// program is the path of the program under test, built as the tests are; plain is that of the one without
// the race detector, behind the page and the documents, and in most of the other tests: see drawnBuild.
var program, plain string

// dependOnSources lets a change of the program run its tests again.
var dependOnSources = sync.OnceFunc(testservers.DependOnSources)

func TestMain(m *testing.M) {
	var err error
	if program, err = testservers.Build("../../../cmd/seckill"); err == nil {
		plain, err = testservers.BuildPlain("../../../cmd/seckill")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testservers.Main(m, endBrowser)
}
