package testservers

import (
	"flag"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// seed is drawn once in a process, unless TEST_SEED sets it.
var seed = func() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("TEST_SEED"), 10, 64); err == nil {
		return n
	}
	return uint64(time.Now().UnixMilli())
}()

// All reports whether TEST_ALL is set, as by `make test-all`: nothing is sampled.
func All() bool { return os.Getenv("TEST_ALL") != "" }

// Sample draws few of all, in their order, where all are too many for every run. What is drawn
// follows from the test's name and a seed, which is logged: TEST_SEED draws the same again. With
// TEST_ALL it returns all of them, and so it does where -run names a subtest, which could be any.
func Sample[T any](t testing.TB, few int, all []T) []T {
	t.Helper()
	if All() || subtestsNamed() || few >= len(all) {
		return all
	}
	sample := make([]T, few)
	for i, n := range draw(t, "sample", few, len(all)) {
		sample[i] = all[n]
	}
	return sample
}

// draw returns few different numbers below all, in their order. What they are for is part of the draw:
// otherwise a test that is drawn would always draw the same of two views.
func draw(t testing.TB, purpose string, few, all int) []int {
	t.Helper()
	drawn := rand.New(rand.NewPCG(seed, hash(t.Name()+" "+purpose))).Perm(all)[:few]
	slices.Sort(drawn)
	t.Logf("%d of %d, drawn by TEST_SEED=%d", few, all, seed)
	return drawn
}

func subtestsNamed() bool { return strings.Contains(flag.Lookup("test.run").Value.String(), "/") }

func hash(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return h.Sum64()
}

// Drawn reports whether a test is one of so many that are drawn for what costs too much to be done
// in each, as Sample draws. With TEST_ALL every test is.
func Drawn(t testing.TB, oneOf int) bool {
	t.Helper()
	if All() {
		return true
	}
	return draw(t, "drawn", 1, oneOf)[0] == 0
}

// OneOf leaves a test out unless it is one of so many that are drawn, for tests that are many of a kind and
// cost much each: the visitors of the page, a suite on each kind of server. Command skips counts those
// left out apart from what is skipped. With TEST_ALL, and where -run names tests, none is.
func OneOf(t testing.TB, n int) {
	t.Helper()
	if All() || flag.Lookup("test.run").Value.String() != "" || draw(t, "one of", 1, n)[0] == 0 {
		return
	}
	t.Skipf("%s %d", NotDrawn, seed)
}

// NotDrawn begins the reason for which OneOf leaves a test out.
const NotDrawn = "not drawn by TEST_SEED"

// Checks makes rapid draw so many sequences in a test instead of a hundred, unless -rapid.checks asks for
// another number. With TEST_ALL it changes nothing.
func Checks(t testing.TB, few int) {
	t.Helper()
	const name, usual = "rapid.checks", "100"
	if All() || flag.Lookup(name).Value.String() != usual {
		return
	}
	check(t, flag.Set(name, strconv.Itoa(few)))
	t.Cleanup(func() { check(t, flag.Set(name, usual)) })
}
