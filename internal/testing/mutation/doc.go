// Package mutation holds the tests to account: it plants bugs, one at a time, and
// reports whether the tests that must notice turn red.
//
// A mutant is a patch to one source file, kept in testdata/mutants beside its suite. It
// is never applied to the source: a patched copy is laid over it for one run.
//
//	x.patch ─▶ copy of x.go, changed ─▶ go test -overlay … ─▶ killed, or SURVIVED
//
// What it does not promise: that a suite with no survivor is complete. It is only known
// to see the bugs that were thought of.
//
// It is a package of its own because it belongs to no other: the locks and the order
// path keep mutants, and neither may know of the tests that are laid over it.
//
// The text of a patch begins with what is broken, in one sentence, and the tests
// that must turn red, each alone:
//
//	Mutation: a release frees the key whoever holds it.
//	Killed by: ./internal/lock/redislock -run TestOnAStandaloneServer/handles/7
//	Tries: 10
//	Quick: yes
//
// and the diff follows, as git makes it. The last two of these lines are optional: a
// mutant with timing in it must be killed in each of so many tries, and a quick one is
// tried by the ordinary tests as well. Line numbers in the diff are only a hint; what
// counts is that the lines before the change are in the file exactly once.
//
// A run keeps its results in a file, a line for each mutant as it goes, and the next
// goes on where it ended: it tries what has changed since (the patch, or a file of the
// packages that are mutated and tested) and what was neither killed nor survived.
package mutation
