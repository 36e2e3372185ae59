package api

import (
	"bufio"
	"bytes"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// However the bytes come, the same is seen in them; and what net/http takes for a request with both
// lengths is seen.
func FuzzContentLength_TwoLengths_AreNoticed(f *testing.F) {
	for _, s := range []string{
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\ntransfer-encoding:chunked\r\nCONTENT-LENGTH:0\r\n\r\n",
		"POST / HTTP/1.1\nHost: x\nContent-Length: 3\nTransfer-Encoding: chunked\n\n0\n\n",
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n", "\r\n\r\n", "Content-Length:\n\nTransfer-Encoding:", "\n\r\n\r",
	} {
		f.Add(s, uint(7))
	}
	f.Fuzz(func(t *testing.T, s string, parts uint) {
		var whole, pieces framedConn
		whole.look([]byte(s))
		step := int(parts%17) + 1
		for rest := []byte(s); len(rest) > 0; rest = rest[min(step, len(rest)):] {
			pieces.look(rest[:min(step, len(rest))])
		}
		if whole.ambiguous.Load() != pieces.ambiguous.Load() {
			t.Fatalf("%q is another request in parts of %d bytes", s, step)
		}
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(s)))
		if err != nil || len(r.TransferEncoding) == 0 {
			return
		}
		head, _, _ := bytes.Cut([]byte(s), []byte("\r\n\r\n"))
		if bytes.Contains(bytes.ToLower(head), []byte("\ncontent-length:")) && !bytes.Contains(head, []byte("\n\n")) &&
			!whole.ambiguous.Load() {
			t.Fatalf("%q has two lengths", s)
		}
	})
}

// An address is one client, which all addresses of its /64 are; what is no address is itself.
func FuzzClientAddress_AnyText_IsOneClient(f *testing.F) {
	for _, s := range []string{"203.0.113.7", "2001:db8::1", "::ffff:203.0.113.7", "fe80::1%eth0", "", "x", "1.2.3.4:80", "::", "2001:db8::/64"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		key := addressKey(s)
		addr, err := netip.ParseAddr(s)
		if err != nil || addr.Unmap().Is4() {
			if key != s {
				t.Fatalf("%q is counted as %q", s, key)
			}
			return
		}
		if block, err := netip.ParsePrefix(key); err != nil || block.Bits() != 64 || !block.Contains(addr.WithZone("")) {
			t.Fatalf("%q is counted as %q", s, key)
		}
	})
}

// A network that is read has the address that it was written with.
func FuzzTrustedProxy_AnyText_IsItsNetwork(f *testing.F) {
	for _, s := range []string{"10.0.0.0/8", "10.1.2.3", "::ffff:10.0.0.0/104", "fc00::/7", "fe80::1%eth0", "::/0", "x", "1.2.3.4/33", "/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		network, err := parseNetwork(s)
		if err != nil {
			return
		}
		text, _, _ := strings.Cut(s, "/")
		addr, err := netip.ParseAddr(text)
		if err != nil {
			t.Fatalf("%q was read as %s", s, network)
		}
		if addr = addr.WithZone(""); !network.Contains(addr) && !network.Contains(addr.Unmap()) {
			t.Fatalf("%q was read as %s, without itself", s, network)
		}
	})
}

// Of a header of tags the one is found that is written in it, and no other.
func FuzzIfNoneMatch_AnyHeader_FindsItsTag(f *testing.F) {
	for _, s := range []string{`"a"`, `W/"a"`, `*`, `"b", "a"`, ``, `a`, `"a`, `W/ "a"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		const tag = `"a"`
		if hasTag([]string{s}, tag) && !strings.Contains(s, tag) && !strings.Contains(s, "*") {
			t.Fatalf("%q names no %s", s, tag)
		}
		if !hasTag([]string{s, tag}, tag) || !hasTag([]string{s + ",W/" + tag}, tag) {
			t.Fatalf("beside %q the tag was not found", s)
		}
	})
}

// What is taken for JSON says so, and says nothing else.
func FuzzContentType_AnyHeader_AcceptsOnlyJSON(f *testing.F) {
	for _, s := range []string{"application/json", "APPLICATION/JSON; charset=UTF-8", "text/plain", "application/json;charset=gbk", "", ";", "application/json;x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		said := saysJSON(http.Header{"Content-Type": {s}})
		if said && !strings.HasPrefix(strings.ToLower(strings.TrimSpace(s)), "application/json") {
			t.Fatalf("%q was taken for JSON", s)
		}
		if saysJSON(http.Header{"Content-Type": {s, s}}) || saysJSON(http.Header{"Content-Type": {s}, "Content-Encoding": {"gzip"}}) {
			t.Fatalf("%q was taken for JSON twice, or compressed", s)
		}
	})
}
