package verification

import (
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
	"anteroom/cmd/anteroom/internal/cloudflare"
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
	texts    map[string]string     // of suggestions, as far as the operator's mail is here
	store    string                // its identifier
	kinds    []*scanned            // in the order of records.Kinds
	ledger   *site.Ledger
	own      []*regexp.Regexp    // of own_names
	board    []byte              // the file of the current board
	manifest string              // SHA-256 of the published manifest; "" if there is none
	agents   []*Agent            // in the order of their first registrations
	byName   map[identity]*Agent // the same
}

// identity tells the agents of registrations apart: a name, or the key of one without a name.
type identity struct {
	text     string
	nameless bool
}

func identityOf(r *records.Record) identity {
	if r.Values[0] == "" {
		return identity{r.Values[1], true}
	}
	return identity{r.Values[0], false}
}

// Agent is the registrations of one name or, without a name, of one key.
type Agent struct {
	identity
	New, Earlier []*records.Record // registrations that no verification covers, and others
	Own          string            // the first of own_names that it matches; "" if none does
	vouched      string            // the hash of the record by which it is known, if it was vouched for
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
	if err != nil && !errors.Is(err, cloudflare.ErrNoDataset) {
		return nil, err
	} else if err == nil && p.seen == nil {
		p.seen = []records.Observation{}
	}
	if p.board, err = fs.ReadFile(content, BoardFile(s.Current().File)); err != nil {
		return nil, fmt.Errorf("read the current board: %w", err)
	}
	p.group()
	return p, nil
}

func newPending(s *site.Site) *Pending {
	p := &Pending{Site: s, ledger: s.Ledger(), byName: map[identity]*Agent{}}
	for _, pattern := range s.Service.OwnNames {
		p.own = append(p.own, like(pattern))
	}
	return p
}

// day is the day of the verification.
func (p *Pending) day() string { return p.Through[:len(time.DateOnly)] }

// nextOfDay is the name of the verification after another one of its day.
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
	switch host := p.Site.Service.CanonicalHost; {
	case scope.NewStore && (last.Store == "" || last.Store == extent.Store):
		return fmt.Errorf("compare the records: the verifications are of no other store than %s (leave --new-store out)", extent.Store)
	case !scope.NewStore && last.Store != "" && last.Store != extent.Store:
		return fmt.Errorf("compare the records: this is store %s, and the verifications are of store %s (name the right one with --data or --remote; "+
			"anteroom restore brings a store back; if it is gone for good, anteroom verify --new-store)", extent.Store, last.Store)
	case last.Store != extent.Store && extent.Host != "" && extent.Host != host:
		return fmt.Errorf("compare the records: this store is of the service %s, and the content of %s "+
			"(name the right one with --data or --remote)", extent.Host, host)
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
	}
	return nil
}

// group finds the agents of the registrations.
func (p *Pending) group() {
	found, entries := p.kinds[0], p.ledger.Entries()
	for i := range found.covered {
		r := &found.covered[i]
		a := p.agent(r)
		a.Earlier = append(a.Earlier, r)
		if e := entries[hashOf(site.Registration, r)]; e.Decision == site.Vouch {
			a.vouched = e.Agent
		}
	}
	for i := range found.fresh {
		a := p.agent(&found.fresh[i])
		a.New = append(a.New, &found.fresh[i])
	}
}

// agent is the agent of a registration.
func (p *Pending) agent(r *records.Record) *Agent {
	id := identityOf(r)
	a := p.byName[id]
	if a == nil {
		a = &Agent{identity: id, Own: p.ownName(r.Values[0])}
		p.byName[id] = a
		p.agents = append(p.agents, a)
	}
	return a
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
		return p.byName[identityOf(r)].Own
	case site.Charter:
		names := r.Values[:2:2]
		for _, s := range seats(r) {
			names = append(names, s.AgentName)
		}
		return p.ownName(names...)
	}
	return ""
}

// counted is a record that was counted, or the agent of one, and what is said of it.
type counted struct{ kind, id, what string }

// nowOwn gives what was counted before own_names had its name.
func (p *Pending) nowOwn() (list []counted) {
	entries := p.ledger.Entries()
	counts := func(kind string, r *records.Record) bool { return entries[hashOf(kind, r)].Decision != site.Own }
	registered := func(r *records.Record) bool { return counts(site.Registration, r) }
	for _, a := range p.agents {
		if a.Own != "" && slices.ContainsFunc(a.Earlier, registered) {
			list = append(list, counted{site.Registration, a.Earlier[0].ID, fmt.Sprintf("%q was counted, with %s, and own_names has %q",
				a.text, cli.Plural(len(a.Earlier), "registration"), a.Own)})
		}
	}
	for i := range p.kinds[1].covered {
		r := &p.kinds[1].covered[i]
		if own := p.ownRecord(site.Charter, r); own != "" && counts(site.Charter, r) {
			list = append(list, counted{site.Charter, r.ID, fmt.Sprintf("charter %q was counted, and own_names has %q", r.Values[0], own)})
		}
	}
	return list
}

// like is the expression of a pattern, in which * is any characters and \* an asterisk.
func like(pattern string) *regexp.Regexp {
	return regexp.MustCompile("(?s)^" + strings.NewReplacer(`\\\*`, `\*`, `\*`, ".*").Replace(regexp.QuoteMeta(pattern)) + "$")
}
