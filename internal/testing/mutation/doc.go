// Package mutation tests the tests. It plants one bug at a time and reports whether the tests that must detect
// the bug fail.
//
// A mutant is a patch to one source file, in the folder testdata/mutants of its suite. The source itself never
// changes: for one run, go test overlays the file with a patched copy.
//
//	x.patch ─▶ copy of x.go, changed ─▶ go test -overlay … ─▶ killed, or SURVIVED
//
// The package does not promise that a suite without a survivor is complete. Such a suite detects the planted
// bugs, and no more is known about it.
//
// The package is separate because it belongs to no other package. The locks and the order path have mutants,
// and neither may know of the tests that overlay it.
//
// The text of a patch begins with one sentence about the bug. The tests of the mutant follow, and each of them
// must fail by itself:
//
//	Mutation: a release frees the key whoever holds it.
//	Killed by: ./internal/lock/redislock -run TestRedisLock_StandaloneServer_KeepsContract/handles/7
//	Tries: 10
//	Quick: yes
//
// The diff follows, in the format of git. The lines "Tries" and "Quick" are optional. A mutant that depends on
// timing must be killed in each of its tries. The ordinary tests also try a quick mutant. Line numbers in the
// diff are only a hint, but the lines before the change must occur in the file exactly once.
//
// A run writes a line for each tried mutant to a file of results. The next run continues from this file. It
// tries a mutant again if the patch has changed, or a file of the packages that are mutated and tested. It also
// tries a mutant again if the mutant was neither killed nor survived.
package mutation
