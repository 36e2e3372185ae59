// Package breaks holds the tests to account: it breaks the code on purpose, one
// line of defence at a time, and asks whether the suite that must notice turns red.
//
// A break is a patch to one source file, kept in a folder beside its suite. It is
// never applied to the source: a patched copy is laid over it for one run.
//
//	x.patch ─▶ copy of x.go, changed ─▶ go test -overlay … ─▶ caught, or MISSED
//
// What it does not promise: that a suite with no missed break is complete. It is
// only known to see what somebody has thought of breaking.
//
// It is a room of its own because it belongs to no other: the locks and the order
// path keep breaks, and neither may know of the tests that are laid over it.
//
// The text of a patch begins with what is broken, in one sentence, and the tests
// that must turn red, each alone:
//
//	Broken: a release frees the key whoever holds it.
//	Caught by: ./internal/lock/redislock -run TestOnAStandaloneServer/handles/7
//	Quick: yes
//
// and the diff follows, as git makes it. The last of these lines is optional: such a break is tried
// by the ordinary tests as well. Line numbers in the diff are only a hint; what
// counts is that the lines before the change are in the file exactly once.
package breaks
