//go:build !race

package testservers

// race reports whether the tests were built with the race detector. The programs that they start
// are built alike, so that nothing is compiled for them alone.
const race = false
