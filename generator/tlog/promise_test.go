package tlog_test

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"anteroom/generator/tlog"
)

// A promise is judged by the keys that the log names, the reader or the service itself, and then by
// the entries. An old copy of the log accuses nobody.
func TestPromise(t *testing.T) {
	b := empty(t)
	b.receiptKeys = []string{"current", "revoked", "early"}
	b.add(t, "2026-11-20", recordOf(tlog.Registration, 1), recordOf(tlog.Own, 2))
	b.receiptKeys = []string{"current", "retired@2026-01-01..2026-10-31", "early@..2026-10-31"}
	b.add(t, "2026-12-30", recordOf(tlog.Charter, 3))
	head := func(stage int, root byte, more int64) *tlog.Checkpoint {
		c, err := tlog.Open(b.Stages[stage].Checkpoint, b.Key, nil)
		if err != nil {
			t.Fatal(err)
		}
		c.Root[0] ^= root
		c.Size += more
		return c
	}
	first, own, second := recordOf(tlog.Registration, 1).Hash, recordOf(tlog.Own, 2).Hash, recordOf(tlog.Charter, 3).Hash
	const never, charter, itself, other = "none", tlog.Charter, host, "www.new.example"
	for name, c := range map[string]struct {
		service string
		tlog.Promised
		state, says string // a fault, or why
	}{
		"kept on the day":          {"", tlog.Promised{Hash: first, By: "2026-11-20"}, tlog.Kept, ""},
		"kept, from a tree":        {"", tlog.Promised{Kind: charter, Hash: second, By: "2027-01-01", Head: head(0, 0, 0)}, tlog.Kept, ""},
		"late":                     {"", tlog.Promised{Kind: charter, Hash: second, By: "2026-12-29"}, tlog.Late, "and was by 2026-12-30"},
		"another kind":             {"", tlog.Promised{Hash: second, By: "2027-01-01"}, tlog.NotCounted, "is a registration, but the log has it as a charter"},
		"its own record":           {"", tlog.Promised{Hash: own, By: "2026-11-20"}, tlog.SetApart, ""},
		"still time":               {itself, tlog.Promised{Hash: never, By: "2027-01-02"}, tlog.StillTime, ""},
		"broken, at the service":   {itself, tlog.Promised{Hash: never, By: "2027-01-01", Head: head(1, 0, 0)}, tlog.Broken, "and is not (the signed"},
		"broken, in any copy":      {"", tlog.Promised{Hash: never, By: "2026-12-29"}, tlog.Broken, "and is not (the signed"},
		"due, in an old copy":      {"", tlog.Promised{Hash: never, By: "2026-12-30", Head: head(1, 0, 1)}, tlog.Elsewhere, "its newest verification is of 2026-12-30"},
		"due, at another service":  {other, tlog.Promised{Hash: never, By: "2027-01-01"}, tlog.Elsewhere, "newest verification"},
		"from another tree":        {"", tlog.Promised{Hash: first, Head: head(0, 1, 0)}, tlog.Kept, "does not begin with the 3 entries"},
		"from a tree taken back":   {itself, tlog.Promised{Hash: first, Head: head(1, 0, 1)}, tlog.Kept, "has 5 entries, but the tree that the promise names has 6"},
		"from a tree, in a copy":   {"", tlog.Promised{Hash: first, Head: head(1, 0, 1)}, tlog.Kept, ""},
		"not signed":               {itself, tlog.Promised{Hash: never, By: "2026-01-01", Name: "edited"}, tlog.Edited, "its signature is not by current"},
		"a retired key":            {"", tlog.Promised{Hash: first, Signer: "retired", RecordedAt: "2026-10-31T23:59:59Z"}, tlog.Kept, ""},
		"a retired key too late":   {"", tlog.Promised{Hash: first, Signer: "retired"}, tlog.Unverified, "signed by retired, which no verification names for 2026-11-01"},
		"a retired key too early":  {"", tlog.Promised{Hash: first, Signer: "retired", RecordedAt: "2025-12-31T23:59:59Z"}, tlog.Unverified, "for 2025-12-31"},
		"retired between":          {"", tlog.Promised{Hash: first, Signer: "early"}, tlog.Unverified, "no verification names"},
		"a revoked key":            {itself, tlog.Promised{Hash: never, By: "2026-01-01", Signer: "revoked"}, tlog.Revoked, "verification 2026-11-20 names its key, and verification 2026-12-30 revoked it"},
		"a revoked key of a thief": {itself, tlog.Promised{Hash: never, By: "2026-01-01", Signer: "revoked", Name: "edited"}, tlog.Edited, "its signature"},
		"a key of nobody":          {itself, tlog.Promised{Hash: never, By: "2026-01-01", Signer: "forger"}, tlog.Unverified, "no verification names"},
		"a made-up root":           {itself, tlog.Promised{Hash: first, Signer: "forger", Head: &tlog.Checkpoint{Origin: host + "/log", Size: 2}}, tlog.Unverified, "no verification names"},
		"the reader's key":         {"", tlog.Promised{Hash: first, Signer: "given"}, tlog.Kept, ""},
		"the service's new key":    {itself, tlog.Promised{Hash: first, Signer: "new"}, tlog.Kept, ""},
		"a mirror's new key":       {"", tlog.Promised{Hash: first, Signer: "new"}, tlog.Unverified, "no verification names"},
		"another host's new key":   {other, tlog.Promised{Hash: first, Signer: "new", Host: other}, tlog.Unverified, "no verification names"},
		"another host":             {itself, tlog.Promised{Hash: first, Host: "www.other.example"}, tlog.Unverified, `issued by "www.other.example", want ` + host},
		"the host since":           {other, tlog.Promised{Hash: first, Host: other}, tlog.Kept, ""},
		"recorded in the future":   {itself, tlog.Promised{Hash: first, RecordedAt: "2027-01-02T11:05:01Z"}, tlog.Unverified, "recorded in the future"},
	} {
		p := c.Promised
		p.Kind, p.By, p.Signer, p.Host = cmp.Or(p.Kind, tlog.Registration), cmp.Or(p.By, "2026-11-20"), cmp.Or(p.Signer, "current"), cmp.Or(p.Host, host)
		p.RecordedAt, p.Signed = cmp.Or(p.RecordedAt, "2026-11-01T10:00:00Z"), p.Name != "edited"
		r, err := tlog.Check(tlog.Checking{
			Read: b.publish(t).read, Key: b.Key, Now: today.Add(11 * time.Hour), Promised: []*tlog.Promised{&p},
			ReceiptKeys: []string{"given"}, Service: c.service, ServiceKey: "new",
		})
		if err != nil {
			t.Fatal(err)
		}
		said := r.Promises[0].Why
		for _, f := range r.Faults {
			said += f.What
		}
		if r.Promises[0].State != c.state || !strings.Contains(said, c.says) || (said == "") != (c.says == "") {
			t.Errorf("%s: %+v, %v", name, r.Promises, r.Faults)
		}
	}
}
