package tlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	"anteroom/generator/tlog"
)

// From six published files at most anyone makes the same proof as the operator.
func TestReadProof(t *testing.T) {
	for _, b := range []*book{years(t), treeOf(t, 2, 70_004, 70_260)} {
		p := b.publish(t)
		ends, err := b.Ends()
		if err != nil {
			t.Fatal(err)
		}
		for _, stage := range b.Stages {
			from := stage.Tree.First
			for _, index := range []int64{from + 1, from + 2, from + 255, from + 256, from + 257, from + 300, from + stage.Size/2, from + 65535, from + 65537, from + stage.Size - 2} {
				if index >= b.Size() || !b.IsRecordAt(index) {
					continue
				}
				hash := b.HashAt(index)
				want, err := b.Prove(hash)
				if err != nil {
					t.Fatal(err)
				}
				read, total := 0, 0
				got, err := tlog.ReadProof(func(path string) ([]byte, error) {
					text, err := p.read(path)
					read, total = read+1, total+len(text)
					return text, err
				}, hash, b.Keys, nil)
				if err != nil {
					t.Errorf("entry %d: %v", index, err)
					continue
				}
				text := want.Proof.Append(nil)
				if !bytes.Equal(got.Proof.Append(nil), text) || got.CountsAs != want.CountsAs || !reflect.DeepEqual(got.Entry, want.Entry) || !reflect.DeepEqual(got.Verification, want.Verification) {
					t.Errorf("entry %d: %+v, want %+v", index, got, want)
				}
				if read > 6 || total > 60_000 {
					t.Errorf("entry %d: %d files, %d bytes", index, read, total)
				}
				kept, err := tlog.VerifyProof(text, hash, b.Keys, nil, ends)
				if err != nil || !reflect.DeepEqual(kept.Verification, want.Verification) || !reflect.DeepEqual(kept.Entry, want.Entry) {
					t.Errorf("entry %d: %+v, %v", index, kept, err)
				}
				if _, err := tlog.VerifyProof(text, tlog.RecordHash("another", ""), b.Keys, nil, nil); err == nil {
					t.Errorf("entry %d proves another record", index)
				}
			}
		}
	}
}

// A record that was not counted is not found, and no answer of a service makes a false proof.
func TestReadProofFaults(t *testing.T) {
	b := years(t)
	whole, hash := b.publish(t), b.HashAt(300)
	none := tlog.RecordHash("none", "")
	if _, err := b.Prove(none); !errors.Is(err, tlog.ErrNotLogged) {
		t.Errorf("error %v", err)
	}
	if _, err := tlog.ReadProof(whole.read, none, b.Keys, nil); !errors.Is(err, tlog.ErrNotLogged) {
		t.Errorf("error %v", err)
	}
	if _, err := tlog.ReadProof(whole.read, "../../vkey", b.Keys, nil); err == nil {
		t.Error("a path is taken for a hash")
	}
	var paths []string
	if _, err := tlog.ReadProof(func(path string) ([]byte, error) {
		paths = append(paths, path)
		return whole.read(path)
	}, hash, b.Keys, nil); err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		cut := whole[path][:len(whole[path])-1]
		if path == tlog.LookupPath(hash) {
			cut = []byte(hash)
		}
		for _, changed := range [][]byte{nil, []byte("<html>"), cut, bytes.Repeat([]byte("\n"), 70000)} {
			p := maps.Clone(whole)
			p[path] = changed
			if got, err := tlog.ReadProof(p.read, hash, b.Keys, nil); err == nil {
				t.Errorf("%s as %.20q: %+v", path, changed, got)
			}
		}
	}
	path := tlog.LookupPath(hash)
	for _, line := range []string{
		hash + " 301 2026-11-20 registration", hash + " -1 2026-11-20 registration", hash + " 308 2026-11-20 registration",
		hash + " 300 ../../vkey registration", hash + " 300 2026-11-20 verification", hash + " 300 2026-11-20 registration registration", hash,
	} {
		p := maps.Clone(whole)
		p[path] = []byte(line + "\n")
		if got, err := tlog.ReadProof(p.read, hash, b.Keys, nil); err == nil {
			t.Errorf("%s: %+v", line, got)
		}
	}
	p := maps.Clone(whole)
	p[path] = []byte(hash + " 300 2026-11-20 registration\n")
	const want = "lookup: entry 300: got kind registration, want charter"
	if _, err := tlog.ReadProof(p.read, hash, b.Keys, nil); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	_, other := keyOf(t, 3)
	if _, err := tlog.ReadProof(whole.read, hash, []string{other}, nil); err == nil || !strings.Contains(err.Error(), "known key") {
		t.Errorf("error %v", err)
	}
	proof, err := b.Prove(hash)
	if err != nil {
		t.Fatal(err)
	}
	ends, err := b.Ends()
	if err != nil {
		t.Fatal(err)
	}
	text := proof.Proof.Append(nil)
	unread := len("x=\n") // the last digit of a signature has two bits that package note does not read
	own := len(proof.Proof.Extra) - unread
	for i := range len(text) - unread {
		changed := bytes.Clone(text)
		changed[i] ^= 1
		if p, err := tlog.VerifyProof(changed, hash, b.Keys, nil, ends); err == nil &&
			(bytes.Equal(p.Proof.Extra, proof.Proof.Extra) || !bytes.Equal(p.Proof.Extra[:own], proof.Proof.Extra[:own])) {
			t.Errorf("byte %d does not count: %q", i, changed[max(0, i-10):i+1])
		}
	}
	// The proof of one verification does not go with the checkpoint of another.
	later, err := b.Stages[1].Prove(300)
	if err != nil {
		t.Fatal(err)
	}
	later.Extra = proof.Proof.Extra
	if _, err := tlog.VerifyProof(later.Append(nil), hash, b.Keys, nil, nil); err == nil || !strings.Contains(err.Error(), "does not match the embedded verification") {
		t.Errorf("error %v", err)
	}
}

// A proof is refused for whatever it does not prove.
func TestProofRefused(t *testing.T) {
	b := treeOf(t, 7)
	p, err := b.Stages[0].Prove(3)
	if err != nil {
		t.Fatal(err)
	}
	text, entry := string(p.Append(nil)), b.Trees[0].Entry(3)
	line := func(n int) string { return strings.Split(text, "\n")[n] }
	for name, c := range map[string]struct{ old, new, want string }{
		"nothing":                       {"", "", ""},
		"another header":                {"@v1", "@v2", "read proof: want a tlog-proof"},
		"no extra data":                 {line(1) + "\n", "", ""},
		"an index with a zero":          {"index 3", "index 03", "read proof: want a tlog-proof"},
		"another index":                 {"index 3", "index 2", "verify proof: does not prove entry 2 of the tree of 7"},
		"a hash that is none":           {line(3), line(3)[1:], "read proof: want a tlog-proof"},
		"no checkpoint":                 {text[strings.Index(text, "\n\n"):], "\n", "read proof: want a tlog-proof"},
		"a checkpoint with a line more": {text[len(text)-5:], text[len(text)-5:] + "x\n", "verify proof: open checkpoint: malformed note"},
	} {
		p, err := tlog.ParseProof([]byte(strings.Replace(text, c.old, c.new, 1)))
		if err == nil {
			_, err = p.Verify(entry, b.Keys, nil)
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if _, err := p.Verify(entry, nil, nil); err == nil || !strings.Contains(err.Error(), "not signed by a known key") {
		t.Errorf("without a key: %v", err)
	}
}

func TestPublishedKeys(t *testing.T) {
	_, first := keyOf(t, 1)
	_, second := keyOf(t, 2)
	for text, want := range map[string]string{
		first + "\n" + second + "\n": "",
		first:                        "does not end",
		first + "\n" + first + "\n":  "duplicate key name",
		"":                           "does not end",
		"<html></html>\n":            "want a verifier key",
	} {
		keys, err := tlog.PublishedKeys(func(string) ([]byte, error) { return []byte(text), nil })
		if fmt.Sprint(err) != "<nil>" != (want != "") || err != nil && (!strings.Contains(err.Error(), want) || len(err.Error()) > 300) {
			t.Errorf("%.50q: %v, %v", text, keys, err)
		}
	}
}

// FuzzReadProof gives an agent any text instead of one of the files that a proof is made of.
func FuzzReadProof(f *testing.F) {
	b := years(f)
	p, hash := b.publish(f), b.HashAt(300)
	want, err := b.Prove(hash)
	if err != nil {
		f.Fatal(err)
	}
	text := string(want.Proof.Append(nil))
	paths := []string{tlog.LookupPath(hash), tlog.ProofPath("2026-11-20"), "/log/tile/0/001.p/52", "/log/tile/1/000.p/1", ""}
	for i, path := range paths {
		f.Add(uint(i), p[path])
	}
	f.Add(uint(4), []byte(text))
	f.Add(uint(0), []byte(hash+" 300 2026-11-20 registration own\n"))
	f.Fuzz(func(t *testing.T, which uint, given []byte) {
		path := paths[which%uint(len(paths))]
		if path == "" {
			if p, err := tlog.VerifyProof(given, hash, b.Keys, nil, nil); err == nil && !reflect.DeepEqual(p.Entry, want.Entry) {
				t.Errorf("it proves %+v", p)
			}
			return
		}
		got, err := tlog.ReadProof(func(asked string) ([]byte, error) {
			if asked == path {
				return given, nil
			}
			return p.read(asked)
		}, hash, b.Keys, nil)
		if err == nil && (!reflect.DeepEqual(got.Entry, want.Entry) || string(got.Proof.Append(nil)) != text) {
			t.Errorf("%s: another proof passes", path)
		}
	})
}
