package verification

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/store/records"
	"anteroom/generator/contract"
	"anteroom/generator/site"

	"golang.org/x/mod/sumdb/note"
)

// Decided is what the answers decide: a verification and its board.
type Decided struct {
	Verification *site.Verification
	Board        *Board
	Site         *site.Site // with the verification, its board and its stage of the log
	Log          *Logged    // nil if there is no log
	Files        []File     // what Write writes

	ledger *site.Ledger // with this verification
	faulty bool         // some answers could not be applied, so that the counts are not final
}

// Decide applies answers: it decides about the records, makes the board, checks both with the site,
// and adds to the log, which key signs; key is nil if the site has no log. The error is Faults,
// which names everything that is wrong with the answers, or site.Errors if the content would be
// refused.
func (p *Pending) Decide(a *Answers, key note.Signer) (*Decided, error) {
	var faults Faults
	if a.Through != "" && a.Through != p.Through {
		faults.add("through", "it is %s, and this is the verification through %s", a.Through, p.Through)
	}
	d := p.decide(a, &faults)
	if d != nil {
		d.Board = p.newBoard(d, a, &faults)
	}
	if err := faults.in(a); err != nil {
		return nil, err
	}
	text := d.Verification.Encode()
	s, err := p.Site.With(p.Name, text, d.Board.Text)
	if err != nil {
		return nil, err
	}
	d.Site, d.Files = s, []File{{VerificationFile(p.Name), text}, {BoardFile(p.Name), d.Board.Text}}
	if key == nil {
		return d, nil
	}
	if d.Log, err = p.log(d, s.Current(), contract.BoardDocument(s.Current()), key); err != nil {
		return nil, err
	}
	s.Log = d.Log.Log
	entries, checkpoint := site.LogFiles(p.Name)
	d.Files = append(d.Files, File{entries, d.Log.Lines}, File{checkpoint, d.Log.Checkpoint})
	return d, nil
}

// decide decides about the records. If some answers are at fault, it gives what the others decide,
// so that the faults of numbers and texts are found too; nil if no answer can be applied.
func (p *Pending) decide(a *Answers, faults *Faults) *Decided {
	lost := strings.TrimSpace(a.Lost)
	switch {
	case len(p.Broken) > 0 && lost == "":
		faults.add("lost", "the store is not as it was verified (bring the records back from a backup, then verify again; "+
			"if they are lost for good, say why: lost: REASON):\n%s", strings.Join(p.Broken, "\n"))
		return nil
	case lost != "" && len(p.Broken) == 0:
		faults.add("lost", "all records are as they were verified")
		return nil
	}
	v := &site.Verification{
		File: p.Name, Host: p.Site.Service.CanonicalHost, Store: p.store, Through: p.Through, Lost: lost,
		ReceiptKeys: slices.DeleteFunc(p.Site.Service.Keys(), func(key string) bool { return key == "" }),
	}
	if n := len(p.Site.Verifications); n > 0 {
		last := &p.Site.Verifications[n-1]
		v.Follows, v.FollowsSHA256 = last.File, last.SHA256
	}
	d := &Decided{Verification: v, ledger: p.Site.Ledger()}
	for _, found := range p.kinds {
		name := found.kind.Name
		*v.Covers(name) = cover(found.verified, found.fresh, found.end)
		if lost != "" {
			*v.Covers(name) = cover(site.Coverage{SHA256: site.EmptyDigest}, found.all, found.end)
			v.Decisions = append(v.Decisions, found.taken(lost)...)
		}
		r := &decider{Pending: p, scanned: found, chosen: map[*Row]choice{}, faults: faults}
		for i := range a.of(name) {
			r.apply(&a.of(name)[i], place(name, i))
		}
		decisions, unanswered := r.decisions()
		if a.Through == "" && unanswered > 0 {
			faults.add("through", "it is missing, and no answer names %s (anteroom verify --template writes it)",
				cli.Plural(unanswered, "new "+name))
		}
		v.Decisions = append(v.Decisions, decisions...)
	}
	d.faulty = len(*faults) > 0
	if wrong := d.ledger.Enter(v); len(wrong) > 0 && !d.faulty {
		faults.add("", "%s", strings.Join(wrong, "; "))
	}
	return d
}

func (s *scanned) taken(reason string) []site.Decision {
	if len(s.gone) == 0 {
		return nil
	}
	return []site.Decision{{Kind: s.kind.Name, Decision: site.Gone, Reason: reason, Records: strings.Join(s.gone, "\n") + "\n"}}
}

// decider applies the answers about one kind of record.
type decider struct {
	*Pending
	*scanned
	chosen map[*Row]choice
	faults *Faults
}

// choice is the answer that decides about a record.
type choice struct {
	*Answer
	place string
}

func (d *decider) apply(a *Answer, at string) {
	found, err := d.match(a)
	if err != nil {
		d.faults.add(at, "%v", err)
		return
	}
	applied := 0
	if len(found) == 0 {
		switch {
		case a.About["record_id"] != "":
			d.faults.add(at, "there is no %s %s up to %s", d.kind.Name, a.About["record_id"], d.Through)
		case a.Earlier:
			d.faults.add(at, "%s matches no earlier %s", a.about(), d.kind.Name)
		default:
			d.faults.add(at, "%s matches no new %s (earlier: true is about those that were verified before)", a.about(), d.kind.Name)
		}
		return
	}
	for _, r := range found {
		if r.by != "" && a.Decision == r.was {
			continue
		}
		applied++
		if before, is := d.chosen[r]; is {
			d.faults.add(at, "%s is decided by %s already", r.ID, before.place)
			return
		}
		if r.by != "" && strings.TrimSpace(a.Reason) == "" {
			d.faults.add(at, "%s was verified before, and needs a reason to be decided otherwise", r.ID)
		}
		d.chosen[r] = choice{a, at}
	}
	if applied == 0 {
		d.faults.add(at, "what %s matches is decided so already", a.about())
	}
}

func (d *decider) match(a *Answer) (found []*Row, err error) {
	about := a.About
	if text := about["record_id"] + about["agent"]; text != "" {
		named := d.byID[text]
		if named == nil {
			id, err := records.Unique(text, maps.Keys(d.byID))
			if err != nil {
				return nil, err
			}
			named = d.byID[id]
		}
		switch {
		case named == nil:
			return nil, nil
		case about["agent"] != "":
			return d.by[identityOf(d.kind.Name, named.Record)].records(a.Earlier), nil
		}
		return []*Row{named}, nil
	}
	if key := about["pubkey"]; key != "" {
		return d.by[identity{key, true}].records(a.Earlier), nil
	}
	name := about["agent_name"] + about["org_name"]
	if !strings.Contains(name, "*") {
		return d.by[identity{name, false}].records(a.Earlier), nil
	}
	pattern := like(name)
	for _, s := range d.subjects {
		if !s.nameless && pattern.MatchString(s.text) {
			found = append(found, s.records(a.Earlier)...)
		}
	}
	return found, nil
}

// ownReason is the reason of what is set apart by its name.
const ownReason = "a name of own_names"

// decisions are those about all records of the kind for which something else holds than without a
// decision, new records first. Records for which the same holds have one decision. unanswered is
// how many new records no answer names.
func (d *decider) decisions() (list []site.Decision, unanswered int) {
	at := map[site.Decision]int{}            // indexes of list, by decisions without records
	var texts []*strings.Builder             // the records of each
	known := map[identity]string{}           // the records by which agents that are vouched for are known
	harmless := site.Choices[d.kind.Name][0] // what holds without a decision
	write := func(r *Row, decision, reason string) {
		one := site.Decision{Kind: d.kind.Name, Decision: decision, Corrects: r.by, Reason: strings.TrimSpace(reason)}
		if decision == site.Vouch {
			id := identityOf(d.kind.Name, r.Record)
			known[id] = cmp.Or(known[id], d.by[id].vouched, r.hash)
			one.Agent = known[id]
		}
		i, there := at[one]
		if !there {
			i = len(list)
			at[one], list, texts = i, append(list, one), append(texts, &strings.Builder{})
		}
		texts[i].WriteString(r.hash + "\n")
	}
	for i := range d.new {
		r := &d.new[i]
		c, answered := d.chosen[r]
		switch {
		case answered && c.Decision != harmless:
			write(r, c.Decision, c.Reason)
		case !answered:
			unanswered++
			if d.ownRecord(d.kind.Name, r.Record) != "" {
				write(r, site.Own, ownReason)
			}
		}
	}
	for i := range d.old {
		if c, answered := d.chosen[&d.old[i]]; answered {
			write(&d.old[i], c.Decision, c.Reason)
		}
	}
	for i := range list {
		list[i].Records = texts[i].String()
	}
	return list, unanswered
}
