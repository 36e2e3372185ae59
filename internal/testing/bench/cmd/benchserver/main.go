// Command benchserver runs the program on private servers for a load generator, until it is
// told to stop. It prints what the generator needs to know, a NAME=value a line; the
// last line begins with #.
//
//	go run ./internal/testing/bench/cmd/benchserver [-users N] [-embedded] [-design NAME] [SECKILL_NAME=value …]
package main

import (
	"context"
	"errors"
	"flag"
	"os"

	"example.com/seckill/internal/testing/bench"
	"example.com/seckill/internal/tools/tool"
)

func main() { tool.Main("benchserver", run) }

func run(ctx context.Context) error {
	o := bench.EnvOptions{Root: "."}
	flag.IntVar(&o.Users, "users", 20_000, "how many users have a token")
	flag.BoolVar(&o.Embedded, "embedded", false, "on embedded stores, whatever is installed")
	flag.StringVar(&o.Design, "design", "", "what makes the orders (default: this program's own order path)")
	flag.Parse()
	o.Settings = flag.Args()
	s, err := bench.OpenEnv(ctx, o)
	if err != nil {
		return err
	}
	if err := s.WriteEnv(os.Stdout); err != nil {
		return errors.Join(err, s.Close())
	}
	<-ctx.Done()
	return s.Close()
}
