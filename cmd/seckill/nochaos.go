//go:build !faults

package main

import (
	"errors"

	"github.com/spf13/cobra"

	"example.com/seckill/cmd/seckill/internal/cli"
)

// armFaults returns the variables as they are: an ordinary build has no fault points.
func armFaults(environ []string) ([]string, error) { return environ, nil }

// extraCommands returns a hidden chaos command that names the build that has it.
func extraCommands(cli.Console) []*cobra.Command {
	return []*cobra.Command{{
		Use: "chaos", Hidden: true, DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return cli.Usage(errors.New("chaos needs a build with fault points: make chaos, or go run -tags faults ./cmd/seckill chaos"))
		},
	}}
}
