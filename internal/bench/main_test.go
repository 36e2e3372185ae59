package bench

import (
	"context"
	"strings"
	"testing"

	"seckill/internal/testbed/testservers"
)

func TestMain(m *testing.M) {
	build = func(_ context.Context, _, _, pkg string) (string, error) {
		return testservers.BuildDrawn("seckill/" + strings.TrimPrefix(strings.TrimPrefix(pkg, "./"), "seckill/"))
	}
	conns = 16
	testservers.Main(m)
}
