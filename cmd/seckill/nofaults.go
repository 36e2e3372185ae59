//go:build !faults

package main

import (
	"net/http"

	"github.com/spf13/cobra"

	"seckill/internal/lock"
	"seckill/internal/order"
)

// In an ordinary build nothing comes between the parts: see faults.go for the other.

func faultyEnviron(environ []string) ([]string, error) { return environ, nil }

func faultyBackend(b lock.Backend) lock.Backend { return b }

func faultyService(p order.Parts) order.Parts { return p }

func faultySettler(p order.SettlerParts) order.SettlerParts { return p }

func faultyAdmin(h http.Handler) http.Handler { return h }

func extraCommands(console) []*cobra.Command { return nil }
