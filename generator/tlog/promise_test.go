package tlog_test

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"anteroom/generator/tlog"
)

// The days, hosts and keys that no program can be asked about in TestOneVerdict of the command.
func TestPromise(t *testing.T) {
	b := empty(t)
	b.receiptKeys = []string{"current", "early"}
	b.add(t, "2026-11-20", recordOf(tlog.Registration, 1))
	b.add(t, "2026-11-20-2", recordOf(tlog.Registration, 2))
	b.receiptKeys = []string{"current", "retired@2026-01-01..2026-10-31", "early@..2026-10-31"}
	b.add(t, "2026-12-30")
	record := recordOf(tlog.Registration, 1).Hash
	const never, itself, other = "none", host, "www.new.example"
	for name, c := range map[string]struct {
		service string
		tlog.Promised
		state, says string // a fault, or why
	}{
		"kept later on the day":   {"", tlog.Promised{Hash: recordOf(tlog.Registration, 2).Hash}, tlog.Kept, ""},
		"due today":               {itself, tlog.Promised{Hash: never, By: "2027-01-02"}, tlog.StillTime, ""},
		"due, at another service": {other, tlog.Promised{Hash: never, By: "2027-01-01"}, tlog.Elsewhere, "its newest verification is of 2026-12-30"},
		"due before the newest":   {"", tlog.Promised{Hash: never, By: "2026-12-29"}, tlog.Broken, "but is not (the signed"},
		"due on its day":          {"", tlog.Promised{Hash: never, By: "2026-12-30"}, tlog.Elsewhere, "newest verification"},
		"a retired key":           {"", tlog.Promised{Hash: record, Signer: "retired", RecordedAt: "2026-10-31T23:59:59Z"}, tlog.Kept, ""},
		"a retired key too late":  {"", tlog.Promised{Hash: record, Signer: "retired"}, tlog.Unverified, "signed by retired, which no verification names for 2026-11-01"},
		"a retired key too early": {"", tlog.Promised{Hash: record, Signer: "retired", RecordedAt: "2025-12-31T23:59:59Z"}, tlog.Unverified, "for 2025-12-31"},
		"retired between":         {"", tlog.Promised{Hash: record, Signer: "early"}, tlog.Unverified, "no verification names"},
		"another host's new key":  {other, tlog.Promised{Hash: record, Signer: "new", Host: other}, tlog.Unverified, "no verification names"},
		"recorded in the future":  {itself, tlog.Promised{Hash: record, RecordedAt: "2027-01-02T11:05:01Z"}, tlog.Unverified, "recorded in the future"},
	} {
		p := c.Promised
		p.Kind, p.By, p.Signer, p.Host = tlog.Registration, cmp.Or(p.By, "2026-11-20"), cmp.Or(p.Signer, "current"), cmp.Or(p.Host, host)
		p.RecordedAt, p.Signed = cmp.Or(p.RecordedAt, "2026-11-01T10:00:00Z"), true
		r, err := tlog.Check(tlog.Checking{
			Read: b.publish(t).read, Key: b.Key, Now: today.Add(11 * time.Hour), Promised: []*tlog.Promised{&p}, Service: c.service, ServiceKey: "new",
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
