package servers

import (
	"bytes"
	"errors"
	"fmt"
	"os"
)

const logTail = 2000 // bytes of a log that an error shows

// errPortTaken means that another program has the port; another port may do.
var errPortTaken = errors.New("port is taken")

// withLog adds to err the end of the log from the given offset on, and errPortTaken if the log says
// so.
func withLog(err error, log string, from int64) error {
	text, readErr := os.ReadFile(log)
	if readErr != nil {
		return fmt.Errorf("%w (and its log cannot be read: %w)", err, readErr)
	}
	text = text[min(from, int64(len(text))):]
	if bytes.Contains(bytes.ToLower(text), []byte("address already in use")) {
		err = errors.Join(err, errPortTaken)
	}
	text = bytes.TrimSpace(text[max(0, len(text)-logTail):])
	return fmt.Errorf("%w; its log %s ends:\n%s", err, log, text)
}
