package chaos

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

// RunLog keeps the results of all rounds: of this run and, if it has a file, of every earlier run
// that wrote to it.
type RunLog struct {
	mu   sync.Mutex
	file *os.File
	all  []Result
	err  error
}

// maxLine bounds a line of the file: a result with its logs.
const maxLine = 4 << 20

// OpenRunLog reads the results in a file of JSON lines, and appends to it. With an empty path they
// are kept in memory only.
func OpenRunLog(path string) (*RunLog, error) {
	if path == "" {
		return &RunLog{}, nil
	}
	b := &RunLog{}
	if old, err := os.Open(path); err == nil {
		err = errors.Join(b.read(old), old.Close())
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the log: %w", err)
	}
	var err error
	if b.file, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	return b, nil
}

func (b *RunLog) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var one Result
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return fmt.Errorf("line %d: %w", len(b.all)+1, err)
		}
		b.all = append(b.all, one)
	}
	return lines.Err()
}

// Add records a result. Close returns an error of the file.
func (b *RunLog) Add(r Result) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, r)
	if b.file != nil {
		b.err = errors.Join(b.err, json.NewEncoder(b.file).Encode(r))
	}
}

// Summary adds up everything in the run log.
func (b *RunLog) Summary() Summary {
	b.mu.Lock()
	defer b.mu.Unlock()
	return summarize(b.all)
}

// Close closes the file, and returns what could not be written.
func (b *RunLog) Close() error {
	if b.file == nil {
		return nil
	}
	return errors.Join(b.err, b.file.Close())
}
