//go:build !faults

package main

import (
	"errors"
	"net/http"

	"github.com/spf13/cobra"

	"seckill/internal/lock"
	"seckill/internal/order"
)

// An ordinary build has no fault points: faults.go has them, behind a build tag.

func armFaults(environ []string) ([]string, error) { return environ, nil }

func faultyBackend(b lock.Backend) lock.Backend { return b }

func faultyService(p order.Deps) order.Deps { return p }

func faultyReconciler(p order.ReconcilerDeps) order.ReconcilerDeps { return p }

func faultyAdmin(h http.Handler) http.Handler { return h }

// extraCommands returns a hidden chaos command that names the build that has it.
func extraCommands(console) []*cobra.Command {
	return []*cobra.Command{{
		Use: "chaos", Hidden: true, DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return usage(errors.New("chaos needs a build with fault points: make chaos, or go run -tags faults ./cmd/seckill chaos"))
		},
	}}
}
