package ratelimit_test

import (
	"testing"

	"example.com/seckill/internal/testbed/testservers"
)

func TestMain(m *testing.M) { testservers.Main(m) }
