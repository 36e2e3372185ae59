//go:build !race

package app

// readyHeap is how many bytes of the heap are mapped before a sale needs them. With the rest it stays below softLimit.
const readyHeap = 80 << 20
