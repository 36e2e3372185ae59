package system

import (
	"fmt"
	"math"

	"golang.org/x/sys/windows"
)

// DescriptorLimit returns the largest number that callers count with: Windows bounds handles by memory alone.
func DescriptorLimit() int { return math.MaxInt32 }

// FreeBytes returns the free space for this user on the volume of dir, in bytes.
func FreeBytes(dir string) (uint64, error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, fmt.Errorf("read the free space of %s: %w", dir, err)
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(name, &free, nil, nil); err != nil {
		return 0, fmt.Errorf("read the free space of %s: %w", dir, err)
	}
	return free, nil
}
