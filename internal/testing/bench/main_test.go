package bench

import (
	"context"
	"strings"
	"testing"

	"example.com/seckill/internal/testing/testservers"
)

func TestMain(m *testing.M) {
	build = func(_ context.Context, _, _, pkg string) (string, error) {
		return testservers.BuildDrawn("example.com/seckill/" + strings.TrimPrefix(strings.TrimPrefix(pkg, "./"), "example.com/seckill/"))
	}
	conns = 16
	testservers.Main(m)
}
