//go:build race

package app

// readyHeap is less here, because the race detector has shadow memory for each byte.
const readyHeap = 4 << 20
