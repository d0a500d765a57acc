// Package signing says whether a host signs receipts and promises, and with which key.
package signing

import (
	"encoding/base64"
	"slices"

	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
)

// KeyState compares the key that a host signs with to the one that the content publishes.
type KeyState int

// The states of a key. A host mints signed receipts in the first two, unsigned ones in the next
// two, and none in the last two.
const (
	Live        KeyState = iota // the content publishes the key
	Unpublished                 // the content publishes no key
	None                        // neither the host nor the content has a key
	Missing                     // the content publishes a key, and the host has none
	Foreign                     // the content publishes another key, or this one as retired
	Faulty                      // the key cannot be used at all
)

// KeyStateOf returns the state of a host's key.
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
	case s.CurrentKey != "" || slices.ContainsFunc(s.RetiredKeys, func(k snapshot.Key) bool { return k.PublicKey == host.PublicKey }):
		return Foreign
	}
	return Unpublished
}

// OK reports whether receipts are signed as the content says: with its key, or with any if it
// publishes none.
func (s KeyState) OK() bool { return s <= None }

// statuses say in words whether receipts are signed.
var statuses = [...]string{
	Live:        "live: receipts are signed with the key in public_key_b64",
	Unpublished: "live: receipts are signed with the key in public_key_b64, which the documents of this service do not publish",
	None:        "hash-committed only: no signing key is configured, and receipts come back with signed false",
	Missing:     "hash-committed only: this host lacks the signing key that the service publishes, and receipts come back with signed false",
	Foreign:     "out of order: the signing key is not the one that the service publishes, and no receipt is minted until it is",
	Faulty:      "out of order: the signing key cannot be used, and no receipt is minted until it can",
}

// String says in words whether receipts are signed.
func (s KeyState) String() string { return statuses[s] }

// Key returns the key that this host signs with, "" if it signs nothing, and the key's state.
func Key(t *turn.Turn) (string, KeyState) {
	state := KeyStateOf(&t.Host, t.Snapshot)
	if state > Unpublished {
		return "", state
	}
	return t.Host.PublicKey, state
}

// Sign returns the signature of a text, in base64: "" if there is none. ok is as in Turn.Do.
func Sign(t *turn.Turn, text string) (signature string, ok bool) {
	signed, ok := t.Do(turn.Sign{Message: []byte(text)})
	if signed.Failure != turn.None || len(signed.Data) != turn.SignatureSize {
		return "", ok
	}
	return base64.StdEncoding.EncodeToString(signed.Data), ok
}
