package verification

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"anteroom/edge/store/records"
	"anteroom/generator/site"
)

// Survey is what a store holds that no verification has covered, and what is known of it.
type Survey struct {
	Site     *site.Site
	Through  string // until when the new verification goes, RFC 3339
	Name     string // of the new verification: its day, and a number where the day has one already
	Store    string
	Broken   []string // what is not as it was verified; nothing can be verified beside it
	Odd      []string // what is odd about the new records, and verified ones that do not say what they committed to
	New      []int    // how many new records there are of each of records.Kinds
	Coverage []site.Coverage

	Charters    []Filing
	Suggestions []Filing

	reader  records.Reader
	last    []int64 // the last number of each kind
	ledger  *site.Ledger
	agents  agents
	index   map[uint64]uint32 // of agents, by hashes of their identities; see find
	records []registration    // the new ones
	vouched map[uint32]string // the agents that are vouched for, with the records by which they are known
}

// agent is what registrations have in common that are taken to be of one agent: their name or,
// where there is none, their key. There may be a million, so that they are kept small.
type agent struct {
	name        string
	nameless    bool // name is a key
	severalKeys bool
	key         uint64 // hash of the key that all new registrations have
	count       uint32 // new registrations
	bursts      uint32 // of new registrations
	earlier     uint32 // registrations that were verified before
	first, last uint32 // of the new ones, Unix seconds
}

// agents are kept in chunks, which are never moved: there may be a million.
type agents struct {
	chunks [][]agent
	n      int
}

const agentChunk = 4096

func (a *agents) add(one agent) {
	if a.n%agentChunk == 0 {
		a.chunks = append(a.chunks, make([]agent, agentChunk))
	}
	a.n++
	*a.at(uint32(a.n - 1)) = one
}

func (a *agents) at(i uint32) *agent { return &a.chunks[i/agentChunk][i%agentChunk] }

// registration is a new registration.
type registration struct {
	id    [16]byte
	agent uint32
}

// Filing is a new charter or suggestion.
type Filing struct {
	records.Record
	Own string // the name of the operator's own that it matches, as service.yaml has it; "" for none
}

// Take surveys a store at a time. through is the time until when the new verification goes; it is
// now where it is zero. The error names what keeps a verification from being made at all.
func Take(ctx context.Context, r records.Reader, s *site.Site, through, now time.Time) (*Survey, error) {
	v := &Survey{Site: s, reader: r, ledger: s.Ledger(), index: map[uint64]uint32{}, vouched: map[uint32]string{}}
	all := through.IsZero()
	if all {
		through = now
	}
	v.Through = through.UTC().Format(time.RFC3339)
	if through.After(now) {
		return nil, fmt.Errorf("verify through %s: it is %s now, and what has not happened cannot be verified", v.Through, now.UTC().Format(time.RFC3339))
	}
	after := make([]int64, len(records.Kinds))
	v.Name = v.Through[:len(time.DateOnly)]
	if n := len(s.Verifications); n > 0 {
		last := &s.Verifications[n-1]
		if v.Through < last.Through {
			return nil, fmt.Errorf("verify through %s: verification %s goes through %s already (set this machine's clock, or name a later time with --through)",
				v.Through, last.File, last.Through)
		}
		if strings.HasPrefix(last.File, v.Name) {
			v.Name = nextOfDay(last.File)
		}
		for i, kind := range records.Kinds {
			after[i] = int64(last.Covers(kind.Name).Last)
		}
	}
	extent, err := records.Measure(ctx, r, v.Through, all, after)
	if err != nil {
		return nil, err
	}
	v.Store, v.last = extent.Store, extent.Last
	if err := sameService(s, extent); err != nil {
		return nil, err
	}
	for i := range records.Kinds {
		kind := &records.Kinds[i]
		if n := extent.Ahead[i]; all && n > 0 {
			plural := map[bool]string{true: "s"}[n > 1]
			v.Odd = append(v.Odd, fmt.Sprintf("the time of %d %s%s is to come: the clock of the host was ahead", n, kind.Name, plural))
		}
		if err := v.read(ctx, i, extent.Last[i]); err != nil {
			return nil, err
		}
	}
	return v, nil
}

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
		return fmt.Errorf("verify: this is store %s, and the verifications are of store %s (name the right one with --data or --remote; anteroom restore brings a store back)", extent.Store, want)
	case want == "" && extent.Host != "" && extent.Host != s.Service.CanonicalHost:
		return fmt.Errorf("verify: this store is of the service %s, and the content of %s (name the right one with --data or --remote)", extent.Host, s.Service.CanonicalHost)
	}
	return nil
}

// read walks through the records of a kind.
func (v *Survey) read(ctx context.Context, i int, last int64) error {
	kind := &records.Kinds[i]
	w := newWalk(kind, standing(v.Site.Verifications), v.ledger)
	found := 0
	if kind.Name == site.Registration {
		v.records = make([]registration, 0, min(max(0, last-w.covered()), 1<<20)) // as many as are usual at most
	}
	coverage, err := w.run(ctx, v.reader, last, func(r *records.Record, covered bool) error {
		if !covered {
			found++
		}
		switch {
		case kind.Name == site.Registration:
			return v.register(r, covered)
		case covered:
		case kind.Name == site.Charter:
			v.Charters = append(v.Charters, v.filing(r))
		default:
			v.Suggestions = append(v.Suggestions, v.filing(r))
		}
		return nil
	})
	v.New, v.Coverage = append(v.New, found), append(v.Coverage, coverage)
	v.Broken, v.Odd = append(v.Broken, w.findings...), append(append(v.Odd, w.altered...), w.suspects...)
	return err
}

// seed is of the hashes of keys and skeletons.
var seed = maphash.MakeSeed()

// register adds a registration to its agent.
func (v *Survey) register(r *records.Record, covered bool) error {
	name, key := r.Values[0], r.Values[1]
	identity, nameless := name, false
	if name == "" {
		identity, nameless = key, true
	}
	at, hash, known := v.find(identity, nameless)
	if !known {
		at = uint32(v.agents.n)
		v.agents.add(agent{name: identity, nameless: nameless})
		v.index[hash] = at
	}
	a := v.agents.at(at)
	if e, named := v.ledger.Entries()[r.ID]; named && e.Decision == site.Vouch {
		v.vouched[at] = e.Agent
	}
	if covered {
		a.earlier++
		return nil
	}
	var id [16]byte
	if n, err := hex.Decode(id[:], []byte(r.ID)); err != nil || n != len(id) || len(r.ID) != 2*len(id) {
		return fmt.Errorf("registration number %d has the record_id %.64q, which is none", r.Seq, r.ID)
	}
	time, err := time.Parse(time.RFC3339, r.At)
	if err != nil {
		return fmt.Errorf("registration %s has the time %.64q, which is none", r.ID, r.At)
	}
	second, keyed := uint32(time.Unix()), maphash.String(seed, key)
	if a.count == 0 {
		a.first, a.last, a.key, a.bursts = second, second, keyed, 1
	} else if second > a.last+records.BurstSeconds {
		a.bursts++
	}
	a.severalKeys = a.severalKeys || a.key != keyed
	a.first, a.last = min(a.first, second), max(a.last, second)
	a.count++
	v.records = append(v.records, registration{id, at})
	return nil
}

// find finds an agent by its identity. Where it is not known, hash is where it belongs in the
// index. An index of hashes takes half the memory of one of texts; where two have the same hash,
// the second has the next.
func (v *Survey) find(identity string, nameless bool) (at uint32, hash uint64, known bool) {
	hash = maphash.String(seed, identity)
	if nameless {
		hash = ^hash
	}
	for ; ; hash++ {
		if at, known = v.index[hash]; !known {
			return 0, hash, false
		}
		if a := v.agents.at(at); a.name == identity && a.nameless == nameless {
			return at, hash, true
		}
	}
}

// charterValues is how many values a charter has.
const charterValues = 3

func (v *Survey) filing(r *records.Record) Filing {
	f := Filing{Record: *r}
	f.Values = slices.Clone(r.Values)
	if len(f.Values) < charterValues {
		return f // a suggestion, which has no name
	}
	var seats []struct {
		AgentName string `json:"agent_name"`
	}
	names := slices.Clone(f.Values[:2])
	_ = json.Unmarshal([]byte(f.Values[2]), &seats) // a roster that was changed is found by its commitment
	for _, seat := range seats {
		names = append(names, seat.AgentName)
	}
	for _, name := range names {
		if name != "" {
			f.Own = cmp.Or(f.Own, v.own(name))
		}
	}
	return f
}

// own is the first of the operator's own names that a name matches.
func (v *Survey) own(name string) string {
	for _, pattern := range v.Site.Service.OwnNames {
		if Matches(pattern, name) {
			return pattern
		}
	}
	return ""
}

// Matches reports whether a name is like a pattern, in which * stands for any characters and \* for
// itself.
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

// Group is the new registrations of one agent, and what is known of it.
type Group struct {
	Name, Key     string // Key is that of an agent without a name
	Registrations int
	Bursts        int // runs of registrations, each at most records.BurstSeconds after the one before
	First, Last   time.Time
	SameKey       bool     // whether all have the same key, or none has one
	Earlier       int      // registrations that were verified before
	Vouched       bool     // whether the agent was vouched for before
	Own           string   // the name of the operator's own that it matches; "" for none
	LookAlikes    []string // other agents' names that a reader may take for this one, at most maxLookAlikes
	KeyOf         []string // names that have registered with the key of an agent without a name, at most maxLookAlikes
	RecordIDs     []string // of the new ones, at most maxRecordIDs
}

// ByGroup gives for each of some groups the answer about its new registrations as a whole, -1 for
// none.
func ByGroup(groups []Group, answers []Answer) []int {
	exact := map[string]int{}
	var wide []int
	for i := range answers {
		if agent, ok := answers[i].exactly(); ok {
			exact[agent] = i
		} else if !answers[i].Earlier && answers[i].AgentName != "" {
			wide = append(wide, i)
		}
	}
	by := make([]int, len(groups))
	for i := range groups {
		g := &groups[i]
		identity := g.Name
		if g.Name == "" {
			identity = indexed(g.Key, true)
		}
		by[i] = -1
		if k, there := exact[identity]; there {
			by[i] = k
			continue
		}
		for _, k := range wide {
			if g.Name != "" && Matches(answers[k].AgentName, g.Name) {
				by[i] = k
			}
		}
	}
	return by
}

// Answer is an answer about a group alone.
func (g *Group) Answer(decision, reason string) Answer {
	if g.Name == "" {
		return Answer{Pubkey: g.Key, Decision: decision, Reason: reason}
	}
	return Answer{AgentName: strings.ReplaceAll(g.Name, "*", `\*`), Decision: decision, Reason: reason}
}

const (
	maxLookAlikes = 5
	maxRecordIDs  = 20
)

// Groups gives the agents that have registered since the last verification, in the order of their
// first registrations.
func (v *Survey) Groups() iter.Seq[Group] {
	return func(yield func(Group) bool) {
		alike, keyOf := v.lookAlikes(), v.namesByKey()
		// The records of an agent stand together in this order.
		order := make([]uint32, len(v.records))
		start := make([]uint32, v.agents.n+1)
		for _, r := range v.records {
			start[r.agent+1]++
		}
		for i := range v.agents.n {
			start[i+1] += start[i]
		}
		next := slices.Clone(start)
		for i, r := range v.records {
			order[next[r.agent]] = uint32(i)
			next[r.agent]++
		}
		seen := make([]bool, v.agents.n)
		for _, r := range v.records {
			if seen[r.agent] {
				continue
			}
			seen[r.agent] = true
			a := v.agents.at(r.agent)
			g := Group{
				Registrations: int(a.count), Bursts: int(a.bursts), First: time.Unix(int64(a.first), 0).UTC(), Last: time.Unix(int64(a.last), 0).UTC(),
				SameKey: !a.severalKeys, Earlier: int(a.earlier), Vouched: v.vouched[r.agent] != "", LookAlikes: alike(r.agent),
			}
			if a.nameless {
				g.Key, g.KeyOf = a.name, keyOf[maphash.String(seed, a.name)]
			} else {
				g.Name, g.Own = a.name, v.own(a.name)
			}
			for _, at := range order[start[r.agent]:min(start[r.agent]+maxRecordIDs, start[r.agent+1])] {
				g.RecordIDs = append(g.RecordIDs, hex.EncodeToString(v.records[at].id[:]))
			}
			if !yield(g) {
				return
			}
		}
	}
}

// namesByKey gives the names that have registered with a key which an agent without a name has, by
// the hashes of these keys.
func (v *Survey) namesByKey() map[uint64][]string {
	names := map[uint64][]string{}
	for i := range uint32(v.agents.n) {
		if a := v.agents.at(i); a.nameless {
			names[maphash.String(seed, a.name)] = nil
		}
	}
	for i := range uint32(v.agents.n) {
		a := v.agents.at(i)
		if list, has := names[a.key]; has && !a.nameless && !a.severalKeys && a.count > 0 && len(list) < maxLookAlikes {
			names[a.key] = append(list, a.name)
		}
	}
	return names
}

// lookAlikes finds the names that have the same skeleton as others.
func (v *Survey) lookAlikes() func(uint32) []string {
	type skeletal struct {
		skeleton uint64
		agent    uint32
	}
	all := make([]skeletal, 0, v.agents.n)
	var buf []byte
	for i := range uint32(v.agents.n) {
		if a := v.agents.at(i); !a.nameless {
			buf = appendSkeleton(buf[:0], a.name)
			all = append(all, skeletal{maphash.Bytes(seed, buf), i})
		}
	}
	slices.SortFunc(all, func(a, b skeletal) int {
		return cmp.Or(cmp.Compare(a.skeleton, b.skeleton), cmp.Compare(a.agent, b.agent))
	})
	at := map[uint32]int{} // where the run of an agent that has others in it begins
	for i := 0; i < len(all); {
		end := i + 1
		for end < len(all) && all[end].skeleton == all[i].skeleton {
			end++
		}
		for k := i; k < end && end > i+1; k++ {
			at[all[k].agent] = i
		}
		i = end
	}
	return func(agent uint32) (names []string) {
		i, has := at[agent]
		if !has {
			return nil
		}
		for k := i; k < len(all) && all[k].skeleton == all[i].skeleton && len(names) < maxLookAlikes; k++ {
			if all[k].agent != agent {
				names = append(names, v.agents.at(all[k].agent).name)
			}
		}
		return names
	}
}

// recordsOf gives the new records of agents, with their commitments, in the order of recording. It
// reads the store again, and fails where that holds something else by now.
func (v *Survey) recordsOf(ctx context.Context, wanted func(agent uint32, id string) bool) (list []records.Record, agents []uint32, err error) {
	w := newWalk(&records.Kinds[0], standing(v.Site.Verifications), v.ledger)
	at := 0
	coverage, err := w.run(ctx, v.reader, int64(v.Coverage[0].Last), func(r *records.Record, covered bool) error {
		if covered {
			return nil
		}
		if at == len(v.records) || !bytes.Equal(v.records[at].id[:], unhex(r.ID)) {
			return errChanged
		}
		if a := v.records[at].agent; wanted(a, r.ID) {
			list, agents = append(list, records.Record{Seq: r.Seq, ID: r.ID, At: r.At, SHA256: r.SHA256}), append(agents, a)
		}
		at++
		return nil
	})
	if err == nil && coverage != v.Coverage[0] {
		err = errChanged
	}
	return list, agents, err
}

var errChanged = errors.New("the store has changed while it was verified: records that were there are others now (run anteroom records audit)")

func unhex(s string) []byte {
	b, _ := hex.DecodeString(s)
	return b
}
