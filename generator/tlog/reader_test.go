package tlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"anteroom/generator/tlog"
)

// From six published files at most anyone makes the very proof that the operator makes.
func TestReadProof(t *testing.T) {
	for _, p := range []*published{years(t), publish(t, nil, addition{"2026-11-20", 1, records("a", tlog.Charter, 1)},
		addition{"2026-11-21", 1, records("b", tlog.Registration, 70001)}, addition{"2026-11-22", 1, records("c", tlog.Registration, 255)})} {
		for _, stage := range p.log.Stages {
			from := stage.Tree.First
			for _, index := range []int64{from + 1, from + 2, from + 255, from + 256, from + 257, from + 300, from + stage.Size/2, from + 65535, from + 65537, from + stage.Size - 2} {
				if index >= p.log.Size() || !p.log.IsRecordAt(index) {
					continue
				}
				hash := p.log.HashAt(index)
				want, err := p.log.Prove(hash)
				if err != nil {
					t.Fatal(err)
				}
				read, total := 0, 0
				got, err := tlog.ReadProof(func(path string) ([]byte, error) {
					text, err := p.read(path)
					read, total = read+1, total+len(text)
					return text, err
				}, hash, p.log.Keys, nil)
				if err != nil {
					t.Errorf("entry %d: %v", index, err)
					continue
				}
				text := want.Proof.Append(nil)
				if !bytes.Equal(got.Proof.Append(nil), text) || got.CountsAs != want.CountsAs || got.Entry != want.Entry || got.Verification != want.Verification {
					t.Errorf("entry %d: %+v, want %+v", index, got, want)
				}
				if read > 5 || total > 100_000 { // and the keys
					t.Errorf("entry %d: %d files, %d bytes", index, read, total)
				}
				kept, err := tlog.VerifyProof(text, hash, p.log.Keys, nil)
				if err != nil || kept.Entry != want.Entry || kept.Verification != want.Verification {
					t.Errorf("entry %d: %+v, %v", index, kept, err)
				}
				if _, err := tlog.VerifyProof(text, tlog.RecordHash("another", ""), p.log.Keys, nil); err == nil {
					t.Errorf("entry %d proves another record", index)
				}
			}
		}
	}
}

// A record that was not counted is not found, and no answer of a service makes a false proof.
func TestReadProofFaults(t *testing.T) {
	whole := years(t)
	hash := whole.log.HashAt(300)
	none := tlog.RecordHash("none", "")
	if _, err := whole.log.Prove(none); !errors.Is(err, tlog.ErrNotLogged) {
		t.Errorf("error %v", err)
	}
	if _, err := tlog.ReadProof(whole.read, none, whole.log.Keys, nil); !errors.Is(err, tlog.ErrNotLogged) {
		t.Errorf("error %v", err)
	}
	if _, err := tlog.ReadProof(whole.read, "../../vkey", whole.log.Keys, nil); err == nil {
		t.Error("a path is taken for a hash")
	}
	var paths []string
	if _, err := tlog.ReadProof(func(path string) ([]byte, error) {
		paths = append(paths, path)
		return whole.read(path)
	}, hash, whole.log.Keys, nil); err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		for _, changed := range [][]byte{nil, []byte("<html>"), whole.files[path][:len(whole.files[path])-1], bytes.Repeat([]byte("\n"), 70000)} {
			p := whole.clone()
			p.files[path] = changed
			if got, err := tlog.ReadProof(p.read, hash, whole.log.Keys, nil); err == nil {
				t.Errorf("%s as %.20q: %+v", path, changed, got)
			}
		}
	}
	path := tlog.LookupPath(hash)
	for _, line := range []string{
		hash + " 300 2026-11-20 registration", hash + " 301 2026-11-20 registration", hash + " -1 2026-11-20 registration", hash + " 308 2026-11-20 registration",
		hash + " 300 ../../vkey registration", hash + " 300 2026-11-21 own", hash + " 300 2026-11-20 verification", hash + " 99999999999999999999 2026-11-20 registration",
		hash + " 300 2026-11-20 registration registration", hash,
	} {
		p := whole.clone()
		p.files[path] = []byte(line + "\n")
		if got, err := tlog.ReadProof(p.read, hash, whole.log.Keys, nil); err == nil {
			t.Errorf("%s: %+v", line, got)
		}
	}
	_, other := signer(t, 3)
	if _, err := tlog.ReadProof(whole.read, hash, []string{other}, nil); err == nil || !strings.Contains(err.Error(), "no known key") {
		t.Errorf("error %v", err)
	}
	proof, err := whole.log.Prove(hash)
	if err != nil {
		t.Fatal(err)
	}
	text := proof.Proof.Append(nil)
	for i := range len(text) - len("x=\n") { // the last digit of the signature has two bits that package note does not read
		changed := bytes.Clone(text)
		changed[i] ^= 1
		if _, err := tlog.VerifyProof(changed, hash, whole.log.Keys, nil); err == nil {
			t.Errorf("byte %d does not count: %q", i, changed[max(0, i-10):i+1])
		}
	}
	// The proof of one verification does not stand behind the checkpoint of another.
	later, err := whole.log.Stages[1].Prove(300)
	if err != nil {
		t.Fatal(err)
	}
	later.Extra = proof.Proof.Extra
	if _, err := tlog.VerifyProof(later.Append(nil), hash, whole.log.Keys, nil); err == nil || !strings.Contains(err.Error(), "not that of the verification") {
		t.Errorf("error %v", err)
	}
}

func TestPublishedKeys(t *testing.T) {
	_, first := signer(t, 1)
	_, second := signer(t, 2)
	for text, want := range map[string]string{
		first + "\n":                      "",
		first + "\n" + second + "\n":      "",
		first:                             "has no end",
		first + "\n" + first + "\n":       "two keys",
		"":                                "no verifier key",
		"<html></html>\n":                 "no verifier key",
		strings.Repeat("x", 1<<20) + "\n": "no verifier key",
	} {
		keys, err := tlog.PublishedKeys(func(string) ([]byte, error) { return []byte(text), nil })
		if fmt.Sprint(err) != "<nil>" != (want != "") || err != nil && (!strings.Contains(err.Error(), want) || len(err.Error()) > 300) {
			t.Errorf("%.50q: %v, %v", text, keys, err)
		}
	}
}

// FuzzReadProof gives an agent any text in the place of one of the files that a proof is made of.
func FuzzReadProof(f *testing.F) {
	p := years(f)
	hash := p.log.HashAt(300)
	want, err := p.log.Prove(hash)
	if err != nil {
		f.Fatal(err)
	}
	text := string(want.Proof.Append(nil))
	paths := []string{tlog.LookupPath(hash), tlog.ProofPath("2026-11-20"), "/log/tile/0/001.p/52", "/log/tile/1/000.p/1", ""}
	for i, path := range paths {
		f.Add(uint(i), p.files[path])
	}
	f.Add(uint(4), []byte(text))
	f.Add(uint(0), []byte(hash+" 300 2026-11-20 registration own\n"))
	f.Fuzz(func(t *testing.T, which uint, given []byte) {
		path := paths[which%uint(len(paths))]
		if path == "" {
			if p, err := tlog.VerifyProof(given, hash, p.log.Keys, nil); err == nil && p.Entry != want.Entry {
				t.Errorf("it proves %+v", p)
			}
			return
		}
		got, err := tlog.ReadProof(func(asked string) ([]byte, error) {
			if asked == path {
				return given, nil
			}
			return p.read(asked)
		}, hash, p.log.Keys, nil)
		if err == nil && (got.Entry != want.Entry || string(got.Proof.Append(nil)) != text) {
			t.Errorf("%s: another proof passes", path)
		}
	})
}
