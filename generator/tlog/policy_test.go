package tlog_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"anteroom/generator/tlog"
	"anteroom/generator/tlog/tlogtest"
)

// cosignAt is the line by which a witness cosigns a checkpoint at a time, whatever its clock says.
func cosignAt(checkpoint []byte, name string, number byte, at uint64) []byte {
	body, _, _ := strings.Cut(string(checkpoint), "\n\n")
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{number}, ed25519.SeedSize))
	line := binary.BigEndian.AppendUint32(nil, tlogtest.Signer(name, number).KeyHash())
	line = binary.BigEndian.AppendUint64(line, at)
	line = append(line, ed25519.Sign(key, fmt.Appendf(nil, "cosignature/v1\ntime %d\n%s\n", at, body))...)
	return fmt.Appendf(nil, "— %s %s\n", name, base64.StdEncoding.EncodeToString(line))
}

// The time of a cosignature is when its witness has seen the checkpoint. One that cannot be true is
// not taken.
func TestCosignedAt(t *testing.T) {
	signer := tlogtest.Signer("witness.example/w", 1)
	policy, err := tlog.PolicyOf([]string{signer.Verifier().String()})
	if err != nil {
		t.Fatal(err)
	}
	day := func(text string) uint64 {
		at, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		return uint64(at.Unix())
	}
	for _, c := range []struct {
		at   uint64
		says string // the fault
	}{
		{day("2026-11-20"), ""},
		{day("2026-11-20") - 1, "was cosigned by witness.example/w at 2026-11-19T23:59:59Z, before the day of its verification"},
		{uint64(today.Unix()) + 300, ""},
		{uint64(today.Unix()) + 301, "was cosigned by witness.example/w at 2027-01-02T12:05:01Z, which is in the future"},
		{0, "time out of range"},
		{1 << 62, "time out of range"},
		{math.MaxUint64, "time out of range"},
	} {
		b := empty(t, 1).count(t, 1, "2026-11-20", recordOf(tlog.Registration, 1))
		s := b.Current()
		s.Checkpoint = append(s.Checkpoint, cosignAt(s.Checkpoint, signer.Name(), 1, c.at)...)
		p := b.publish(t)
		r, err := tlog.Check(tlog.Checking{Read: p.read, Keys: b.Keys, Now: today, Policy: policy})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(r.Faults); r.OK() != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%d: %s, want %q", c.at, got, c.says)
		}
		if want := time.Unix(int64(c.at), 0).UTC(); r.OK() && (!r.Trees[0].Cosigned[0].At.Equal(want) || !r.Verifications[0].Cosigned[0].At.Equal(want)) {
			t.Errorf("%d: cosigned at %s", c.at, r.Trees[0].Cosigned[0].At)
		}
	}
}

// A policy asks for a quorum of witnesses, none of which counts twice.
func TestPolicy(t *testing.T) {
	_, key := keyOf(t, 1)
	var keys, texts []string
	for i := range 3 {
		signer := tlogtest.Signer(fmt.Sprintf("witness.example/%d", i), byte(i+1))
		keys = append(keys, signer.Verifier().String())
		texts = append(texts, fmt.Sprintf("witness w%d %s\n", i, keys[i]))
	}
	three := strings.Join(texts, "")
	b := empty(t, 1).count(t, 1, "2026-11-20", recordOf(tlog.Registration, 1))
	b.Witnesses = []tlog.Witness{{Key: keys[0], URL: "https://witness.example/0"}}
	cosigned := bytes.Clone(b.Current().Checkpoint)
	for i := range 2 {
		cosigned = append(cosigned, tlogtest.Cosign(string(b.Current().Checkpoint), tlogtest.Signer(fmt.Sprintf("witness.example/%d", i), byte(i+1)))...)
	}
	b.Current().Checkpoint = cosigned
	p := b.publish(t)
	for _, c := range []struct {
		policy, refused string
		quorum          bool
	}{
		{"log " + key + "\n" + three + "quorum none\n", "", true},
		{three + "group g 2 w0 w1 w2 # two of three\nquorum g\n", "", true},
		{three + "group g all w0 w1 w2\nquorum g\n", "", false},
		{three + "quorum w2\n", "", false},
		{texts[1] + "quorum w1\n", "", true}, // whom the service does not list
		{"log " + key + "\n", "read policy: no quorum defined in policy (see C2SP tlog-policy)", false},
		{texts[0] + "quorum w0\nquorum w0\n", "multiple quorum", false},
		{texts[0] + strings.Replace(texts[0], "w0", "again", 1) + "quorum none\n", "duplicate key of witness", false},
		{"log x\nquorum none\n", "want a verifier key", false},
		{"witness w0 " + key + "\nquorum w0\n", "unknown verifier algorithm", false},
		{"hello\n", "unknown keyword", false},
	} {
		policy, err := tlog.ParsePolicy([]byte(c.policy))
		if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%s: %v, want %q", c.policy, err, c.refused)
		}
		if err != nil {
			continue
		}
		if err := policy.Check(cosigned); (err == nil) != c.quorum || err != nil && !errors.Is(err, tlog.ErrNotWitnessed) {
			t.Errorf("%s: %v", c.policy, err)
		}
		r, err := tlog.Check(tlog.Checking{Read: p.read, Keys: b.Keys, Now: today, Policy: policy})
		if err != nil {
			t.Fatal(err)
		}
		unwitnessed := func(f tlog.PublishFault) bool { return strings.Contains(f.What, "not witnessed") }
		if r.OK() != c.quorum || slices.ContainsFunc(r.Faults, unwitnessed) == c.quorum {
			t.Errorf("%s: %v", c.policy, r.Faults)
		}
	}
}
