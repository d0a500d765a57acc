package tlog_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"anteroom/generator/tlog"
)

// cosigning is the key of a witness.
type cosigning struct {
	name string
	key  ed25519.PrivateKey
}

func cosigningKey(name string, seed byte) cosigning {
	return cosigning{name, ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))}
}

// typed is the public key behind its algorithm, and its id.
func (c cosigning) typed(algorithm byte) (key, id []byte) {
	key = append([]byte{algorithm}, c.key.Public().(ed25519.PublicKey)...)
	sum := sha256.Sum256([]byte(c.name + "\n" + string(key)))
	return key, sum[:4]
}

func (c cosigning) verifier(algorithm byte) tlog.Witness {
	key, id := c.typed(algorithm)
	return tlog.Witness{Key: fmt.Sprintf("%s+%x+%s", c.name, id, base64.StdEncoding.EncodeToString(key)), URL: "https://" + c.name}
}

// cosign is the line that a witness adds to a checkpoint (C2SP tlog-cosignature), which says one
// time and signs another.
func (c cosigning) cosign(body string, says, signs uint64) string {
	_, id := c.typed(4)
	signature := ed25519.Sign(c.key, fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s", signs, body))
	line := slices.Concat(id, binary.BigEndian.AppendUint64(nil, says), signature)
	return "— " + c.name + " " + base64.StdEncoding.EncodeToString(line) + "\n"
}

// The witnesses that have cosigned are named. One whose cosignature is wrong is not passed over.
func TestWitnesses(t *testing.T) {
	const at = 1_795_000_000
	first, second := cosigningKey("witness.example/w", 1), cosigningKey("other.example", 2)
	known := []tlog.Witness{first.verifier(4), second.verifier(4)}
	b := treeOf(t, 5)
	s := &b.stages[0]
	body := signedText(s)
	forged := cosigningKey(first.name, 3)
	for name, c := range map[string]struct {
		lines     string
		witnesses []tlog.Witness
		cosigned  []string
		refused   string
	}{
		"none":                     {"", known, nil, ""},
		"one":                      {first.cosign(body, at, at), known, []string{first.name}, ""},
		"both":                     {second.cosign(body, at, at) + first.cosign(body, at+1, at+1), known, []string{second.name, first.name}, ""},
		"one that is not known":    {second.cosign(body, at, at), known[:1], nil, ""},
		"a key of the same name":   {forged.cosign(body, at, at), known, nil, ""},
		"another time":             {first.cosign(body, at, at+1), known, nil, "invalid signature for key " + first.name},
		"another checkpoint":       {first.cosign(body+"x", at, at), known, nil, "invalid signature for key " + first.name},
		"half a line":              {first.cosign(body, at, at)[:60], known, nil, "malformed note"},
		"a signature without time": {shorter(first.cosign(body, at, at), 8), known, nil, "invalid signature for key " + first.name},
		"a signature of a byte":    {shorter(first.cosign(body, at, at), 71), known, nil, "invalid signature for key " + first.name},
	} {
		text := append(slices.Clone(s.checkpoint), c.lines...)
		l, faults := readAll(b.Keys, c.witnesses, []stage{{s.name, s.lines, text}})
		if c.refused != "" {
			if !strings.HasPrefix(told(faults), "0: open checkpoint: "+c.refused) {
				t.Errorf("%s: %swant %s", name, told(faults), c.refused)
			}
			continue
		}
		if faults != nil || !slices.Equal(l.Current().Cosigned, c.cosigned) {
			t.Errorf("%s: %s%q, want %q", name, told(faults), l.Current().Cosigned, c.cosigned)
		}
	}

	// A cosignature alone is no signature of the log.
	alone := append([]byte(body+"\n"), first.cosign(body, at, at)...)
	if _, err := tlog.Open(alone, b.Keys, known); err == nil || !strings.Contains(err.Error(), "and no key of that name has signed it") {
		t.Errorf("a witness alone: %v", err)
	}
	// What a tree under a new key begins with has no cosignatures, whenever they came.
	b = empty(t, 2)
	b.add(t, 1, "2026-11-20", recordOf(tlog.Registration, 1))
	b.add(t, 2, "2026-11-21")
	b.stages[0].checkpoint = append(b.stages[0].checkpoint, first.cosign(signedText(&b.stages[0]), at, at)...)
	if l, faults := readAll(b.Keys, known, b.stages); faults != nil || len(l.Stages[0].Cosigned) != 1 {
		t.Errorf("a tree behind a cosigned checkpoint: %s", told(faults))
	}
}

// shorter is a cosignature without the last n bytes.
func shorter(line string, n int) string {
	head, text, _ := strings.Cut(strings.TrimPrefix(line, "— "), " ")
	signature, _ := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	return "— " + head + " " + base64.StdEncoding.EncodeToString(signature[:len(signature)-n]) + "\n"
}

// The key of a witness is one for cosignatures.
func TestWitnessKey(t *testing.T) {
	w := cosigningKey("witness.example", 1)
	good := w.verifier(4).Key
	_, id := w.typed(4)
	b := treeOf(t, 1)
	for key, want := range map[string]string{
		good:                            "",
		w.verifier(1).Key:               "is no Ed25519 key for cosignatures (type 4)",
		w.verifier(6).Key:               "is no Ed25519 key for cosignatures (type 4)",
		good[:len(good)-4]:              "is no Ed25519 key for cosignatures (type 4)",
		"":                              "is not name, hash and key with + between them",
		"witness.example":               "is not name, hash and key with + between them",
		good[strings.Index(good, "+"):]: "is not name, hash and key with + between them",
		"two words" + good[strings.Index(good, "+"):]:               "is not name, hash and key with + between them",
		"other.example" + good[strings.Index(good, "+"):]:           "has a hash of another key",
		strings.Replace(good, fmt.Sprintf("%x", id), "00000000", 1): "has a hash of another key",
		strings.Replace(good, fmt.Sprintf("%x", id), "zzzzzzzz", 1): "is no Ed25519 key for cosignatures (type 4)",
		strings.Replace(good, fmt.Sprintf("%x", id), "0", 1):        "is not name, hash and key with + between them",
	} {
		_, err := tlog.Open(b.stages[0].checkpoint, b.Keys, []tlog.Witness{{Key: key}})
		if (err == nil) != (want == "") || err != nil && (!strings.HasPrefix(err.Error(), "open checkpoint: witness key ") || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", key, err, want)
		}
	}
}
