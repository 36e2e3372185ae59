package api

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// ConnLimits bounds the connections of a listener.
type ConnLimits struct {
	// Max is how many connections there are at once. More wait in the system's queue, where
	// they cost no descriptor, for one of them to end.
	Max int
	// PerAddress is how many of them one address may have; more are closed at once. 0 is no
	// limit. An IPv6 client is its whole /64.
	PerAddress int
	// TrustedProxies are addresses and networks without such a limit, since many clients
	// share them; so is this machine.
	TrustedProxies []string
	Log            *slog.Logger
}

// Listen returns a listener of l's connections within the limits. It is meant for the http.Server
// that serves the API, with ConnContext.
func Listen(l net.Listener, o ConnLimits) (net.Listener, error) {
	b := &boundListener{
		Listener: l, o: o, slots: make(chan struct{}, o.Max), closed: make(chan struct{}), from: map[string]int{},
		full: rate.Sometimes{Interval: time.Minute}, refused: rate.Sometimes{Interval: time.Minute},
	}
	for _, text := range o.TrustedProxies {
		network, err := parseNetwork(text)
		if err != nil {
			return nil, fmt.Errorf("api: trusted proxies: %w", err)
		}
		b.exempt = append(b.exempt, network)
	}
	return b, nil
}

// parseNetwork reads a network, or an address as a network of one.
func parseNetwork(text string) (netip.Prefix, error) {
	if strings.Contains(text, "/") {
		p, err := netip.ParsePrefix(text)
		if in6 := 128 - 32; err == nil && p.Addr().Is4In6() && p.Bits() >= in6 {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-in6)
		}
		return p, err //nolint:wrapcheck // Listen wraps it
	}
	addr, err := netip.ParseAddr(text)
	addr = addr.Unmap().WithZone("")
	return netip.PrefixFrom(addr, addr.BitLen()), err
}

type boundListener struct {
	net.Listener

	o       ConnLimits
	exempt  []netip.Prefix
	slots   chan struct{}
	closed  chan struct{}
	once    sync.Once
	full    rate.Sometimes // of the log
	refused rate.Sometimes

	mu   sync.Mutex
	from map[string]int // connections by address
}

// Accept waits for a slot, and then for a connection whose address has one left.
func (b *boundListener) Accept() (net.Conn, error) {
	select {
	case b.slots <- struct{}{}:
	default:
		b.full.Do(func() {
			b.o.Log.Warn("all connections are taken: new clients wait", "listener", b.Addr().String(), "max_connections", b.o.Max)
		})
		select {
		case b.slots <- struct{}{}:
		case <-b.closed:
			return nil, net.ErrClosed
		}
	}
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			<-b.slots
			return nil, err //nolint:wrapcheck // net/http looks at it
		}
		key, ok := b.enter(c.RemoteAddr())
		if ok {
			return &framedConn{Conn: c, leave: sync.OnceFunc(func() { b.leave(key) })}, nil
		}
		b.refused.Do(func() {
			b.o.Log.Warn("too many connections of one address: closed", "address", key, "max_connections_per_address", b.o.PerAddress)
		})
		_ = c.Close() // it was told nothing, so it can be told no error
	}
}

// Close closes the listener, also for a caller that waits for a slot.
func (b *boundListener) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.Listener.Close() //nolint:wrapcheck // net/http looks at it
}

// enter counts a connection from addr, and reports whether the address may have it. The key is
// empty if it is not counted.
func (b *boundListener) enter(addr net.Addr) (key string, ok bool) {
	if key = b.key(addr); key == "" {
		return "", true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.from[key] >= b.o.PerAddress {
		return key, false
	}
	b.from[key]++
	return key, true
}

func (b *boundListener) leave(key string) {
	<-b.slots
	if key == "" {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.from[key]--; b.from[key] == 0 {
		delete(b.from, key)
	}
}

// key returns what connections from addr are counted by, or "" if they are not.
func (b *boundListener) key(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || b.o.PerAddress == 0 {
		return ""
	}
	ip := tcp.AddrPort().Addr().Unmap()
	if ip.IsLoopback() {
		return ""
	}
	for _, network := range b.exempt {
		if network.Contains(ip) {
			return ""
		}
	}
	return addressKey(ip.String())
}
