package servers_test

import (
	"testing"

	"seckill/internal/servers/testservers"
)

func TestMain(m *testing.M) { testservers.Main(m) }
