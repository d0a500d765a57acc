package outbox_test

import (
	"strings"
	"testing"

	"anteroom/edge/civil"
	"anteroom/edge/store/outbox"
	"anteroom/edge/turn"
)

const day = 24 * 3600

// reminding is an office whose store has records since a day that no verification covers.
func reminding(t *testing.T, registrations int, since string) *office {
	o := open(t)
	s := *o.published
	s.RemindAfterDays = 7
	o.published = &s
	for range registrations {
		o.exec("INSERT INTO registrations (record_id, recorded_at, agent_name, payload_sha256) VALUES ('r', ?, 'eve <eve@example.org>', '')", since)
	}
	return o
}

// Records that wait for longer than the content says are in one mail a week, with nothing of what
// strangers wrote. What is verified does not wait, nor do the records of another store.
func TestReminder(t *testing.T) {
	o := reminding(t, 9, "2026-11-13T12:00:00Z") // now it is 2026-11-20T12:00:00Z
	o.exec("INSERT INTO suggestions (record_id, filed_at, filed_as, kind, text_sha256) VALUES ('s', '2026-11-19T00:00:00Z', 'anonymous', 'eve', '')")
	store := o.rows("SELECT id FROM store")[0]
	for _, step := range []struct {
		what    string
		before  func()
		subject string
	}{
		{"a second early", func() { o.now-- }, ""},
		{"due", func() { o.now++ }, "9 registrations and a suggestion wait since 2026-11-13"},
		{"at once again", func() {}, ""},
		{"a second before a week has passed", func() { o.now += 7*day - 1 }, ""},
		{"a week after", func() { o.now++ }, "9 registrations and a suggestion wait since 2026-11-13"},
		{"8 are verified, and a charter came", func() {
			o.now += 7 * day
			o.published.Store, o.published.Covered = store, [3]int64{8}
			o.exec("INSERT INTO charters (record_id, recorded_at, org_name, roster, payload_sha256) VALUES ('c', '2026-11-12T00:00:00Z', 'eve', '', '')")
		}, "a registration, a charter and a suggestion wait since 2026-11-12"},
		{"of another store", func() { o.now += 7 * day; o.published.Store = "other" }, ""},
		{"one waits", func() { o.published.Store, o.published.Covered = store, [3]int64{8, 1, 1} }, "a registration waits since 2026-11-13"},
		{"all are verified", func() { o.now += 7 * day; o.published.Covered = [3]int64{9, 1, 1} }, ""},
		{"more than there are", func() { o.published.Covered = [3]int64{90, 1, 1} }, ""},
		{"a wrong clock set a time to come", func() {
			o.published.Covered = [3]int64{}
			o.exec("UPDATE store SET reminded_at = ?", o.now+400*day)
		}, "9 registrations, a charter and a suggestion wait since 2026-11-12"},
	} {
		o.taken = nil
		step.before()
		if r := o.run(); r.Status != 204 || r.Log != "" {
			t.Errorf("%s: %d %s", step.what, r.Status, r.Log)
		}
		switch {
		case step.subject == "" && len(o.taken) > 0:
			t.Errorf("%s: %s", step.what, o.taken[0].Subject)
		case step.subject != "" && (len(o.taken) != 1 || o.taken[0].Subject != "[Example] reminder: "+step.subject+"; run anteroom publish"):
			t.Errorf("%s: %v, want %s", step.what, o.taken, step.subject)
		case step.subject != "" && (!strings.HasPrefix(o.taken[0].Text, step.subject+";\nrun anteroom publish. ") || strings.Contains(o.taken[0].Text, "eve")):
			t.Errorf("%s: %s", step.what, o.taken[0].Text)
		case step.subject != "" && strings.Contains(step.subject, "suggestion") != (o.taken[0].After == "s"):
			t.Errorf("%s: it belongs to %q, and the first suggestion that waits is s", step.what, o.taken[0].After)
		}
	}
}

// The reminder is stored before it is sent. One of unknown outcome, and one whose run died, are not
// sent again in that week; one that was certainly not accepted is.
func TestReminderThatFails(t *testing.T) {
	for _, c := range []struct {
		what    string
		relay   turn.Result
		status  int
		against int64 // seconds until it is tried again
	}{
		{"unknown", unknown, 204, 7 * day},
		{"refused", refused, 502, 6 * 3600},
		{"without a relay", turn.Result{Failure: turn.Unavailable}, 502, 6 * 3600},
	} {
		o := reminding(t, 1, civil.FormatTime(1790000000))
		o.relay = failing("", c.relay)
		if r := o.run(); r.Status != c.status || len(o.tried) != 1 {
			t.Errorf("%s: %d, %d tried", c.what, r.Status, len(o.tried))
		}
		o.relay = nil
		o.now += c.against - 1
		if o.run(); len(o.taken) != 0 {
			t.Errorf("%s: sent again early", c.what)
		}
		o.now++
		if o.run(); len(o.taken) != 1 {
			t.Errorf("%s: not sent again", c.what)
		}
	}

	// Two runs at the same time, of which the first dies after it has stored the time.
	o := reminding(t, 1, civil.FormatTime(1790000000))
	dead := &turn.Turn{Now: o.now}
	for range 3 { // the outbox, what waits, the time
		dead.Begin(o.published)
		dead.Journal = append(dead.Journal, o.perform(dead.Outcome(outbox.Deliver(dead)).Effects)...)
	}
	dead.Begin(o.published)
	if _, is := dead.Outcome(outbox.Deliver(dead)).Effects[0].(turn.Relay); !is {
		t.Fatal("the fourth effect is not the mail")
	}
	second := &turn.Turn{Now: o.now, Journal: dead.Journal[:2]} // it has looked before
	r := turn.Run(second, func(t *turn.Turn) turn.Outcome {
		t.Begin(o.published)
		return t.Outcome(outbox.Deliver(t))
	}, o.perform)
	if r.Status != 204 || len(o.tried) != 0 {
		t.Errorf("two runs: %d, %d sent", r.Status, len(o.tried))
	}
	o.now += 7*day - 1
	if o.run(); len(o.tried) != 0 {
		t.Error("a reminder whose run died is sent again in the same week")
	}
}
