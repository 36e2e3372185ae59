//go:build !linux

package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

var errClaimed = errors.New("another process has claimed the port")

// claimPort claims a port for this process. It locks a file in the folder for temporary files: one process can do
// that, and the claim ends with the process.
func claimPort(_ context.Context, port int) (io.Closer, error) {
	lock := flock.New(filepath.Join(os.TempDir(), fmt.Sprintf("seckill-port-%d.lock", port)))
	locked, err := lock.TryLock()
	if err == nil && !locked {
		err = errClaimed
	}
	return lock, err //nolint:wrapcheck // freePorts tries another port
}
