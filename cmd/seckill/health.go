package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"example.com/seckill/cmd/seckill/internal/cli"
	"example.com/seckill/internal/app"
)

func newHealth(c cli.Console) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "health",
		Short: "Ask a running server whether it is ready",
		Long: `Asks /readyz of the second listener, admin.addr of the configuration, and prints what it says. The
exit code is 0 if the server is ready and 1 if it is not, or does not answer. With --live it asks
/healthz, which says only that the process is there. With --public it asks the public
listener, which has neither, for its page's description of itself.`,
		Example: "  seckill health\n  seckill health --live --timeout 1s\n  seckill health --url http://10.0.0.7:6060",
		Args:    cli.NoArgs,
	}
	load := c.ConfigFlag(cmd)
	var ask app.HealthCheck
	f := cmd.Flags()
	f.StringVar(&ask.URL, "url", "", "the listener, as http://host:port (default: of the configuration, on this machine)")
	f.BoolVar(&ask.Live, "live", false, "ask whether the process is there, and not whether it can serve")
	f.BoolVar(&ask.Public, "public", false, "ask the public listener")
	f.StringVar(&ask.CA, "ca", "", "of an https --url: a file of the authorities to trust, in PEM (default: the system's)")
	f.DurationVar(&ask.Timeout, "timeout", 3*time.Second, "how long the server has to answer")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, err := load()
		if err != nil {
			return err
		}
		said, err := ask.Ask(cmd.Context(), cfg)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintln(c.Out, said)
		return nil
	}
	return cmd
}
