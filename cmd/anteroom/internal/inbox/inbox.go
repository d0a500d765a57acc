// Package inbox says what waits for the operator: what no hand verification has covered, and
// messages that are not delivered. It finds the texts of suggestions, which the mail alone has.
package inbox

import (
	"context"
	"fmt"
	"slices"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/endpoint/suggest"
	"anteroom/edge/store/records"
	"anteroom/generator/site"
)

// Report is what waits.
type Report struct {
	Verified    *string           `json:"verified_through"` // null before the first verification
	New         []records.Waiting `json:"new"`              // since then, by kinds
	Suggestions []Suggestion      `json:"suggestions"`      // the new ones
	Outbox      records.Outbox    `json:"outbox"`

	now  time.Time
	mail Mail
}

// Suggestion is a suggestion that waits.
type Suggestion struct {
	ID      string  `json:"record_id"`
	At      string  `json:"filed_at"`
	Kind    string  `json:"kind"`
	Subject string  `json:"subject"` // how the subject of its mail begins
	Text    *string `json:"text"`    // null if no Maildir has it
	Arrived *bool   `json:"arrived"` // whether the operator's inbox has it; null if none is named, or within an hour of filing
}

// Look finds what waits in a store.
func Look(ctx context.Context, r records.Reader, s *site.Site, mail Mail, now time.Time) (*Report, error) {
	if mail.Inbox != "" && len(maildirs(mail.Inbox)) == 0 {
		return nil, fmt.Errorf("look into the inbox: %s is no Maildir: it has no folder new or cur "+
			"(name the folder that your mail program reads)", mail.Inbox)
	}
	_, covered := s.Covered()
	extent, err := records.Measure(ctx, r, covered)
	if err == nil {
		err = Belongs(extent, s, false)
	}
	if err != nil {
		return nil, fmt.Errorf("look for what waits: %w", err)
	}
	found := &Report{New: extent.Waiting, Suggestions: []Suggestion{}, now: now, mail: mail}
	if n := len(s.Verifications); n > 0 {
		found.Verified = &s.Verifications[n-1].Through
	}
	for i := range records.Kinds {
		kind := &records.Kinds[i]
		if kind.Name != records.Suggestion || extent.Waiting[i].New == 0 {
			continue
		}
		list, err := records.Scan(ctx, r, kind, extent.Last[i])
		if err != nil {
			return nil, err
		}
		list = slices.DeleteFunc(list, func(r records.Record) bool { return r.Seq <= covered[i] })
		texts, arrived := mail.Texts(list), textsIn(mail.Inbox, list, false)
		for _, r := range list {
			one := Suggestion{ID: r.ID, At: r.At, Kind: r.Values[0], Subject: suggest.Subject(s.Service.Name, r.Values[0], r.ID)}
			if text, is := texts[r.ID]; is {
				one.Text = &text
			}
			if _, is := arrived[r.ID]; mail.Inbox != "" && (is || r.At < now.Add(-time.Hour).UTC().Format(time.RFC3339)) {
				one.Arrived = &is
			}
			found.Suggestions = append(found.Suggestions, one)
		}
	}
	found.Outbox, err = records.Undelivered(ctx, r)
	return found, err
}

// Belongs refuses a store that is not the one that was verified or, before any was, that is of
// another service. If begins, the store is to begin in place of the one that was verified.
func Belongs(extent *records.Extent, s *site.Site, begins bool) error {
	const hint = "(name the right one with --data or --remote"
	verified, _ := s.Covered()
	same := verified == extent.Store
	switch host := s.Service.CanonicalHost; {
	case begins && (verified == "" || same):
		return fmt.Errorf("the verifications are of no other store than %s (leave --new-store out)", extent.Store)
	case !begins && verified != "" && !same:
		return fmt.Errorf("this is store %s, and the verifications are of store %s "+hint+"; "+
			"anteroom restore brings a store back; if it is gone for good, anteroom verify --new-store)", extent.Store, verified)
	case !same && extent.Host != "" && extent.Host != host:
		return fmt.Errorf("this store is of the service %s, and the content of %s "+hint+")", extent.Host, host)
	}
	return nil
}

// Waits reports whether anything waits.
func (r *Report) Waits() bool {
	waits := r.Outbox.Pending+r.Outbox.Dead > 0
	for _, kind := range r.New {
		waits = waits || kind.New > 0
	}
	return waits
}

// Lost names the suggestions whose mail never came to the operator's inbox.
func (r *Report) Lost() (lost []string) {
	for _, s := range r.Suggestions {
		if s.Arrived == nil || *s.Arrived {
			continue
		}
		copies := "no copy"
		if s.Text != nil {
			copies = "a copy"
		}
		lost = append(lost, fmt.Sprintf("the mail of suggestion %.8s is not in %s: recorded %s ago; %s is in %s",
			s.ID, r.mail.Inbox, age(s.At, r.now), copies, r.mail.Outbox))
	}
	return lost
}

// LostHint is the next step if a mail never came.
const LostHint = "look for bounces and spam; serve keeps copies with --outbox"

// maxShown is how many suggestions Print shows.
const maxShown = 50

// Print prints what waits, for a person.
func (r *Report) Print(t *cli.Terminal) {
	if !r.Waits() {
		t.Printf("Nothing waits.")
		return
	}
	for _, kind := range r.New {
		if kind.New > 0 {
			t.Printf("%s since %s (%s)", cli.Plural(int(kind.New), "new "+kind.Kind), kind.Oldest, age(kind.Oldest, r.now))
		}
	}
	for _, s := range r.Suggestions[:min(maxShown, len(r.Suggestions))] {
		said := s.Subject
		if s.Text != nil {
			said = fmt.Sprintf("%.8s  %-10s  %s", s.ID, s.Kind, firstLine(*s.Text))
		}
		t.Printf("  %s  %s", s.At, said)
	}
	if n := len(r.Suggestions) - maxShown; n > 0 {
		t.Printf("  and %d more", n)
	}
	if lost := r.Lost(); len(lost) > 0 {
		for _, line := range lost[:min(maxShown, len(lost))] {
			t.Printf("%s", line)
		}
		t.Printf("(%s)", LostHint)
	}
	if r.Outbox.Pending+r.Outbox.Dead > 0 {
		t.Printf("addresses that were not delivered: %s", &r.Outbox)
	}
	t.Printf("Next: anteroom publish.")
}

func age(at string, now time.Time) string {
	then, err := time.Parse(time.RFC3339, at)
	switch hours := int(now.Sub(then).Hours()); {
	case err != nil || hours < 0:
		return "to come"
	case hours < 48:
		return cli.Plural(hours, "hour")
	default:
		return cli.Plural(hours/24, "day")
	}
}
