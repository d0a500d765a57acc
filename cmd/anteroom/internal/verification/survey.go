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
	"anteroom/cmd/anteroom/internal/inbox"
	"anteroom/edge/store/records"
	"anteroom/generator/site"
)

// Pending is what a store holds that no verification has covered, and what is known about it.
type Pending struct {
	Site    *site.Site
	Through string   // the time up to which the new verification covers records, RFC 3339
	Name    string   // of the new verification: its day, with a number if the day has one already
	Broken  []string // what is not as it was verified: nothing new can be verified until it is
	Odd     []string // what is odd about records, and keeps none from being verified

	seen     []records.Observation // of clients; nil if the store observes nothing
	unseen   error                 // why it observes nothing
	texts    map[string]string     // of suggestions, as far as the operator's mail is here
	store    string                // its identifier
	kinds    []*scanned            // in the order of records.Kinds
	ledger   *site.Ledger
	own      []*regexp.Regexp // of own_names
	board    []byte           // the file of the current board
	manifest string           // SHA-256 of the published manifest; "" if there is none
}

// identity tells subjects of a kind apart: the name of an agent or an org, or the key of an agent
// without a name.
type identity struct {
	text     string
	nameless bool
}

func identityOf(kind string, r *records.Record) identity {
	if kind == site.Registration && r.Values[0] == "" {
		return identity{r.Values[1], true}
	}
	return identity{r.Values[0], false}
}

// Row is a record with what is known of it.
type Row struct {
	*records.Record
	hash string // by which verifications and the log name it
	by   string // the verification that covers it; "" for a new one
	was  string // what is decided about it so far
}

// Subject is the records of one identity. Those of suggestions are not told apart.
type Subject struct {
	identity
	New, Earlier []*Row // records that no verification covers, and others
	vouched      string // the hash of the record by which an agent is known, if it was vouched for
}

// records gives the records that an answer is about: new ones, or earlier ones.
func (s *Subject) records(earlier bool) []*Row {
	switch {
	case s == nil:
		return nil
	case earlier:
		return s.Earlier
	}
	return s.New
}

// Scope is what a new verification is to be about.
type Scope struct {
	Through  time.Time // it covers records up to this time; zero is now, and whatever is committed
	NewStore bool      // it begins with another store, as the one that was verified is gone for good
}

// Survey finds what a store holds that the verifications of a site do not cover. content is the
// folder of the site. The error says what keeps a verification from being made at all.
func Survey(ctx context.Context, r records.Reader, s *site.Site, content fs.FS, scope Scope, now time.Time) (*Pending, error) {
	through := scope.Through
	if through.IsZero() {
		through = now
	}
	p := newPending(s)
	p.Through = through.UTC().Format(time.RFC3339)
	if through.After(now) {
		return nil, fmt.Errorf("verify through %s: it is %s now, and what has not happened cannot be verified",
			p.Through, now.UTC().Format(time.RFC3339))
	}
	p.Name = p.day()
	if n := len(s.Verifications); n > 0 {
		last := &s.Verifications[n-1]
		if p.Through < last.Through {
			return nil, fmt.Errorf("verify through %s: verification %s goes through %s already "+
				"(set this machine's clock, name a later time with --through, or remove answers that you began before it)",
				p.Through, last.File, last.Through)
		}
		if strings.HasPrefix(last.File, p.Name) {
			p.Name = nextOfDay(last.File)
		}
	}
	err := p.compare(ctx, r, scope)
	if err != nil {
		return nil, err
	}
	p.seen, err = records.Observed(ctx, r, records.Days{Through: p.day()})
	switch {
	case errors.Is(err, records.ErrNotObserved):
		p.unseen = err
	case err != nil:
		return nil, err
	case p.seen == nil:
		p.seen = []records.Observation{}
	}
	if p.board, err = fs.ReadFile(content, BoardFile(s.Current().File)); err != nil {
		return nil, fmt.Errorf("read the current board: %w", err)
	}
	return p, nil
}

func newPending(s *site.Site) *Pending {
	p := &Pending{Site: s, ledger: s.Ledger()}
	for _, pattern := range s.Service.OwnNames {
		p.own = append(p.own, like(pattern))
	}
	return p
}

func (p *Pending) day() string { return p.Through[:len(time.DateOnly)] }

func nextOfDay(name string) string {
	day, number := name[:len(time.DateOnly)], strings.TrimPrefix(name[len(time.DateOnly):], "-")
	n, err := strconv.Atoi(number)
	if err != nil {
		n = 1
	}
	return day + "-" + strconv.Itoa(n+1)
}

// compare reads the records of a store and compares them with the verifications. It refuses the
// store of another service.
func (p *Pending) compare(ctx context.Context, r records.Reader, scope Scope) error {
	last, verifications := &site.Verification{}, since(p.Site.Verifications)
	if n := len(verifications); n > 0 {
		last = &verifications[n-1]
	}
	extent, err := records.Measure(ctx, r, nil)
	if err != nil {
		return err
	}
	if err := inbox.Belongs(extent, p.Site, scope.NewStore); err != nil {
		return fmt.Errorf("compare the records: %w", err)
	}
	p.store = extent.Store
	through := p.Through
	if scope.Through.IsZero() {
		through = ""
	}
	if scope.NewStore {
		p.Broken, verifications = []string{"store " + last.Store + " is gone, with everything that was verified"}, nil
	}
	for i := range records.Kinds {
		kind := &records.Kinds[i]
		list, err := records.Scan(ctx, r, kind, extent.Last[i])
		if err != nil {
			return err
		}
		found := scan(kind, list, extent.Last[i], through, verifications, p.ledger)
		if scope.NewStore {
			found.broken, found.lost = nil, last.Covers(kind.Name).Total
		}
		ahead := 0
		for k := range found.fresh {
			if found.fresh[k].At > p.Through {
				ahead++
			}
		}
		if ahead > 0 && p.Through != "" {
			p.Odd = append(p.Odd, "the time of "+cli.Plural(ahead, kind.Name)+" is to come: the clock of the host was ahead")
		}
		p.kinds, p.Broken = append(p.kinds, found), append(p.Broken, found.broken...)
		p.Odd = slices.Concat(p.Odd, found.altered, found.early)
		found.group(p.ledger, verifications)
	}
	return nil
}

func (s *scanned) group(ledger *site.Ledger, verifications []site.Verification) {
	s.by = map[identity]*Subject{}
	row := func(r *records.Record, by string) (Row, *Subject) {
		one := Row{r, site.RecordHash(s.kind.Name, r.ID, r.SHA256), by, site.Choices[s.kind.Name][0]}
		id := identityOf(s.kind.Name, r)
		subject := s.by[id]
		if subject == nil {
			subject = &Subject{identity: id}
			s.by[id], s.subjects = subject, append(s.subjects, subject)
		}
		if e, decided := ledger.Entries()[one.hash]; decided && by != "" {
			one.was, subject.vouched = e.Decision, cmp.Or(e.Agent, subject.vouched)
		}
		return one, subject
	}
	s.old, s.new = make([]Row, len(s.covered)), make([]Row, len(s.fresh))
	for i := range s.covered {
		r, subject := &s.old[i], (*Subject)(nil)
		for s.covered[i].Seq > int64(verifications[0].Covers(s.kind.Name).Last) {
			verifications = verifications[1:]
		}
		*r, subject = row(&s.covered[i], verifications[0].File)
		s.byID[r.ID], subject.Earlier = r, append(subject.Earlier, r)
	}
	for i := range s.fresh {
		r, subject := &s.new[i], (*Subject)(nil)
		*r, subject = row(&s.fresh[i], "")
		s.byID[r.ID], subject.New = r, append(subject.New, r)
	}
}

// ownName is the first of own_names that one of some names matches, "" if none does.
func (p *Pending) ownName(names ...string) string {
	for _, name := range names {
		for i, pattern := range p.own {
			if name != "" && pattern.MatchString(name) {
				return p.Site.Service.OwnNames[i]
			}
		}
	}
	return ""
}

// ownRecord is the first of own_names that a record matches, "" if none does. Such a record is set
// apart unless the operator says otherwise.
func (p *Pending) ownRecord(kind string, r *records.Record) string {
	switch kind {
	case site.Registration:
		return p.ownName(r.Values[0])
	case site.Charter:
		names := r.Values[:2:2]
		for _, s := range seats(r) {
			names = append(names, s.AgentName)
		}
		return p.ownName(names...)
	}
	return ""
}

// nowOwn gives what was counted of a kind before own_names had its name: by the identifiers of a
// record each, what is said of it.
func (p *Pending) nowOwn(found *scanned) (ids, said []string) {
	kind := found.kind.Name
	for _, s := range found.subjects {
		for _, r := range s.Earlier {
			own := p.ownRecord(kind, r.Record)
			if own == "" || r.was == site.Own {
				continue
			}
			ids = append(ids, r.ID)
			if kind == site.Charter {
				said = append(said, fmt.Sprintf("charter %q was counted, and own_names has %q", s.text, own))
				continue
			}
			said = append(said, fmt.Sprintf("%q was counted, with %s, and own_names has %q", s.text, cli.Plural(len(s.Earlier), kind), own))
			break
		}
	}
	return ids, said
}

func like(pattern string) *regexp.Regexp {
	return regexp.MustCompile("(?s)^" + strings.NewReplacer(`\\\*`, `\*`, `\*`, ".*").Replace(regexp.QuoteMeta(pattern)) + "$")
}
