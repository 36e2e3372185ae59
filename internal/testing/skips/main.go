// Command skips reads the output of go test -json, counts the tests, and fails if a test was skipped:
//
//	go test -json ./... | go run ./internal/testing/skips [-allow]
//
// It prints each skipped test with its reason. With -allow, it prints each reason with the number of tests instead,
// and succeeds. A test that TEST_SEED did not draw is not a skipped test.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"gotest.tools/gotestsum/testjson"
)

// notDrawn begins the reason of a test that package testservers leaves out because its seed did not draw the test.
const notDrawn = "not drawn by TEST_SEED"

// message finds what a test wrote, without the file and line that package testing writes first.
var message = regexp.MustCompile(`(?m)^\s*\S+\.go:\d+: (.*)$`)

func main() {
	log.SetFlags(0)
	allow := flag.Bool("allow", false, "succeed although tests were skipped")
	flag.Parse()
	if err := report(os.Stdout, os.Stdin, *allow); err != nil {
		log.Fatal("skips: ", err)
	}
}

func report(out io.Writer, in io.Reader, allow bool) error {
	tests, err := testjson.ScanTestOutput(testjson.ScanConfig{Stdout: in})
	if err != nil {
		return fmt.Errorf("read the output of go test: %w", err)
	}
	undrawn, reasons := 0, map[string][]string{}
	for _, test := range tests.Skipped() {
		said := message.FindAllStringSubmatch(strings.Join(tests.OutputLines(test), ""), -1)
		reason := append([][]string{{"", "it gave no reason"}}, said...)[len(said)][1] // the last message
		if strings.HasPrefix(reason, notDrawn) {
			undrawn++
			continue
		}
		reasons[reason] = append(reasons[reason], testjson.RelativePackagePath(test.Package)+" "+test.Test.Name())
	}
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		_, _ = fmt.Fprintf(out, "%d skipped: %s\n", len(reasons[reason]), reason)
		if !allow {
			_, _ = fmt.Fprintf(out, "  %s\n", strings.Join(reasons[reason], "\n  "))
		}
	}
	skipped, failed, passed := len(tests.Skipped())-undrawn, len(tests.Failed()), 0
	for _, pkg := range tests.Packages() {
		passed += len(tests.Package(pkg).Passed)
	}
	_, _ = fmt.Fprintf(out, "%d passed, %d failed, %d skipped, %d not drawn by TEST_SEED\n", passed, failed, skipped, undrawn)
	switch {
	case passed == 0:
		return errors.New("no test passed")
	case skipped > 0 && !allow:
		return fmt.Errorf("%d tests were skipped, and a skipped test is a failure here", skipped)
	}
	return nil
}
