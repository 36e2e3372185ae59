package servers

import (
	"context"
	_ "embed"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

//go:embed clock/clock.c
var clockSource []byte

// Clock is the time of day of a server, which can be moved while it runs. It works for programs
// that ask the C library, as Redis and MariaDB do, not for those in Go.
type Clock struct {
	library, file string
}

// NewClock returns a clock that shows the right time, with its files in dir. It needs a C compiler;
// one that is not installed is a *MissingError.
func NewClock(ctx context.Context, dir string) (*Clock, error) {
	compiler, err := look("gcc", "gcc")
	if err != nil {
		return nil, err
	}
	source := filepath.Join(dir, "clock.c")
	c := &Clock{library: filepath.Join(dir, "clock.so"), file: filepath.Join(dir, "clock")}
	if err := os.WriteFile(source, clockSource, 0o600); err != nil {
		return nil, fmt.Errorf("write the clock: %w", err)
	}
	if err := run(ctx, filepath.Join(dir, "clock.log"), nil, compiler, "-shared", "-fPIC", "-O1", "-o", c.library, source); err != nil {
		return nil, err
	}
	return c, c.Move(0)
}

// Move sets how far the clock is ahead of the right time, or, below zero, behind. The servers see
// it at once.
func (c *Clock) Move(by time.Duration) error {
	// Written in place, because the servers have mapped the file.
	file, err := os.OpenFile(c.file, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("move the clock: %w", err)
	}
	_, err = file.Write(binary.NativeEndian.AppendUint64(nil, uint64(by))) //nolint:gosec // its bits
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("move the clock: %w", err)
	}
	return nil
}

// ByClock makes a server use c.
func ByClock(c *Clock) Setting { return Setting{clock: c} }
