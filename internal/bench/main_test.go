package bench

import (
	"testing"

	"seckill/internal/testbed/testservers"
)

func TestMain(m *testing.M) {
	buildFlags, conns = testservers.DrawnFlags(), 16
	testservers.Main(m)
}
