package testservers_test

import (
	"flag"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	_ "pgregory.net/rapid" // its flags

	"example.com/seckill/internal/testing/testservers"
)

// `make test-all` promises to run everything.
func TestSample_TestAllIsSet_ReturnsEverything(t *testing.T) {
	t.Setenv("TEST_ALL", "1")
	require.Equal(t, testservers.BuildFlags("faults"), testservers.DrawnFlags("faults"))
	require.Len(t, testservers.Sample(t, 1, []int{1, 2, 3}), 3)
	require.True(t, testservers.Drawn(t, 1000))
	testservers.Checks(t, 7)
	require.Equal(t, "100", flag.Lookup("rapid.checks").Value.String())
}

// TestSample_OneTest_DrawsFewerSequences asks rapid's flag in a test and after it.
func TestSample_OneTest_DrawsFewerSequences(t *testing.T) {
	t.Setenv("TEST_ALL", "")
	checks := flag.Lookup("rapid.checks").Value
	t.Run("drawn", func(t *testing.T) {
		testservers.Checks(t, 7)
		require.Equal(t, "7", checks.String())
	})
	require.Equal(t, "100", checks.String())
}

// TestSample_NamedSubtest_Exists: it would pass if it were not drawn.
func TestSample_NamedSubtest_Exists(t *testing.T) {
	t.Setenv("TEST_ALL", "")
	run := flag.Lookup("test.run").Value
	before := run.String()
	t.Cleanup(func() { require.NoError(t, run.Set(before)) })
	all := []int{1, 2, 3}
	require.NoError(t, run.Set("TestBackend_OneServer_KeepsContract"))
	require.Len(t, testservers.Sample(t, 1, all), 1)
	require.NoError(t, run.Set("TestBackend_OneServer_KeepsContract/handles/7"))
	require.Equal(t, all, testservers.Sample(t, 1, all))
}

// TestSample_DrawnTest_DrawsFromAllViews: what one draw came to says nothing of the next.
func TestSample_DrawnTest_DrawsFromAllViews(t *testing.T) {
	t.Setenv("TEST_ALL", "")
	run := flag.Lookup("test.run").Value
	before := run.String()
	t.Cleanup(func() { require.NoError(t, run.Set(before)) })
	require.NoError(t, run.Set(""))
	seen := map[string]int{}
	for i := range 1000 {
		one := &drawing{TB: t, name: strconv.Itoa(i)}
		if testservers.OneOf(one, 2); one.reason == "" {
			seen[testservers.Sample(one, 1, []string{"one view", "the other"})[0]]++
			seen[strconv.FormatBool(testservers.Drawn(one, 2))]++
		}
	}
	for _, what := range []string{"one view", "the other", "true", "false"} {
		require.Greater(t, seen[what], 100, "%s of %v", what, seen)
	}
}

// The test calls OneOf for many tests, each by its name, and for one that -run names.
func TestOneOf_NotDrawn_SkipsWithReason(t *testing.T) {
	t.Setenv("TEST_ALL", "")
	run := flag.Lookup("test.run").Value
	before := run.String()
	t.Cleanup(func() { require.NoError(t, run.Set(before)) })
	const tests, oneOf = 1000, 4
	play := func() (played int, reasons []string) {
		for i := range tests {
			one := &drawing{TB: t, name: strconv.Itoa(i)}
			testservers.OneOf(one, oneOf)
			if one.reason == "" {
				played++
			} else {
				reasons = append(reasons, one.reason)
			}
		}
		return played, reasons
	}
	require.NoError(t, run.Set(""))
	played, reasons := play()
	require.Greater(t, played, tests/oneOf/3)
	require.Less(t, played, tests*3/oneOf/2)
	for _, r := range reasons {
		require.Regexp(t, "^"+testservers.NotDrawn+` \d+$`, r)
	}
	again, _ := play()
	require.Equal(t, played, again, "the same seed draws the same")
	require.NoError(t, run.Set("TestPage_Tour_MakesThePictures"))
	played, _ = play()
	require.Equal(t, tests, played)
}

// drawing is a test that notes why it was skipped.
type drawing struct {
	testing.TB

	name, reason string
}

func (d *drawing) Name() string                 { return d.name }
func (d *drawing) Logf(string, ...any)          {}
func (d *drawing) Skipf(text string, of ...any) { d.reason = fmt.Sprintf(text, of...) }
