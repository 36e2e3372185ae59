package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"example.com/seckill/internal/tools/servers"
)

// Output is where the results of a run go.
type Output struct {
	Report, Progress io.Writer
	Page             string // a file for the report as a page; "" is none
	Log              string // a file that every round is appended to; "" is none
	JSON             bool   // the report is one JSON object
}

// ErrBroken is that a round has failed, which the report tells.
var ErrBroken = errors.New("chaos: a round has failed")

// Play runs this very program under o and reports. It returns ErrBroken if a round has
// failed.
func Play(ctx context.Context, o Options, out Output) (err error) {
	if err := servers.NeedLinux("chaos, which stops processes and reads /proc"); err != nil {
		return err
	}
	o.Program = fmt.Sprintf("/proc/%d/exe", os.Getpid()) // also when its file is built anew or removed meanwhile
	rounds, err := OpenRunLog(out.Log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rounds.Close()) }()
	show := NewProgress(out.Progress, o)
	o.Each = func(r Result) {
		rounds.Add(r)
		show.Round(r)
	}
	o.Log = show.Printf
	failed := Run(ctx, o)
	sum := rounds.Summary()
	if out.JSON {
		if err := json.NewEncoder(out.Report).Encode(sum); err != nil {
			return fmt.Errorf("print the report: %w", err)
		}
	} else if err := sum.WriteText(out.Report); err != nil {
		return err
	}
	if out.Page != "" {
		if err := sum.WritePage(out.Page); err != nil {
			return err
		}
	}
	switch {
	case failed != nil:
		return failed
	case sum.Failed > 0:
		return ErrBroken
	case ctx.Err() != nil:
		return errors.New("stopped before all rounds were played")
	}
	return nil
}
