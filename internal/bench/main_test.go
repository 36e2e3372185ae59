package bench

import (
	"testing"

	"seckill/internal/servers/testservers"
)

func TestMain(m *testing.M) { testservers.Main(m) }
