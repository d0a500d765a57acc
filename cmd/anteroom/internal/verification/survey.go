package verification

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/store/records"
	"anteroom/generator/site"
)

// survey holds the records no verification covers yet, and the context to decide about them.
type survey struct {
	site    *site.Site
	through string   // the time up to which the new verification covers records, RFC 3339
	name    string   // of the new verification: its day, with a number if the day has one already
	broken  []string // differences from the verified store: nothing new can be verified until they are gone
	odd     []string // remarks about records that do not prevent a verification

	seen   []records.Observation // of clients; nil if the store observes nothing
	unseen error                 // why it observes nothing
	mail   map[string]string     // the texts of suggestions, as far as their mail is here
	store  string                // its identifier
	kinds  []*scanned            // in the order of records.Kinds
	ledger *site.Ledger
	own    []*regexp.Regexp // of own_names
	board  []byte           // the file of the current board
}

// scope limits a new verification.
type scope struct {
	through  time.Time // it covers records up to this time; zero is now, and whatever is committed
	newStore bool      // it starts with another store, as the verified one is gone for good
}

func newSurvey(
	ctx context.Context, r records.Reader, s *site.Site, content fs.FS, limits scope, now time.Time,
) (*survey, error) {
	through := limits.through
	if through.IsZero() {
		through = now
	}
	v := surveyOf(s)
	v.through = through.UTC().Format(time.RFC3339)
	if through.After(now) {
		return nil, fmt.Errorf("verify through %s: time is in the future (now %s)", v.through, now.UTC().Format(time.RFC3339))
	}
	v.name = v.day()
	if n := len(s.Verifications); n > 0 {
		last := &s.Verifications[n-1]
		if v.through < last.Through {
			return nil, fmt.Errorf("verify through %s: verification %s already covers records through %s "+
				"(set this machine's clock, or remove answers that you started before it)",
				v.through, last.File, last.Through)
		}
		if strings.HasPrefix(last.File, v.name) {
			v.name = nextOfDay(last.File)
		}
	}
	err := v.compare(ctx, r, limits)
	if err != nil {
		return nil, err
	}
	v.seen, err = records.Observed(ctx, r, records.Days{Through: v.day()})
	switch {
	case errors.Is(err, records.ErrNotObserved):
		v.unseen = err
	case err != nil:
		return nil, err
	case v.seen == nil:
		v.seen = []records.Observation{}
	}
	if v.board, err = fs.ReadFile(content, boardFile(s.Current().File)); err == nil {
		_, err = site.ParseBoard(boardFile(s.Current().File), v.board)
	}
	return v, err
}

func surveyOf(s *site.Site) *survey {
	v := &survey{site: s, ledger: s.Ledger()}
	for _, pattern := range s.Service.OwnNames {
		v.own = append(v.own, like(pattern))
	}
	return v
}

func (v *survey) day() string { return v.through[:len(time.DateOnly)] }

func nextOfDay(name string) string {
	day, number := name[:len(time.DateOnly)], strings.TrimPrefix(name[len(time.DateOnly):], "-")
	n, err := strconv.Atoi(number)
	if err != nil {
		n = 1
	}
	return day + "-" + strconv.Itoa(n+1)
}

func (v *survey) compare(ctx context.Context, r records.Reader, limits scope) error {
	all := v.site.SinceLoss()
	extent, err := Measure(ctx, r, v.site, limits.newStore)
	if err != nil {
		return fmt.Errorf("compare the records: %w", err)
	}
	v.store = extent.Store
	through, last := "", &site.Verification{}
	if !limits.through.IsZero() {
		through = v.through
	}
	if limits.newStore {
		last = &all[len(all)-1]
		v.broken, all = []string{"store " + last.Store + " is gone, with everything that was verified"}, nil
	}
	for i := range records.Kinds {
		kind := &records.Kinds[i]
		list, err := records.Scan(ctx, r, kind, 0, extent.Last[i])
		if err != nil {
			return err
		}
		k := scan(kind, list, extent.Last[i], through, all, v.ledger)
		if limits.newStore {
			k.broken, k.lost = nil, last.Covers(kind.Name).Total
		}
		ahead := 0
		for _, r := range k.fresh {
			if r.At > v.through {
				ahead++
			}
		}
		if ahead > 0 && v.through != "" {
			v.odd = append(v.odd, "the time of "+cli.Plural(ahead, kind.Name)+" is in the future: the host's clock was ahead")
		}
		v.kinds, v.broken = append(v.kinds, k), append(v.broken, k.broken...)
		v.odd = slices.Concat(v.odd, k.altered, k.early)
	}
	return nil
}

// Measure returns the extent of a store, with the records that no verification of a site covers. It
// returns an error if the verifications refer to another store, unless begins is true: the store
// then replaces the verified one.
func Measure(ctx context.Context, r records.Reader, s *site.Site, begins bool) (*records.Extent, error) {
	const hint = "(check --data or --remote"
	verified, covered := s.Covered()
	extent, err := records.Measure(ctx, r, covered)
	if err != nil {
		return nil, err
	}
	same := verified == extent.Store
	switch host := s.Service.CanonicalHost; {
	case begins && (verified == "" || same):
		return nil, fmt.Errorf("verifications already belong to store %s (drop --new-store)", cmp.Or(verified, extent.Store))
	case !begins && verified != "" && !same:
		return nil, fmt.Errorf("wrong store: got %s, verifications belong to %s "+hint+"; "+
			"anteroom restore brings a store back; if it is gone for good, anteroom publish --new-store)", extent.Store, verified)
	case !same && extent.Host != "" && extent.Host != host:
		return nil, fmt.Errorf("store belongs to %s, content is for %s "+hint+")", extent.Host, host)
	}
	return extent, nil
}

func (v *survey) ownName(names ...string) string {
	for _, name := range names {
		for i, pattern := range v.own {
			if name != "" && pattern.MatchString(name) {
				return v.site.Service.OwnNames[i]
			}
		}
	}
	return ""
}

func (v *survey) ownRecord(kind string, r *records.Record) string {
	switch kind {
	case site.Registration:
		return v.ownName(r.Values[0])
	case site.Charter:
		names := r.Values[:2:2]
		for _, s := range seats(r) {
			names = append(names, s.AgentName)
		}
		return v.ownName(names...)
	}
	return ""
}

func (v *survey) nowOwn(k *scanned) (ids, remarks []string) {
	kind := k.kind.Name
	for _, s := range k.subjects {
		for _, r := range s.old {
			own := v.ownRecord(kind, r.Record)
			if own == "" || r.was == site.Own {
				continue
			}
			ids = append(ids, r.ID)
			if kind == site.Charter {
				remarks = append(remarks, fmt.Sprintf("charter %q was counted, and own_names lists %q", s.text, own))
				continue
			}
			remarks = append(remarks, fmt.Sprintf("%q was counted, with %s, and own_names lists %q", s.text,
				cli.Plural(len(s.old), kind), own))
			break
		}
	}
	return ids, remarks
}

func like(pattern string) *regexp.Regexp {
	text := strings.NewReplacer(`\\\*`, `\*`, `\*`, ".*").Replace(regexp.QuoteMeta(pattern))
	return regexp.MustCompile("(?s)^" + text + "$")
}
