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

// seed is random for each process, unless TEST_SEED sets it.
var seed = func() uint64 {
	if n, err := strconv.ParseUint(os.Getenv("TEST_SEED"), 10, 64); err == nil {
		return n
	}
	return uint64(time.Now().UnixMilli())
}()

// All reports whether TEST_ALL is set, as `make test-all` does. Nothing is sampled then.
func All() bool { return os.Getenv("TEST_ALL") != "" }

// Sample draws few elements of all, in their order, for a test whose cases are too many for every run. The draw
// depends on the test's name and a seed. Sample logs the seed, and TEST_SEED repeats the draw. With TEST_ALL,
// Sample returns all elements. It also returns all if -run names a subtest, which could be any of them.
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

// draw returns few different numbers below all, in their order. The draw depends on the purpose. Otherwise a
// test that Drawn selects would always get the same one of two views from Sample.
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

// Drawn reports whether this test is drawn, with a chance of one in oneOf, for work that costs too much for
// each test. It draws as Sample does. With TEST_ALL, every test is drawn.
func Drawn(t testing.TB, oneOf int) bool {
	t.Helper()
	if All() {
		return true
	}
	return draw(t, "drawn", 1, oneOf)[0] == 0
}

// OneOf skips a test unless it is drawn, with a chance of one in n. It is for tests that cost much and have
// many relatives, such as the visitors of the page, or a suite on each kind of server. Command skips counts
// these tests separately from other skips. With TEST_ALL, or where -run names tests, OneOf skips none.
func OneOf(t testing.TB, n int) {
	t.Helper()
	if All() || flag.Lookup("test.run").Value.String() != "" || draw(t, "one of", 1, n)[0] == 0 {
		return
	}
	t.Skipf("%s %d", NotDrawn, seed)
}

// NotDrawn is the beginning of the reason with which OneOf skips a test.
const NotDrawn = "not drawn by TEST_SEED"

// Checks makes rapid draw few sequences in a test instead of a hundred, unless -rapid.checks sets another
// number. With TEST_ALL, Checks changes nothing.
func Checks(t testing.TB, few int) {
	t.Helper()
	const name, usual = "rapid.checks", "100"
	if All() || flag.Lookup(name).Value.String() != usual {
		return
	}
	check(t, flag.Set(name, strconv.Itoa(few)))
	t.Cleanup(func() { check(t, flag.Set(name, usual)) })
}
