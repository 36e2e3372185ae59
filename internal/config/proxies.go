package config

import (
	"fmt"
	"net/netip"
)

// The widest networks that one operator can own: 10.0.0.0/8 and fc00::/7. Any
// wider one holds strangers. Together, mostProxies of them are far from all.
const (
	widest4     = 8
	widest6     = 7
	mostProxies = 32
)

// mapped is where IPv4 addresses hide in IPv6.
var mapped = netip.MustParsePrefix("::ffff:0:0/96")

// checkProxies refuses proxies that trust every address: a trusted client can
// claim any client address, and with it escape the limits per address.
func checkProxies(wrong *problems, proxies []string) {
	const key = "http.trusted_proxies"
	if len(proxies) > mostProxies {
		wrong.add(fmt.Sprintf("%s has more than %d entries: write networks and not addresses", key, mostProxies), key)
	}
	for i, text := range proxies {
		p, err := parseProxy(text)
		switch {
		case err != nil:
			wrong.add(fmt.Sprintf("%s: entry %d must be a network such as 10.0.0.0/8, or an address", key, i+1), key)
		case tooWide(p):
			wrong.add(fmt.Sprintf("%s: entry %d trusts everybody: write your proxies' own network", key, i+1), key)
		}
	}
}

// parseProxy reads a network, or an address as a network of one.
func parseProxy(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		addr = addr.WithZone("")
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return p, fmt.Errorf("read a network: %w", err)
	}
	return p, nil
}

func tooWide(p netip.Prefix) bool {
	switch {
	case p.Addr().Is4():
		return p.Bits() < widest4
	case mapped.Contains(p.Addr()) && p.Bits() >= mapped.Bits():
		return p.Bits()-mapped.Bits() < widest4
	default:
		return p.Bits() < widest6 || p.Masked().Contains(mapped.Addr())
	}
}
