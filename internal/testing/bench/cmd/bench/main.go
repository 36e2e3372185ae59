// Command bench measures the program on private servers and prints one table. It exits with 1 if
// any audit was not clean: such a speed is none.
//
//	go run ./internal/testing/bench/cmd/bench [-quick] [-only word,word] [-connections N] [-json] [-profiles FOLDER] [-o FILE] [-svg FILE]
//
// It is run at the root of the module.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"example.com/seckill/internal/testing/bench"
	"example.com/seckill/internal/tools/tool"
)

func main() { tool.Main("bench", run) }

func run(ctx context.Context) error {
	o := bench.Options{Log: os.Stderr}
	flag.BoolVar(&o.Quick, "quick", false, "one short round: whether everything works, not how fast it is")
	only := flag.String("only", "", "only what has one of these words, parted by commas, in its name")
	flag.IntVar(&o.Connections, "connections", 128, "buyers that are served at once")
	asJSON := flag.Bool("json", false, "print JSON")
	out := flag.String("o", "", "write the table, or the JSON, to this file too")
	svg := flag.String("svg", "", "draw the offered load into this file")
	flag.StringVar(&o.Profiles, "profiles", "", "write a CPU profile of the program on each path into this folder")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	if *only != "" {
		o.Only = strings.Split(*only, ",")
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // what matters is returned as an error
	if o.Profiles != "" {
		if err := os.MkdirAll(o.Profiles, 0o750); err != nil {
			return err //nolint:wrapcheck // it names the folder
		}
	}
	r, err := bench.Run(ctx, o)
	if err != nil {
		return err
	}
	write := r.WriteText
	if *asJSON {
		write = r.WriteJSON
	}
	if err := write(os.Stdout); err != nil {
		return err
	}
	if *out != "" {
		err = tool.WriteFile(*out, write)
	}
	if *svg != "" && len(r.Load) > 0 {
		err = errors.Join(err, tool.WriteFile(*svg, r.WriteSVG))
	}
	return errors.Join(err, r.Verdict())
}
