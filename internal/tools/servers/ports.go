package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
)

// The ports lie below those that Linux uses for outgoing connections (32768 and up), and so do the
// ports of the cluster bus. Any client could take a port of that range while its server is down,
// and a client that dials it again and again would at last reach itself.
//
//	12000 … 21999   servers, each with its bus port 10,000 above
//	32000 … 32767   programs of ours that are started again at their addresses
const (
	firstPort = 12000
	lastPort  = 21999
	busOffset = 10000 // Redis Cluster's nodes talk on port + 10000
	portTries = 5     // starts, each on other ports
	pickTries = 1000  // ports tried before giving up

	firstProgramPort = 32000
	programPorts     = 768
)

// claimed are the ports that this process has for as long as it lives, also while a server is down:
// it is started again on its port.
var claimed = struct {
	sync.Mutex
	ports map[int]io.Closer // of claimPort
}{ports: map[int]io.Closer{}}

// claim reports whether the port is this process's from now on.
func claim(ctx context.Context, port int) bool {
	held, err := claimPort(ctx, port)
	if err != nil {
		return false
	}
	claimed.ports[port] = held
	return true
}

// freePorts returns n different ports of the loopback address without a listener, on them or on
// their bus ports, that no other process has claimed. It returns no port twice in the life of the process.
func freePorts(ctx context.Context, n int) ([]int, error) {
	claimed.Lock()
	defer claimed.Unlock()
	var ports []int
	for range pickTries {
		if len(ports) == n {
			return ports, nil
		}
		port := firstPort + rand.IntN(lastPort-firstPort+1) //nolint:gosec // a port is no secret
		if claimed.ports[port] != nil || !free(ctx, port) || !free(ctx, port+busOffset) || !claim(ctx, port) {
			continue
		}
		ports = append(ports, port)
	}
	return nil, fmt.Errorf("no %d free ports between %d and %d", n, firstPort, lastPort)
}

// programPort begins anywhere, so that two processes seldom want the same port.
var programPort = rand.IntN(programPorts) //nolint:gosec // a port is no secret

// FreeAddr returns an address of the loopback interface without a listener, which it has not returned lately.
func FreeAddr(ctx context.Context) (string, error) {
	claimed.Lock()
	defer claimed.Unlock()
	for range programPorts {
		programPort = (programPort + 1) % programPorts
		if port := firstProgramPort + programPort; free(ctx, port) {
			return addrOf(port), nil
		}
	}
	return "", fmt.Errorf("no free port of %d from %d on", programPorts, firstProgramPort)
}

func free(ctx context.Context, port int) bool {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addrOf(port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

func addrOf(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// onFreePorts calls start with n free ports, and again with others if one of
// them was taken between the choice and the start.
func onFreePorts[T any](ctx context.Context, n int, start func(ports []int) (T, error)) (T, error) {
	var none T
	var last error
	for range portTries {
		ports, err := freePorts(ctx, n)
		if err != nil {
			return none, err
		}
		started, err := start(ports)
		if err == nil {
			return started, nil
		}
		last = err
		if !errors.Is(err, errPortTaken) {
			break
		}
	}
	return none, last
}
