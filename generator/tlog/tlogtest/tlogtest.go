// Package tlogtest makes keys of logs, and is a witness of logs, for tests.
package tlogtest

import (
	"bytes"
	"crypto/ed25519"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"anteroom/generator/tlog"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/note"
	merkle "golang.org/x/mod/sumdb/tlog"
)

// Key makes a key for a log of this origin, and returns its verifier key and signer.
func Key(t testing.TB, origin string) (key string, signer note.Signer) {
	t.Helper()
	secret, key, err := note.GenerateKey(nil, origin)
	if err != nil {
		t.Fatal(err)
	}
	if signer, err = note.NewSigner(secret); err != nil {
		t.Fatal(err)
	}
	return key, signer
}

// Witness implements C2SP tlog-witness for one log.
type Witness struct {
	Signer *torchwood.CosignatureSigner
	log    string // verifier key of the log
	Size   int64  // of the tree that it has seen
	Root   merkle.Hash
}

const Name = "witness.base.example/w1"

// New returns a witness of the log with a verifier key. The witness always has the same key.
func New(log string) *Witness { return &Witness{Signer: Signer(Name, 9), log: log} }

// Signer cosigns checkpoints under a name, with the key of a number.
func Signer(name string, number byte) *torchwood.CosignatureSigner {
	signer, err := torchwood.NewCosignatureSigner(name,
		ed25519.NewKeyFromSeed(bytes.Repeat([]byte{number}, ed25519.SeedSize)))
	if err != nil {
		panic(err)
	}
	return signer
}

func (w *Witness) VKey() string { return Signer(Name, 9).Verifier().String() }

func (w *Witness) Cosign(checkpoint string) string { return Cosign(checkpoint, w.Signer) }

func Cosign(checkpoint string, signer note.Signer) string {
	body, _, _ := strings.Cut(checkpoint, "\n\n")
	signed, err := note.Sign(&note.Note{Text: body + "\n"}, signer)
	if err != nil {
		panic(err)
	}
	_, line, _ := strings.Cut(string(signed), "\n\n")
	return line
}

func (w *Witness) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	head, checkpoint, found := strings.Cut(string(text), "\n\n")
	lines := strings.Split(head, "\n")
	old, err := strconv.ParseInt(strings.TrimPrefix(lines[0], "old "), 10, 64)
	if r.Method != "POST" || r.URL.Path != "/w/add-checkpoint" || !found || err != nil {
		http.Error(rw, "malformed", http.StatusBadRequest)
		return
	}
	var proof merkle.TreeProof
	for _, line := range lines[1:] {
		h, _ := merkle.ParseHash(line) // another hash proves nothing
		proof = append(proof, h)
	}
	c, err := tlog.Open([]byte(checkpoint), w.log, nil)
	switch {
	case err != nil:
		http.Error(rw, "unknown key", http.StatusForbidden)
	case old > c.Size:
		http.Error(rw, "old is larger", http.StatusBadRequest)
	case old != w.Size || old == c.Size && w.Root != c.Root:
		rw.Header().Set("Content-Type", "text/x.tlog.size")
		rw.WriteHeader(http.StatusConflict)
		fmt.Fprintf(rw, "%d\n", w.Size)
	case (old == 0 || old == c.Size) && len(proof) > 0,
		old > 0 && old < c.Size && merkle.CheckTree(proof, c.Size, c.Root, old, w.Root) != nil:
		http.Error(rw, "no proof", http.StatusUnprocessableEntity)
	default:
		w.Size, w.Root = c.Size, c.Root
		io.WriteString(rw, w.Cosign(checkpoint))
	}
}
