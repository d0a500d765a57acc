package api

import (
	"net/netip"
	"strings"
	"testing"
)

func clientKey(s string) string {
	a, err := netip.ParseAddr(s)
	if err != nil {
		return s
	}
	if a = a.Unmap().WithZone(""); a.Is4() {
		return a.String()
	}
	p, _ := a.Prefix(64)
	return strings.TrimSuffix(p.Addr().StringExpanded(), ":0000:0000:0000:0000") + "::/64"
}

var addresses = []string{
	"192.0.2.1", "2001:db8:1:2:3:4:5:6", "2001:db8::1", "::", "::1", "fe80::1%eth0", "::ffff:192.0.2.1", "::ffff:c000:201", "64:ff9b::192.0.2.33",
	"1:2:3:4:5:6:192.0.2.1", "1:2:3:4:5:6:7:192.0.2.1", "1:2:3:4:5:6:7:8:192.0.2.1", "1:2:3:4:5:192.0.2.1", "::2:3:4:5:6:7:192.0.2.1", "", "unknown", "2001:db8:::1", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", "12345::", ":1::", "::192.0.2", "::ffff:10.0.255.109", "::ffff:10.0.256.1", "::ffff:01.2.3.4", "::ffff:1..2.3", "::ffff:.1.2.3", "::ffff:1.2.3.4.5", "::ffff:9.10.99.100",
	"aF:Af::", "g::", "::1::", "::ffff:0:1", "00001::1", "::ffff:1.2.3.-4", "0:0:0:0:1:ffff:1:2", "1:2:3:4:5:6:7::", "1:",
}

func TestClientKey(t *testing.T) {
	for _, s := range addresses {
		if got := callerKey(s); got != clientKey(s) {
			t.Errorf("%q is %q, want %q", s, got, clientKey(s))
		}
	}
	if got := callerKey("2001:DB8:1:2:ffff::1"); got != "2001:0db8:0001:0002::/64" {
		t.Errorf("%q", got)
	}
}

func FuzzClientKey(f *testing.F) {
	for _, seed := range addresses {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.HasSuffix(s, "%") || strings.Contains(s, "%") && strings.HasPrefix(strings.ToLower(s), "::ffff:") {
			return // netip refuses an empty zone, and keeps a zone from being unmapped
		}
		if got := callerKey(s); got != clientKey(s) {
			t.Fatalf("%q is %q, want %q", s, got, clientKey(s))
		}
	})
}
