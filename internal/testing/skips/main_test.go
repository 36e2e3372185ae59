package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/seckill/internal/testing/testservers"
)

// event returns a line of go test -json.
func event(action, test, output string) string {
	return fmt.Sprintf(`{"Action":%q,"Package":"example.com/seckill/internal/x","Test":%q,"Output":%q}`+"\n", action, test, output)
}

// ended returns the lines of a test that wrote a message and ended with an action.
func ended(action, test, message string) string {
	return event("run", test, "") + event("output", test, "    x_test.go:7: 1 of 3, drawn\n") +
		event("output", test, message) + event(action, test, "")
}

func TestReport_SkippedTest_FailsUnlessAllowed(t *testing.T) {
	in := ended("pass", "TestA", "    x_test.go:8: quiet\n") + ended("skip", "TestB", "    x_test.go:9: needs a moon\n") +
		ended("skip", "TestC/inside", "    x_test.go:9: needs a moon\n") + ended("pass", "TestC", "")
	for allow, want := range map[bool]string{
		false: "2 skipped: needs a moon\n  internal/x TestB\n  internal/x TestC/inside\n",
		true:  "2 skipped: needs a moon\n",
	} {
		var out strings.Builder
		err := report(&out, strings.NewReader(in), allow)
		assert.Equal(t, want+"2 passed, 0 failed, 2 skipped, 0 not drawn by TEST_SEED\n", out.String())
		if allow {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "2 tests were skipped")
		}
	}
}

func TestReport_TestNotDrawn_IsNotSkipped(t *testing.T) {
	require.Equal(t, testservers.NotDrawn, notDrawn)
	var out strings.Builder
	in := ended("pass", "TestA", "") + ended("skip", "TestB", "    x_test.go:9: "+testservers.NotDrawn+" 7\n")
	require.NoError(t, report(&out, strings.NewReader(in), false))
	require.Equal(t, "1 passed, 0 failed, 0 skipped, 1 not drawn by TEST_SEED\n", out.String())
}

func TestReport_SkipWithoutReason_IsListed(t *testing.T) {
	var out strings.Builder
	in := event("run", "TestA", "") + event("skip", "TestA", "") + ended("pass", "TestB", "")
	require.Error(t, report(&out, strings.NewReader(in), false))
	require.Contains(t, out.String(), "1 skipped: it gave no reason\n  internal/x TestA\n")
}

func TestReport_NoTestPassed_Fails(t *testing.T) {
	for name, in := range map[string]string{
		"no output": "", "a failure": ended("fail", "TestA", ""), "a build failure": event("fail", "", ""),
	} {
		require.ErrorContains(t, report(&strings.Builder{}, strings.NewReader(in), true), "no test passed", name)
	}
	require.ErrorContains(t, report(&strings.Builder{}, strings.NewReader("no JSON\n"), true), "no JSON")
}
