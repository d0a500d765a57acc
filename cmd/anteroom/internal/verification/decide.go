package verification

import (
	"fmt"
	"slices"
	"strings"

	"anteroom/edge/store/records"
	"anteroom/generator/answers"
	"anteroom/generator/site"

	"golang.org/x/mod/sumdb/note"
)

// Decided is what the answers decide: a verification and its board.
type Decided struct {
	Verification *site.Verification
	Board        *Board
	Site         *site.Site     // with the verification and its board
	Log          *Logged        // nil if there is no log
	Files        []File         // what Write writes
	counts       map[string]int // the counted numbers, by their places in a board
	ledger       *site.Ledger   // with this verification
	reasons      []string       // of what is decided otherwise than before
	faulty       bool           // some answers could not be applied, so that counts are not the right ones
}

// candidate is a record that an answer decides about.
type candidate struct {
	*records.Record
	agent  *Agent // of a registration
	answer *Answer
	by     string // the place of the answer
}

// decider applies the answers about one kind of record.
type decider struct {
	*Pending
	kind    int
	name    string                     // of the kind
	byID    map[string]*records.Record // those that answers name
	chosen  map[string]*candidate      // by record_id
	faults  *Faults
	reasons *[]string
}

// Decide applies answers: it decides about the records, makes the board, checks both with the site, and adds
// to the log, which key signs; key is nil if the site has no log. today is a date. The error is Faults, which
// names everything that is wrong with the answers, or site.Errors if the content would be refused.
func (p *Pending) Decide(a *Answers, key note.Signer, today string) (*Decided, error) {
	var faults Faults
	if a.Through != "" && a.Through != p.Through {
		faults.fault("through", "it is %s, and this is the verification through %s", a.Through, p.Through)
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
	if err == nil {
		err = s.CheckDay(today)
	}
	if err != nil {
		return nil, err
	}
	d.Site, d.Files = s, []File{{VerificationFile(p.Name), text}, {BoardFile(p.Name), d.Board.Text}}
	if key == nil {
		return d, nil
	}
	if d.Log, err = p.log(d, s.Current(), answers.BoardDocument(s.Current()), key); err != nil {
		return nil, err
	}
	entries, checkpoint := site.LogFiles(p.Name)
	d.Files = append(d.Files, File{entries, d.Log.Lines}, File{checkpoint, d.Log.Checkpoint})
	return d, nil
}

// decide applies answers. Beside faults there still is what the other answers decide, so that the faults
// of numbers and texts can be found too.
func (p *Pending) decide(a *Answers, faults *Faults) *Decided {
	switch lost := strings.TrimSpace(a.Lost); {
	case len(p.Broken) > 0 && lost == "":
		faults.fault("lost", "the store is not as it was verified (bring the records back from a backup, then verify again; "+
			"if they are lost for good, say why: lost: REASON):\n%s", strings.Join(p.Broken, "\n"))
		return nil
	case lost != "" && len(p.Broken) == 0:
		faults.fault("lost", "all records are as they were verified")
		return nil
	case lost != "" && len(a.Registrations)+len(a.Charters)+len(a.Suggestions) > 0:
		faults.fault("lost", "a loss is verified alone (decide about records with the next verification)")
		return nil
	case lost != "":
		return p.decided(p.lost(lost), []string{lost}, faults)
	}
	verification := p.verification(p.Coverage)
	var reasons []string
	for i, kind := range site.Kinds {
		d := &decider{
			Pending: p, kind: i, name: kind, byID: map[string]*records.Record{}, chosen: map[string]*candidate{}, faults: faults, reasons: &reasons,
		}
		d.find(a.of(kind))
		for k := range a.of(kind) {
			d.apply(&a.of(kind)[k], place(kind, k))
		}
		if unseen := d.unanswered(); a.Through == "" && unseen > 0 {
			faults.fault("through", "it is missing, and no answer names %s (anteroom verify --template writes it)", plural(unseen, "new "+kind))
		}
		verification.Decisions = append(verification.Decisions, d.decisions()...)
	}
	return p.decided(verification, reasons, faults)
}

// decided enters a verification into the ledger.
func (p *Pending) decided(verification *site.Verification, reasons []string, faults *Faults) *Decided {
	ledger, faulty := p.Site.Ledger(), len(*faults) > 0
	if wrong := ledger.Enter(verification); len(wrong) > 0 && !faulty {
		faults.fault("", "%s", strings.Join(wrong, "; "))
	}
	return &Decided{Verification: verification, counts: ledger.Counts(), ledger: ledger, reasons: reasons, faulty: faulty}
}

// verification is one that decides nothing yet.
func (p *Pending) verification(coverage []site.Coverage) *site.Verification {
	verification := &site.Verification{
		File: p.Name, Host: p.Site.Service.CanonicalHost, Store: p.Store, Through: p.Through,
		ReceiptKeys:   slices.DeleteFunc(p.Site.Service.Keys(), func(key string) bool { return key == "" }),
		Registrations: coverage[0], Charters: coverage[1], Suggestions: coverage[2],
	}
	if n := len(p.Site.Verifications); n > 0 {
		last := &p.Site.Verifications[n-1]
		verification.Follows, verification.FollowsSHA256 = last.File, last.SHA256
	}
	return verification
}

// lost makes a verification of what is left: its coverage begins again, and what was decided about
// records that are gone no longer counts.
func (p *Pending) lost(reason string) *site.Verification {
	verification := p.verification(p.Coverage)
	verification.Lost = reason
	for i := range records.Kinds {
		kind := &records.Kinds[i]
		left := scan(kind, slices.Concat(p.kinds[i].covered, p.kinds[i].fresh), p.last[i], nil, p.ledger)
		*verification.Covers(kind.Name) = left.coverage
		if len(left.gone) == 0 {
			continue
		}
		var b strings.Builder
		for _, r := range left.gone {
			fmt.Fprintln(&b, r.ID, r.SHA256)
		}
		gone := site.Decision{Kind: kind.Name, Decision: site.Gone, Reason: reason, Records: b.String()}
		verification.Decisions = append(verification.Decisions, gone)
	}
	return verification
}

// apply chooses the records that an answer is about.
func (d *decider) apply(a *Answer, at string) {
	found, applied := d.match(a), 0
	if len(found) == 0 {
		switch {
		case a.RecordID != "":
			d.faults.fault(at, "there is no %s %s up to %s", d.name, a.RecordID, d.Through)
		case a.Earlier:
			d.faults.fault(at, "%s matches no earlier %s", a.about(), d.name)
		default:
			d.faults.fault(at, "%s matches no new %s (earlier: true is about those that were verified before)", a.about(), d.name)
		}
		return
	}
	for _, r := range found {
		earlier := d.coveredBy(r) != ""
		if earlier && a.Decision == d.before(r) {
			continue
		}
		applied++
		if before := d.chosen[r.ID]; before != nil && before.answer == a {
			continue // two records have one identifier, which Odd says
		} else if before != nil {
			d.faults.fault(at, "%s is decided by %s already", r.ID, before.by)
			return
		}
		if earlier && strings.TrimSpace(a.Reason) == "" {
			d.faults.fault(at, "%s was verified before, and needs a reason to be decided otherwise", r.ID)
		}
		c := &candidate{Record: r, answer: a, by: at}
		if d.name == site.Registration {
			c.agent = d.byName[identityOf(r)]
		}
		d.chosen[r.ID] = c
	}
	if applied == 0 {
		d.faults.fault(at, "what %s matches is decided so already", a.about())
	}
}

// before is the decision that holds for a record that was verified.
func (d *decider) before(r *records.Record) string {
	if e, named := d.ledger.Entries()[r.ID]; named {
		return e.Decision
	}
	return site.Choices[d.name][0]
}

// find finds the records that answers name.
func (d *decider) find(answers []Answer) {
	for i := range answers {
		d.byID[answers[i].RecordID], d.byID[answers[i].Agent] = nil, nil
	}
	for _, list := range [][]records.Record{d.kinds[d.kind].covered, d.kinds[d.kind].fresh} {
		for i := range list {
			if _, named := d.byID[list[i].ID]; named {
				d.byID[list[i].ID] = &list[i]
			}
		}
	}
}

// match gives the records that an answer is about.
func (d *decider) match(a *Answer) (found []*records.Record) {
	covered, fresh := d.kinds[d.kind].covered, d.kinds[d.kind].fresh
	of := func(agent *Agent) {
		switch {
		case agent == nil:
		case a.Earlier:
			found = append(found, agent.Earlier...)
		default:
			found = append(found, agent.New...)
		}
	}
	plain := strings.ReplaceAll(a.AgentName, `\*`, "")
	switch {
	case a.RecordID != "":
		if r := d.byID[a.RecordID]; r != nil {
			found = append(found, r)
		}
	case a.Agent != "":
		if r := d.byID[a.Agent]; r != nil {
			of(d.byName[identityOf(r)])
		}
	case a.Pubkey != "":
		of(d.byName[identity{a.Pubkey, true}])
	case a.AgentName != "" && !strings.Contains(plain, "*"):
		of(d.byName[identity{strings.ReplaceAll(a.AgentName, `\*`, "*"), false}])
	case a.AgentName != "":
		for _, agent := range d.agents {
			if !agent.nameless && Matches(a.AgentName, agent.text) {
				of(agent)
			}
		}
	default:
		list := fresh
		if a.Earlier {
			list = covered
		}
		for i := range list {
			if Matches(a.OrgName, list[i].Values[0]) {
				found = append(found, &list[i])
			}
		}
	}
	return found
}

// unanswered is how many new records no answer names.
func (d *decider) unanswered() (n int) {
	fresh := d.kinds[d.kind].fresh
	for i := range fresh {
		if d.chosen[fresh[i].ID] == nil {
			n++
		}
	}
	return n
}

// ownReason is the reason of what is set apart by its name.
const ownReason = "a name of own_names"

// decisions are those about all records of the kind that differ from what holds without one, new records
// first. Records for which the same holds are decided about together.
func (d *decider) decisions() (list []site.Decision) {
	type group struct{ decision, agent, corrects, reason string }
	at := map[group]int{}
	var texts []*strings.Builder // of the records, beside list
	known := map[*Agent]string{}
	write := func(r *records.Record, agent *Agent, decision, reason string) {
		g := group{decision: decision, corrects: d.coveredBy(r), reason: strings.TrimSpace(reason)}
		if decision == site.Vouch {
			if known[agent] == "" {
				if known[agent] = agent.vouched; agent.vouched == "" {
					known[agent] = r.ID
				}
			}
			g.agent = known[agent]
		}
		i, there := at[g]
		if !there {
			i = len(list)
			at[g] = i
			texts = append(texts, &strings.Builder{})
			list = append(list, site.Decision{Kind: d.name, Decision: decision, Agent: g.agent, Corrects: g.corrects, Reason: g.reason})
			if g.corrects != "" && !slices.Contains(*d.reasons, g.reason) {
				*d.reasons = append(*d.reasons, g.reason)
			}
		}
		texts[i].WriteString(r.ID + " " + r.SHA256 + "\n")
	}
	fresh, covered := d.kinds[d.kind].fresh, d.kinds[d.kind].covered
	for i := range fresh {
		r := &fresh[i]
		decision, reason, agent := site.Choices[d.name][0], "", (*Agent)(nil)
		if c := d.chosen[r.ID]; c != nil {
			decision, reason, agent = c.answer.Decision, c.answer.Reason, c.agent
		} else if proposed, own := d.proposed(d.name, r); own != "" {
			decision, reason = proposed, ownReason
		}
		if decision != site.Choices[d.name][0] {
			write(r, agent, decision, reason)
		}
	}
	for i := range covered {
		if c := d.chosen[covered[i].ID]; c != nil {
			write(&covered[i], c.agent, c.answer.Decision, c.answer.Reason)
		}
	}
	for i := range list {
		list[i].Records = texts[i].String()
	}
	return list
}

// coveredBy is the verification that covers a record already, "" for none.
func (d *decider) coveredBy(r *records.Record) string {
	verifications := since(d.Site.Verifications)
	for i := range verifications {
		if v := &verifications[i]; r.Seq <= int64(v.Covers(d.name).Last) {
			return v.File
		}
	}
	return ""
}
