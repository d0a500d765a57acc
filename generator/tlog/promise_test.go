package tlog_test

import (
	"strings"
	"testing"
	"time"

	"anteroom/generator/tlog"
)

// A promise is kept, there is still time, or the log proves that it was broken.
func TestPromise(t *testing.T) {
	b := empty(t, 1).count(t, 1, "2026-11-20", recordOf(tlog.Registration, 1)).count(t, 1, "2026-12-30", recordOf(tlog.Charter, 2))
	head := func(stage int, root byte) *tlog.Checkpoint {
		c, err := tlog.Open(b.Stages[stage].Checkpoint, b.Keys, nil)
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
		"late":                   {tlog.Promised{Hash: second, By: "2026-12-29"}, tlog.Late, "2026-12-30 charter", "is dated 2026-12-30"},
		"still time, on its day": {tlog.Promised{Hash: never, By: "2027-01-02"}, tlog.StillTime, " ", ""},
		"broken":                 {tlog.Promised{Hash: never, By: "2027-01-01", Head: head(1, 0)}, tlog.Broken, " ", "lacks the record"},
		"of another tree":        {tlog.Promised{Hash: first, By: "2026-11-20", Head: head(0, 1)}, tlog.Kept, "2026-11-20 registration", "does not begin with the 2 entries"},
		"of a tree taken back":   {tlog.Promised{Hash: first, By: "2026-11-20", Head: larger}, tlog.Kept, "2026-11-20 registration", "names its tree of 5"},
		"of another log": {
			tlog.Promised{Hash: first, By: "2026-11-20", Head: &tlog.Checkpoint{Origin: "www.other.example/log", Size: 1}},
			tlog.Kept, "2026-11-20 registration", "is not published",
		},
	} {
		r, err := tlog.Check(tlog.Checking{Read: b.publish(t).read, Keys: b.Keys, Now: today.Add(11 * time.Hour), Promised: &c.Promised})
		if err != nil {
			t.Fatal(err)
		}
		fault := ""
		for _, f := range r.Faults {
			fault += f.What
		}
		if p := r.Promise; p.State != c.state || p.Verification+" "+p.Kind != c.counted || !strings.Contains(fault, c.fault) || r.OK() != (c.fault == "") {
			t.Errorf("%s: %+v, %q", name, p, fault)
		}
	}
	if r, err := tlog.Check(tlog.Checking{Read: published{}.read, Promised: &tlog.Promised{Hash: first, By: "2026-11-20", Head: head(0, 0)}}); err == nil && r.OK() {
		t.Error("a log that was taken down keeps a promise")
	}
}
