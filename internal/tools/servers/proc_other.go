//go:build !linux

package servers

import "time"

// CPU returns an error: this system does not report the processor time of another process.
func CPU(int) (time.Duration, error) {
	return 0, NeedLinux("reading the processor time of another process")
}

// PeakMemory returns an error: this system does not report the peak memory of another process.
func PeakMemory(int) (int64, error) { return 0, NeedLinux("reading the peak memory of a process") }

// ResetPeakMemory returns an error, as PeakMemory does.
func ResetPeakMemory(int) error { return NeedLinux("resetting the peak memory of a process") }
