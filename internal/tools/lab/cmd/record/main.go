// Command record plays every experiment of the lab on private servers and writes the results that the
// program shows where it has no servers.
//
//	go run ./internal/tools/lab/cmd/record
//
// It is run at the root of the module, and writes nothing unless every experiment is as expected.
package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"time"

	"example.com/seckill/internal/tools/lab"
	"example.com/seckill/internal/tools/lab/harness"
	"example.com/seckill/internal/tools/tool"
)

const file = "internal/tools/lab/recordings.jsonl"

func main() { tool.Main("record", record) }

func record(ctx context.Context) error {
	servers := harness.NewServers(harness.Config{})
	var text bytes.Buffer
	err := errors.Join(lab.Record(ctx, &text, servers, time.Now()), servers.Close())
	if err != nil {
		return err
	}
	return os.WriteFile(file, text.Bytes(), 0o644) //nolint:gosec,wrapcheck // it is for all to read, and the error names it
}
