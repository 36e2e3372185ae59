//go:build !faults

package main

import (
	"errors"
	"net/http"

	"github.com/spf13/cobra"

	"seckill/internal/lock"
	"seckill/internal/order"
)

// In an ordinary build nothing comes between the parts: see faults.go for the other.

func faultyEnviron(environ []string) ([]string, error) { return environ, nil }

func faultyBackend(b lock.Backend) lock.Backend { return b }

func faultyService(p order.Deps) order.Deps { return p }

func faultyReconciler(p order.ReconcilerDeps) order.ReconcilerDeps { return p }

func faultyAdmin(h http.Handler) http.Handler { return h }

// extraCommands tells where the one is that only the other build has.
func extraCommands(console) []*cobra.Command {
	return []*cobra.Command{{
		Use: "chaos", Hidden: true, DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return usage(errors.New("chaos is in builds with fault points alone: make chaos, or go run -tags faults ./cmd/seckill chaos"))
		},
	}}
}
