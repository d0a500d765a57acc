package api

import (
	"net/netip"
	"testing"
)

// Addresses of one /64 have one key, and those of another have another. An IPv4 address has one key
// in each form.
func TestClientKey(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "": "", "unknown": "unknown",
		"64:ff9b::c000:221": "192.0.2.33", "64:ff9b::221": "0.0.2.33", "64:ff9b::": "0.0.0.0", "64:ff9b::c000:0": "192.0.0.0",
		"64:ff9b:1::c000:221": "64:ff9b:1:0::/64", "::ffff:0:c000:221": "0:0:0:0::/64", "64:ff9b::1:c000:221": "64:ff9b:0:0::/64",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "2001:db8:1:2::": "2001:db8:1:2::/64", "2001:db8:1:2:ffff::1": "2001:db8:1:2::/64",
		"2001:db8::1": "2001:db8:0:0::/64", "::1": "0:0:0:0::/64", "::": "0:0:0:0::/64", "fe80::1": "fe80:0:0:0::/64",
	} {
		if a, err := netip.ParseAddr(address); err == nil && a.String() != address {
			t.Fatalf("%s is not of the form that a host gives: %s", address, a)
		}
		if got := callerKey(address); got != want {
			t.Errorf("%q is %q, want %q", address, got, want)
		}
	}
	if got := callerKey("::ffff:c000:221"); got != "192.0.2.33" {
		t.Error(got)
	}
}
