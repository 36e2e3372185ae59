package ratelimit_test

import (
	"testing"

	"seckill/internal/testbed/testservers"
)

func TestMain(m *testing.M) { testservers.Main(m) }
