package verification

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"anteroom/edge/store/records"
	"anteroom/generator/site"
)

// Pending is what a store holds that no verification has covered, and what is known about it.
type Pending struct {
	Site     *site.Site
	Through  string // until when the new verification goes, RFC 3339
	Name     string // of the new verification: its day, and a number if the day has one already
	Store    string
	Broken   []string // what is not as it was verified; nothing can be verified beside it
	Odd      []string // what is odd about the new records, and verified ones that do not say what they committed to
	Coverage []site.Coverage

	kinds  []*scanned // by records.Kinds
	last   []int64    // the last number of each of them in the store
	ledger *site.Ledger
	board  []byte              // the file of the current board
	agents []*Agent            // in the order of their first registrations
	byName map[identity]*Agent // the same
	alike  map[string][]*Agent // by the skeletons of their names; made when it is first asked for
	byKey  map[string][]*Agent // those with a name, by the keys of their new registrations; likewise
}

// identity is what tells the agent of a registration: its name, or its key if it has no name.
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
	Own          string            // the name of the operator's own that it matches; "" for none
	vouched      string            // the record by which it is known, if it was vouched for
}

// Survey finds what a store holds beside the verifications of a site. content is the folder of the site.
// through is the time until when the new verification goes; it is now if it is zero. The error names what
// keeps a verification from being made at all.
func Survey(ctx context.Context, r records.Reader, s *site.Site, content fs.FS, through, now time.Time) (*Pending, error) {
	p := &Pending{Site: s, ledger: s.Ledger(), byName: map[identity]*Agent{}}
	all := through.IsZero()
	if all {
		through = now
	}
	p.Through = through.UTC().Format(time.RFC3339)
	if through.After(now) {
		return nil, fmt.Errorf("verify through %s: it is %s now, and what has not happened cannot be verified",
			p.Through, now.UTC().Format(time.RFC3339))
	}
	after := make([]int64, len(records.Kinds))
	p.Name = p.Through[:len(time.DateOnly)]
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
		for i, kind := range records.Kinds {
			after[i] = int64(last.Covers(kind.Name).Last)
		}
	}
	extent, err := records.Measure(ctx, r, p.Through, all, after)
	if err == nil {
		err = sameService(s, extent)
	}
	if err != nil {
		return nil, err
	}
	p.Store, p.last = extent.Store, extent.Last
	for i := range records.Kinds {
		kind := &records.Kinds[i]
		if n := extent.Ahead[i]; all && n > 0 {
			plural := map[bool]string{true: "s"}[n > 1]
			p.Odd = append(p.Odd, fmt.Sprintf("the time of %d %s%s is to come: the clock of the host was ahead", n, kind.Name, plural))
		}
		list, err := records.Scan(ctx, r, kind, extent.Last[i])
		if err != nil {
			return nil, err
		}
		found := scan(kind, list, extent.Last[i], since(s.Verifications), p.ledger)
		p.kinds, p.Coverage = append(p.kinds, found), append(p.Coverage, found.coverage)
		p.Broken, p.Odd = append(p.Broken, found.broken...), append(p.Odd, found.odd...)
	}
	if p.board, err = fs.ReadFile(content, BoardFile(s.Current().File)); err != nil {
		return nil, fmt.Errorf("read the current board: %w", err)
	}
	return p, p.group()
}

// New is how many new records there are of a kind, an index of records.Kinds.
func (p *Pending) New(kind int) int { return len(p.kinds[kind].fresh) }

// nextOfDay is the name of the verification after another one of its day.
func nextOfDay(name string) string {
	day, number := name[:len(time.DateOnly)], strings.TrimPrefix(name[len(time.DateOnly):], "-")
	n, err := strconv.Atoi(number)
	if err != nil {
		n = 1
	}
	return day + "-" + strconv.Itoa(n+1)
}

// sameService refuses a store that is not the one of the verifications, or not this service's.
func sameService(s *site.Site, extent *records.Extent) error {
	switch want := storeOf(s); {
	case want != "" && want != extent.Store:
		return fmt.Errorf("verify: this is store %s, and the verifications are of store %s (name the right one with --data or --remote; "+
			"anteroom restore brings a store back)", extent.Store, want)
	case want == "" && extent.Host != "" && extent.Host != s.Service.CanonicalHost:
		return fmt.Errorf("verify: this store is of the service %s, and the content of %s (name the right one with --data or --remote)",
			extent.Host, s.Service.CanonicalHost)
	}
	return nil
}

// group finds the agents of the registrations.
func (p *Pending) group() error {
	found := p.kinds[0]
	entries := p.ledger.Entries()
	for i := range found.covered {
		r := &found.covered[i]
		a := p.agent(r)
		a.Earlier = append(a.Earlier, r)
		if e, named := entries[r.ID]; named && e.Decision == site.Vouch {
			a.vouched = e.Agent
		}
	}
	for i := range found.fresh {
		r := &found.fresh[i]
		if !isID(r.ID) {
			return fmt.Errorf("registration number %d has the record_id %.64q, which is not one", r.Seq, r.ID)
		}
		if _, err := time.Parse(time.RFC3339, r.At); err != nil {
			return fmt.Errorf("registration %s has the time %.64q, which is not one", r.ID, r.At)
		}
		a := p.agent(r)
		a.New = append(a.New, r)
	}
	return nil
}

// agent is the agent of a registration.
func (p *Pending) agent(r *records.Record) *Agent {
	id := identityOf(r)
	a := p.byName[id]
	if a == nil {
		a = &Agent{identity: id}
		if !id.nameless {
			a.Own = p.own(id.text)
		}
		p.byName[id] = a
		p.agents = append(p.agents, a)
	}
	return a
}

// own is the first of the operator's own names that one of some names matches, "" for none.
func (p *Pending) own(names ...string) string {
	for _, name := range names {
		for _, pattern := range p.Site.Service.OwnNames {
			if name != "" && Matches(pattern, name) {
				return pattern
			}
		}
	}
	return ""
}

// seat is a seat of a charter.
type seat struct {
	Position   string      `json:"position"`
	AgentName  string      `json:"agent_name"`
	Allocation json.Number `json:"allocation"`
}

// seats gives the seats of a charter.
func seats(r *records.Record) (list []seat) {
	_ = json.Unmarshal([]byte(r.Values[2]), &list) // a roster that was changed is found by its commitment
	return list
}

// proposed is the harmless decision about a new record, with the own name that a decision "own" is due to.
func (p *Pending) proposed(kind string, r *records.Record) (decision, own string) {
	switch kind {
	case site.Registration:
		own = p.byName[identityOf(r)].Own
	case site.Charter:
		names := []string{r.Values[0], r.Values[1]}
		for _, s := range seats(r) {
			names = append(names, s.AgentName)
		}
		own = p.own(names...)
	}
	if own != "" {
		return site.Own, own
	}
	return site.Choices[kind][0], ""
}

// Matches reports whether a name is like a pattern, in which * is any characters and \* is an asterisk.
func Matches(pattern, name string) bool {
	const star = "\n" // which no name holds
	first, rest, wild := strings.Cut(strings.ReplaceAll(pattern, `\*`, star), "*")
	unescape := func(s string) string { return strings.ReplaceAll(s, star, "*") }
	if !wild {
		return unescape(first) == name
	}
	if name, wild = strings.CutPrefix(name, unescape(first)); !wild {
		return false
	}
	parts := strings.Split(rest, "*")
	for _, part := range parts[:len(parts)-1] {
		_, after, found := strings.Cut(name, unescape(part))
		if !found {
			return false
		}
		name = after
	}
	return strings.HasSuffix(name, unescape(parts[len(parts)-1]))
}

// summary is what a person needs to know about the new registrations of an agent.
type summary struct {
	bursts      int // runs of registrations, each at most records.BurstSeconds after the one before
	first, last string
	keys        []string // different ones, at most two
}

func (a *Agent) summary() (s summary) {
	s.first = a.New[0].At
	var newest time.Time
	for _, r := range a.New {
		at, _ := time.Parse(time.RFC3339, r.At)
		if s.bursts == 0 || at.Sub(newest) > records.BurstSeconds*time.Second {
			s.bursts++
		}
		if at.After(newest) {
			newest = at
		}
		s.first, s.last = min(s.first, r.At), max(s.last, r.At)
		if key := r.Values[1]; len(s.keys) == 0 || len(s.keys) == 1 && s.keys[0] != key {
			s.keys = append(s.keys, key)
		}
	}
	return s
}

// maxLookAlikes is how many similar names of an agent are shown.
const maxLookAlikes = 5

// lookAlikes are other agents' names that a reader may take for this one.
func (p *Pending) lookAlikes(a *Agent) (names []string) {
	if p.alike == nil {
		p.alike = map[string][]*Agent{}
		for _, each := range p.agents {
			if !each.nameless {
				skeleton := skeleton(each.text)
				p.alike[skeleton] = append(p.alike[skeleton], each)
			}
		}
	}
	if a.nameless {
		return nil
	}
	return others(p.alike[skeleton(a.text)], a)
}

// keyOf are the names that have registered with the key of an agent without a name.
func (p *Pending) keyOf(a *Agent) []string {
	if p.byKey == nil {
		p.byKey = map[string][]*Agent{}
		for _, each := range p.agents {
			seen := ""
			for _, r := range each.New {
				if key := cmp.Or(r.Values[1], seen); !each.nameless && key != seen {
					seen = key
					p.byKey[key] = append(p.byKey[key], each)
				}
			}
		}
	}
	if !a.nameless {
		return nil
	}
	return others(p.byKey[a.text], a)
}

// others are the names of the first agents of a list but one.
func others(list []*Agent, but *Agent) (names []string) {
	for _, each := range list {
		if each != but && len(names) < maxLookAlikes {
			names = append(names, each.text)
		}
	}
	return names
}
