package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// The ports of instances lie below those that Linux uses for outgoing connections (32768 and up), and
// above those of testbed/servers: while an instance that is to come again is down, any client could
// take a port of the former.
const (
	firstPort = 32000
	ports     = 768
)

// nextPort begins anywhere, so that tests which run beside each other seldom want the same.
var nextPort = func() *atomic.Uint32 {
	n := new(atomic.Uint32)
	n.Store(rand.Uint32N(ports))
	return n
}()

// freeAddr is an address without a listener, which no other instance of these tests has had lately.
func freeAddr(t testing.TB) string {
	t.Helper()
	for range ports {
		addr := fmt.Sprintf("127.0.0.1:%d", firstPort+nextPort.Add(1)%ports)
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", addr)
		if err == nil {
			require.NoError(t, l.Close())
			return addr
		}
	}
	t.Fatal("no port is free")
	return ""
}
