package tlog_test

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"anteroom/generator/tlog"
)

// A promise is kept, there is still time, or the log proves that it was broken.
func TestPromise(t *testing.T) {
	b := empty(t).add(t, "2026-11-20", recordOf(tlog.Registration, 1)).add(t, "2026-12-30", recordOf(tlog.Charter, 2))
	head := func(stage int, root byte) *tlog.Checkpoint {
		c, err := tlog.Open(b.Stages[stage].Checkpoint, b.Key, nil)
		if err != nil {
			t.Fatal(err)
		}
		c.Root[0] ^= root
		return c
	}
	larger := head(1, 0)
	larger.Size++
	first, second, never := recordOf(tlog.Registration, 1).Hash, recordOf(tlog.Charter, 2).Hash, recordOf(tlog.Charter, 3).Hash
	for name, c := range map[string]struct {
		tlog.Promised
		state, counted, fault string
	}{
		"kept on the day":        {tlog.Promised{Hash: first, By: "2026-11-20"}, tlog.Kept, "2026-11-20 registration", ""},
		"kept, from a head":      {tlog.Promised{Hash: second, By: "2027-01-01", Head: head(0, 0)}, tlog.Kept, "2026-12-30 charter", ""},
		"late":                   {tlog.Promised{Hash: second, By: "2026-12-29"}, tlog.Late, "2026-12-30 charter", "and was by 2026-12-30"},
		"still time, on its day": {tlog.Promised{Hash: never, By: "2027-01-02"}, tlog.StillTime, " ", ""},
		"broken":                 {tlog.Promised{Hash: never, By: "2027-01-01", Head: head(1, 0)}, tlog.Broken, " ", "and is not (the signed"},
		"of another tree":        {tlog.Promised{Hash: first, By: "2026-11-20", Head: head(0, 1)}, tlog.Kept, "2026-11-20 registration", "does not begin with the 2 entries"},
		"of a tree taken back":   {tlog.Promised{Hash: first, By: "2026-11-20", Head: larger}, tlog.Kept, "2026-11-20 registration", "has 4 entries, but the tree that the promise names has 5"},
	} {
		p := c.Promised
		p.Signer, p.Host, p.RecordedAt = "key", host, "2026-11-01T10:00:00Z"
		r, err := tlog.Check(tlog.Checking{
			Read: b.publish(t).read, Key: b.Key, Now: today.Add(11 * time.Hour), Promised: []*tlog.Promised{&p}, ReceiptKeys: []string{"key"},
		})
		if err != nil {
			t.Fatal(err)
		}
		fault := ""
		for _, f := range r.Faults {
			fault += f.What
		}
		if p := r.Promises[0]; p.State != c.state || p.Verification+" "+p.Kind != c.counted || !strings.Contains(fault, c.fault) || r.OK() != (c.fault == "") {
			t.Errorf("%s: %+v, %q", name, p, fault)
		}
	}
}

// A promise is evidence only under a key that the service names for the day of the record: in the
// newest verification, in its documents or to the reader.
func TestPromiseUnverified(t *testing.T) {
	record := recordOf(tlog.Registration, 1)
	own := recordOf(tlog.Own, 2)
	b := empty(t)
	b.receiptKeys = []string{"current", "revoked"}
	b.add(t, "2026-11-20", record, own)
	b.receiptKeys = []string{"current", "retired@2026-01-01..2026-10-31"}
	b.add(t, "2026-11-21")
	for name, c := range map[string]struct {
		promise tlog.Promised
		state   string
		why     string
	}{
		"the current key":         {tlog.Promised{Hash: record.Hash, Signer: "current"}, tlog.Kept, ""},
		"its own record":          {tlog.Promised{Hash: own.Hash, Signer: "current"}, tlog.SetApart, ""},
		"a retired key":           {tlog.Promised{Hash: record.Hash, Signer: "retired", RecordedAt: "2026-10-31T23:59:59Z"}, tlog.Kept, ""},
		"a retired key too late":  {tlog.Promised{Hash: record.Hash, Signer: "retired"}, tlog.Unverified, "signed by retired, which the service does not name for 2026-11-01"},
		"a retired key too early": {tlog.Promised{Hash: record.Hash, Signer: "retired", RecordedAt: "2025-12-31T23:59:59Z"}, tlog.Unverified, "for 2025-12-31"},
		"a revoked key":           {tlog.Promised{Hash: record.Hash, Signer: "revoked"}, tlog.Unverified, "does not name"},
		"a key of nobody":         {tlog.Promised{Hash: "none", By: "2026-01-01", Signer: "forger"}, tlog.Unverified, "does not name"},
		"a made-up root":          {tlog.Promised{Hash: record.Hash, Signer: "forger", Head: &tlog.Checkpoint{Origin: host + "/log", Size: 2}}, tlog.Unverified, "does not name"},
		"the reader's key":        {tlog.Promised{Hash: record.Hash, Signer: "given"}, tlog.Kept, ""},
		"another host":            {tlog.Promised{Hash: record.Hash, Signer: "current", Host: "www.other.example"}, tlog.Unverified, `issued by "www.other.example", want www.new.example or ` + host},
		"the host since":          {tlog.Promised{Hash: record.Hash, Signer: "current", Host: "www.new.example"}, tlog.Kept, ""},
	} {
		p := c.promise
		p.Host, p.RecordedAt, p.By = cmp.Or(p.Host, host), cmp.Or(p.RecordedAt, "2026-11-01T10:00:00Z"), cmp.Or(p.By, "2026-11-20")
		r, err := tlog.Check(tlog.Checking{
			Read: b.publish(t).read, Key: b.Key, Now: today.Add(11 * time.Hour), Promised: []*tlog.Promised{&p},
			ReceiptKeys: []string{"given"}, Hosts: []string{"www.new.example"},
		})
		if err != nil || !r.OK() || r.Promises[0].State != c.state || !strings.Contains(r.Promises[0].Why, c.why) || (c.why == "") != (r.Promises[0].Why == "") {
			t.Errorf("%s: %v, %+v, %v", name, err, r.Promises, r.Faults)
		}
		if r.Promises[0].SignedBy != p.Signer || r.Promises[0].IssuedBy != p.Host {
			t.Errorf("%s: signed by %s of %s", name, r.Promises[0].SignedBy, r.Promises[0].IssuedBy)
		}
	}
}
