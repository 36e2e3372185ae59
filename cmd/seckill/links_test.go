package main

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/seckill/cmd/seckill/internal/cli"
)

// In Kubernetes a Service seckill sets these in every pod that starts later.
func TestCommands_ServiceLinksOfKubernetes_AreNoUsageError(t *testing.T) {
	environ := []string{
		"SECKILL_PORT=tcp://10.96.12.7:8080", "SECKILL_SERVICE_HOST=10.96.12.7", "SECKILL_SERVICE_PORT=8080",
		"SECKILL_AUTH__SECRET=c8e1f0a94b27d6535e9b0c1d7fa46382",
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel() // reading the configuration comes first, and is all that is tried
	needs := map[string][]string{"token": {"--user", "1"}}
	tried := 0
	for _, cmd := range newRoot(cli.Console{}).Commands() {
		if cmd.Flags().Lookup("config") == nil {
			continue
		}
		tried++
		misspelt := append([]string{"SECKILL_PORT=8080"}, environ[1:]...)
		for name, of := range map[string][]string{"linked": environ, "misspelt": misspelt} {
			var out, complaint strings.Builder
			run(ended, append([]string{cmd.Name()}, needs[cmd.Name()]...), cli.Console{Out: &out, Err: &complaint, Environ: of})
			said := complaint.String()
			require.Equal(t, name == "misspelt", strings.Contains(said, "unknown variable"), "%s: %s", cmd.Name(), said)
		}
	}
	require.GreaterOrEqual(t, tried, 8)
}
