//go:build unix

package system

import (
	"fmt"
	"math"
	"syscall"
)

// DescriptorLimit returns the number of descriptors that this process may open. Go has raised the limit as far as the
// system allows.
func DescriptorLimit() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return math.MaxInt32
	}
	return int(min(uint64(limit.Cur), math.MaxInt32)) //nolint:unconvert // FreeBSD has a signed limit
}

// FreeBytes returns the free space for this user on the file system of dir, in bytes.
func FreeBytes(dir string) (uint64, error) {
	var free syscall.Statfs_t
	if err := syscall.Statfs(dir, &free); err != nil {
		return 0, fmt.Errorf("read the free space of %s: %w", dir, err)
	}
	return uint64(free.Bavail) * uint64(free.Bsize), nil //nolint:gosec,unconvert // sizes; FreeBSD has signed ones
}
