// Package signing decides whether a host signs receipts and promises, and with which key.
package signing

import (
	"encoding/base64"
	"slices"

	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
)

// KeyState compares a host's signing key with the published one.
type KeyState int

// A host signs receipts in the first two states, mints unsigned ones in the next two, and refuses
// them in the last two.
const (
	Live        KeyState = iota // the host has the published key
	Unpublished                 // the host has a key, but no key is published
	None                        // no host key, no published key
	Missing                     // a key is published, but the host lacks it
	Foreign                     // another key is published, or the host's is a retired one
	Faulty                      // the host's key cannot be used
)

func KeyStateOf(host *turn.HostInfo, s *snapshot.Snapshot) KeyState {
	switch {
	case host.KeyFault:
		return Faulty
	case host.PublicKey == "" && s.CurrentKey == "":
		return None
	case host.PublicKey == "":
		return Missing
	case host.PublicKey == s.CurrentKey:
		return Live
	case s.CurrentKey != "":
		return Foreign
	}
	isHosts := func(retired snapshot.Key) bool { return retired.PublicKey == host.PublicKey }
	if slices.ContainsFunc(s.RetiredKeys, isHosts) {
		return Foreign
	}
	return Unpublished
}

// OK reports whether receipts are signed with the published key, if any.
func (s KeyState) OK() bool { return s <= None }

const (
	signed   = "live: receipts are signed with the key in public_key_b64"
	unsigned = ", so receipts have signed false"
	refused  = ", so no receipts are issued until that is fixed"
)

var statuses = [...]string{
	Live:        signed,
	Unpublished: signed + ", which the documents of this service do not publish",
	None:        "hash-committed only: no signing key is configured" + unsigned,
	Missing:     "hash-committed only: this host lacks the signing key that the service publishes" + unsigned,
	Foreign:     "out of order: the signing key differs from the published one" + refused,
	Faulty:      "out of order: the signing key cannot be used" + refused,
}

func (s KeyState) String() string { return statuses[s] }

// Key returns the public key that this host signs with, or "" if it does not sign.
func Key(t *turn.Turn) (string, KeyState) {
	state := KeyStateOf(&t.Host, t.Snapshot)
	if state > Unpublished {
		return "", state
	}
	return t.Host.PublicKey, state
}

// Sign returns a signature in base64, or "" if signing failed. ok is as in Turn.Do.
func Sign(t *turn.Turn, text string) (signature string, ok bool) {
	signed, ok := t.Do(turn.Sign{Message: []byte(text)})
	if signed.Failure != turn.None || len(signed.Data) != turn.SignatureSize {
		return "", ok
	}
	return base64.StdEncoding.EncodeToString(signed.Data), ok
}
