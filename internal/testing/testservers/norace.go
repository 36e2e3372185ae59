//go:build !race

package testservers

// race reports whether the tests were built with the race detector. What Build compiles for them
// has it too, so that nothing is compiled for them alone.
const race = false
