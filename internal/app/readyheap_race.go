//go:build race

package app

// readyHeap is less here, because the race detector maps four bytes more for each.
const readyHeap = 4 << 20
