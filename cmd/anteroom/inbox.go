package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/verification"
	"anteroom/edge/endpoint/suggest"
	"anteroom/edge/native"
	"anteroom/edge/store/records"
	"anteroom/generator/site"

	"github.com/spf13/cobra"
)

// exitWaiting is the exit code of inbox if something waits.
const exitWaiting = 3

func inboxCommand(t *cli.Terminal) *cobra.Command {
	w := &storeWork{t: t}
	var folder, mail string
	cmd := &cobra.Command{
		Use: "inbox",
		RunE: w.reads(func(ctx context.Context, r records.Reader, _ []string) error {
			s, err := loadContent(folder, t.Now())
			if err != nil {
				return err
			}
			found, err := lookIntoInbox(ctx, r, s, w.flags.mail(mail), t.Now())
			if err == nil {
				err = t.Answer(found, func() { found.print(t) })
			}
			if err == nil && found.waits() {
				err = cli.Failure{Code: exitWaiting, Err: cli.ErrSilent}
			}
			return err
		}),
	}
	w.flags.add(cmd.Flags())
	contentFlag(cmd.Flags(), &folder)
	cmd.Flags().StringVar(&mail, "outbox", "",
		"the Maildir `folder` of the mail or copies that serve writes (default mail in the data folder)")
	jsonFlag(cmd.Flags(), &t.JSON)
	return cmd
}

func (s *storeFlags) mail(outbox string) string {
	return cmp.Or(outbox, filepath.Join(s.data, native.MailFolder))
}

// inbox lists the open work of the operator.
type inbox struct {
	Verified    *string             `json:"verified_through"` // null before the first verification
	New         []records.Waiting   `json:"new"`              // since then, by kinds
	Suggestions []waitingSuggestion `json:"suggestions"`      // the new ones
	Outbox      records.Outbox      `json:"outbox"`
	Claims      []records.Claim     `json:"claims"` // suggestions that were relayed with a key and not recorded
	Seen        records.Attention   `json:"seen"`   // of clients over MCP since the day of the last verification
	Behind      string              `json:"behind"` // why the store is not the verified one; usually ""

	now time.Time
}

type waitingSuggestion struct {
	ID      string  `json:"record_id"`
	At      string  `json:"filed_at"`
	Kind    string  `json:"kind"`
	Subject string  `json:"subject"` // how the subject of its mail begins
	Text    *string `json:"text"`    // null if no mail is kept here
}

func lookIntoInbox(ctx context.Context, r records.Reader, s *site.Site, mail string, now time.Time) (*inbox, error) {
	extent, err := verification.Measure(ctx, r, s, false)
	if err != nil {
		return nil, err
	}
	found := &inbox{New: extent.Waiting, Suggestions: []waitingSuggestion{}, now: now}
	if n := len(s.Verifications); n > 0 {
		found.Verified = &s.Verifications[n-1].Through
	}
	i := slices.IndexFunc(records.Kinds, func(kind records.Kind) bool { return kind.Name == records.Suggestion })
	if extent.Waiting[i].New > 0 {
		_, covered := s.Covered()
		list, err := records.Scan(ctx, r, &records.Kinds[i], covered[i], extent.Last[i])
		if err != nil {
			return nil, err
		}
		texts := verification.Texts(mail, list)
		for _, r := range list {
			one := waitingSuggestion{
				ID: r.ID, At: r.At, Kind: r.Values[0],
				Subject: suggest.Subject(s.Service.Name, r.Values[0], r.ID),
			}
			if text, is := texts[r.ID]; is {
				one.Text = &text
			}
			found.Suggestions = append(found.Suggestions, one)
		}
	}
	if found.Outbox, err = records.Undelivered(ctx, r); err != nil {
		return nil, err
	}
	if err := records.Behind(ctx, r, s.Segments()); err != nil {
		found.Behind = err.Error()
	}
	seen, err := records.Observed(ctx, r, records.Days{Since: s.Current().AsOf})
	if err != nil && !errors.Is(err, records.ErrNotObserved) {
		return nil, err
	}
	found.Seen = records.AttentionOf(seen)
	claims, err := records.Claims(ctx, r, now, records.ForgottenAfter)
	found.Claims = append([]records.Claim{}, claims...)
	return found, err
}

func (r *inbox) waits() bool {
	return r.Outbox.Pending+r.Outbox.Dead > 0 || len(r.Claims) > 0 || r.Behind != "" ||
		slices.ContainsFunc(r.New, func(kind records.Waiting) bool { return kind.New > 0 })
}

const maxShown = 50 // suggestions, and claims

func (r *inbox) print(t *cli.Terminal) {
	if !r.waits() {
		t.Printf("Nothing to do.")
		return
	}
	if r.Behind != "" {
		t.Printf("%s", r.Behind)
	}
	for _, kind := range r.New {
		if kind.New > 0 {
			t.Printf("%s since %s (%s)", cli.Plural(kind.New, "new "+kind.Kind), kind.Oldest, sinceThen(kind.Oldest, r.now))
		}
	}
	for _, s := range r.Suggestions[:min(maxShown, len(r.Suggestions))] {
		shown := s.Subject
		if s.Text != nil {
			shown = fmt.Sprintf("%.8s  %-10s  %s", s.ID, s.Kind, firstLine(*s.Text))
		}
		t.Printf("  %s  %s", s.At, shown)
	}
	if n := len(r.Suggestions) - maxShown; n > 0 {
		t.Printf("  and %d more", n)
	}
	for _, c := range r.Claims[:min(maxShown, len(r.Claims))] {
		t.Printf("%s", claimText(&c, r.now))
	}
	if len(r.Claims) > 0 {
		t.Printf("(%s)", hintClaims)
	}
	if r.Outbox.Pending+r.Outbox.Dead > 0 {
		t.Printf("addresses that were not delivered: %s", &r.Outbox)
	}
	if n := r.Seen; n.NamedClientsSeen > 0 || n.ToolCalls > 0 {
		t.Printf("seen over MCP since the last verification: %s, %s (anteroom records list observed)",
			cli.Plural(n.NamedClientsSeen, "named client"), cli.Plural(n.ToolCalls, "tool call"))
	}
	t.Printf("Next: anteroom publish.")
}

func sinceThen(at string, now time.Time) string {
	then, err := time.Parse(time.RFC3339, at)
	switch age := now.Sub(then); {
	case err != nil || age < 0:
		return "in the future"
	case age < time.Minute:
		return "under a minute"
	case age < 2*time.Hour:
		return cli.Plural(int(age.Minutes()), "minute")
	case age < 48*time.Hour:
		return cli.Plural(int(age.Hours()), "hour")
	default:
		return cli.Plural(int(age.Hours()/24), "day")
	}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if letters := []rune(strings.TrimSpace(line)); len(letters) > 100 {
		return string(letters[:100]) + "…"
	}
	return strings.TrimSpace(line)
}
