package verification

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"anteroom/edge/store/records"
	"anteroom/generator/site"
)

// Decided is what the answers to a survey decide.
type Decided struct {
	Verification *site.Verification
	Counts       map[string]int // the counted numbers, by their places in a board
	ledger       *site.Ledger   // with this verification
	reasons      []string       // of what is decided otherwise than before
	faulty       bool           // some answers could not be applied, so that Counts are not the right ones
}

// choice is what was decided about a record, and by which answer.
type choice struct {
	answer *Answer
	record records.Record
	agent  uint32 // of a registration
}

// Decide applies answers. Its error names all of them that match nothing, or that decide about a
// record which another decides about too. Beside such an error there still is what the others
// decide, so that Board can find the faults of numbers and texts too; of any other there is nil.
func (v *Survey) Decide(ctx context.Context, a *Answers) (*Decided, error) {
	switch lost := strings.TrimSpace(a.Lost); {
	case len(v.Broken) > 0 && lost == "":
		return nil, fmt.Errorf("verify: the store is not as it was verified (bring the records back from a backup, then verify again; "+
			"where they are lost for good, let the answers say why: lost: REASON):\n%s", strings.Join(v.Broken, "\n"))
	case lost != "" && len(v.Broken) == 0:
		return nil, errors.New("verify: the answers say that records are lost, and all are as they were verified")
	case lost != "" && len(a.Registrations)+len(a.Charters)+len(a.Suggestions) > 0:
		return nil, errors.New("verify: a loss is verified alone (decide about records with the verification after it)")
	case lost != "":
		return v.lost(ctx, lost)
	}
	d := &decider{survey: v, ctx: ctx}
	var choices [][]choice
	for i, kind := range site.Kinds {
		made, err := d.decide(i, a.of(kind))
		if err != nil {
			return nil, err
		}
		choices = append(choices, made)
	}
	verification := v.verification(v.Coverage)
	for i, kind := range site.Kinds {
		verification.Decisions = append(verification.Decisions, d.write(i, kind, choices[i])...)
	}
	ledger := v.Site.Ledger()
	if faults := ledger.Enter(verification); len(faults) > 0 && len(d.faults) == 0 {
		return nil, fmt.Errorf("verify: %s", strings.Join(faults, "; "))
	}
	decided := &Decided{Verification: verification, Counts: ledger.Counts(), ledger: ledger, reasons: d.reasons, faulty: len(d.faults) > 0}
	if n := len(d.faults) - maxFaults; n > 0 {
		d.faults = append(d.faults[:maxFaults], fmt.Errorf("and %d faults more", n))
	}
	return decided, errors.Join(d.faults...)
}

// verification is one that decides nothing yet.
func (v *Survey) verification(coverage []site.Coverage) *site.Verification {
	verification := &site.Verification{
		File: v.Name, Host: v.Site.Service.CanonicalHost, Store: v.Store, Through: v.Through,
		ReceiptKeys:   slices.DeleteFunc(v.Site.Service.Keys(), func(key string) bool { return key == "" }),
		Registrations: coverage[0], Charters: coverage[1], Suggestions: coverage[2],
	}
	if n := len(v.Site.Verifications); n > 0 {
		last := &v.Site.Verifications[n-1]
		verification.Follows, verification.FollowsSHA256 = last.File, last.SHA256
	}
	return verification
}

// lost makes a verification of what is left: its coverage begins anew, and what was decided about
// records that are gone falls away.
func (v *Survey) lost(ctx context.Context, reason string) (*Decided, error) {
	var coverage []site.Coverage
	var decisions []site.Decision
	for i := range records.Kinds {
		w := newWalk(&records.Kinds[i], nil, v.ledger)
		covers, err := w.run(ctx, v.reader, v.last[i], func(*records.Record, bool) error { return nil })
		if err != nil {
			return nil, err
		}
		coverage = append(coverage, covers)
		if len(w.gone) == 0 {
			continue
		}
		var b strings.Builder
		for _, r := range w.gone {
			fmt.Fprintln(&b, r.ID, r.SHA256)
		}
		decisions = append(decisions, site.Decision{Kind: w.kind.Name, Decision: site.Gone, Reason: reason, Records: b.String()})
	}
	verification := v.verification(coverage)
	verification.Lost, verification.Decisions = reason, decisions
	ledger := v.Site.Ledger()
	if faults := ledger.Enter(verification); len(faults) > 0 {
		return nil, fmt.Errorf("verify: %s", strings.Join(faults, "; "))
	}
	return &Decided{Verification: verification, Counts: ledger.Counts(), ledger: ledger, reasons: []string{reason}}, nil
}

// maxFaults is how many faults of answers are named. Two answers may be at odds over a million
// records.
const maxFaults = 100

// decider applies answers to a survey.
type decider struct {
	survey  *Survey
	ctx     context.Context
	faults  []error
	reasons []string
}

func (d *decider) fault(format string, args ...any) {
	d.faults = append(d.faults, fmt.Errorf(format, args...))
}

// decide gives what the answers about a kind decide, new records first.
func (d *decider) decide(kind int, answers []Answer) (made []choice, err error) {
	matched := make([]int, len(answers)) // how many records each answer is about
	byID := map[string]int{}
	for i := range answers {
		if id := answers[i].RecordID; id != "" {
			if before, again := byID[id]; again {
				d.fault("%s is decided twice", id)
				matched[before]++
			}
			byID[id] = i
		}
	}
	own := &Answer{Decision: site.Own, Reason: "a name of own_names"}
	add := func(record records.Record, agent uint32, byName int, isOwn bool) {
		i, there := byID[record.ID]
		if there {
			delete(byID, record.ID)
			if byName >= 0 {
				d.fault("%s is decided twice, by itself and by %s", record.ID, answers[byName].about())
			}
		} else if i = byName; i < 0 {
			if isOwn {
				made = append(made, choice{own, record, agent})
			}
			return
		}
		matched[i]++
		if answers[i].Decision != site.Choices[site.Kinds[kind]][0] {
			made = append(made, choice{&answers[i], record, agent})
		}
	}
	if site.Kinds[kind] == site.Registration {
		err = d.newRegistrations(answers, byID, matched, add)
	} else {
		filings := d.survey.Charters
		if site.Kinds[kind] == site.Suggestion {
			filings = d.survey.Suggestions
		}
		for i := range filings {
			byName := -1
			for k := range answers {
				if a := &answers[k]; !a.Earlier && a.OrgName != "" && Matches(a.OrgName, filings[i].Values[0]) {
					byName = d.either(answers, matched, byName, k, filings[i].ID)
				}
			}
			add(filings[i].Record, 0, byName, filings[i].Own != "")
		}
	}
	if err != nil {
		return nil, err
	}
	earlier, err := d.earlier(kind, answers, byID, matched)
	if err != nil {
		return nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(byID)) {
		d.fault("there is no %s %s", site.Kinds[kind], id)
		matched[byID[id]]++
	}
	for i, n := range matched {
		if n == 0 {
			d.fault("%s matches no %s%s (%s)", answers[i].about(), map[bool]string{true: "earlier ", false: "new "}[answers[i].Earlier], site.Kinds[kind],
				map[bool]string{true: "or what it matches is decided so already", false: "earlier: true is about those that were verified before"}[answers[i].Earlier])
		}
	}
	return append(made, earlier...), nil
}

// either is the answer next, and finds fault with it where there was one before, -1 for none.
func (d *decider) either(answers []Answer, matched []int, before, next int, what string) int {
	if before >= 0 {
		matched[before]++
		d.fault("%s is decided twice, by %s and by %s", what, answers[before].about(), answers[next].about())
	}
	return next
}

// newRegistrations gives the new registrations that are decided about to add.
func (d *decider) newRegistrations(answers []Answer, byID map[string]int, matched []int, add func(records.Record, uint32, int, bool)) error {
	v := d.survey
	chosen, own := make([]int32, v.agents.n), map[uint32]bool{}
	wanted := false
	exact := map[string][]int{} // the answers about one agent, by that
	var wide []int              // those that may be about several
	for i := range answers {
		if agent, ok := answers[i].exactly(); ok {
			exact[agent] = append(exact[agent], i)
		} else if a := &answers[i]; !a.Earlier && a.AgentName != "" {
			wide = append(wide, i)
		}
	}
	for i := range v.agents.n {
		chosen[i] = -1
		a := v.agents.at(uint32(i))
		if a.count == 0 {
			continue
		}
		found := -1
		for _, k := range exact[indexed(a.name, a.nameless)] {
			found = d.either(answers, matched, found, k, a.name)
		}
		for _, k := range wide {
			if !a.nameless && Matches(answers[k].AgentName, a.name) {
				found = d.either(answers, matched, found, k, a.name)
			}
		}
		chosen[i] = int32(found)
		if chosen[i] < 0 && !a.nameless && v.own(a.name) != "" {
			own[uint32(i)] = true
		}
		if chosen[i] >= 0 {
			matched[chosen[i]]++
		}
		wanted = wanted || chosen[i] >= 0 && answers[chosen[i]].Decision != site.Leave || own[uint32(i)]
	}
	if !wanted && len(byID) == 0 {
		return nil
	}
	list, agents, err := v.recordsOf(d.ctx, func(agent uint32, id string) bool {
		_, named := byID[id]
		return named || own[agent] || chosen[agent] >= 0 && answers[chosen[agent]].Decision != site.Leave
	})
	for i := range list {
		add(list[i], agents[i], int(chosen[agents[i]]), own[agents[i]])
	}
	return err
}

// earlier gives what is decided otherwise about records that were verified before. What it finds of
// byID it takes out.
func (d *decider) earlier(kind int, answers []Answer, byID map[string]int, matched []int) (made []choice, err error) {
	v, table := d.survey, &records.Kinds[kind]
	last := int64(0)
	if n := len(v.Site.Verifications); n > 0 {
		last = int64(v.Site.Verifications[n-1].Covers(table.Name).Last)
	}
	add := func(record records.Record, i int) {
		e, named := v.ledger.Entries()[record.ID]
		now := e.Decision
		if !named {
			now = site.Choices[table.Name][0]
		}
		a := &answers[i]
		if now == a.Decision {
			return
		}
		matched[i]++
		if strings.TrimSpace(a.Reason) == "" {
			d.fault("%s was verified before, and needs a reason to be decided otherwise", record.ID)
		}
		agent := uint32(0)
		if table.Name == site.Registration {
			agent, _, _ = v.find(identity(&record))
		}
		made = append(made, choice{a, record, agent})
	}
	if len(byID) > 0 {
		found, err := records.Find(d.ctx, v.reader, table, slices.Sorted(maps.Keys(byID)))
		if err != nil {
			return nil, err
		}
		for _, record := range found {
			i := byID[record.ID]
			if record.Seq > last {
				d.fault("%s was recorded after %s, and is for the next verification", record.ID, v.Through)
				matched[i]++
			} else if add(record, i); matched[i] == 0 {
				d.fault("%s is decided so already", record.ID)
				matched[i]++
			}
			delete(byID, record.ID)
		}
	}
	if !slices.ContainsFunc(answers, func(a Answer) bool { return a.Earlier }) {
		return made, nil
	}
	seen := map[string]bool{}
	for _, c := range made {
		seen[c.record.ID] = true
	}
	err = records.Scan(d.ctx, v.reader, table, 0, last, func(r *records.Record) error {
		for i := range answers {
			a := &answers[i]
			name := r.Values[0]
			if !a.Earlier || !(a.AgentName != "" && name != "" && Matches(a.AgentName, name) || a.OrgName != "" && Matches(a.OrgName, name) ||
				a.Pubkey != "" && name == "" && a.Pubkey == r.Values[1]) {
				continue
			}
			if seen[r.ID] {
				d.fault("%s is decided twice", r.ID)
				continue
			}
			seen[r.ID] = true
			record := *r
			record.Values = slices.Clone(r.Values)
			add(record, i)
		}
		return nil
	})
	return made, err
}

// identity is what tells the agent of a registration: its name, or its key where it has none.
func identity(r *records.Record) (string, bool) {
	if r.Values[0] == "" {
		return r.Values[1], true
	}
	return r.Values[0], false
}

// write makes decisions of choices: one for each agent that is vouched for, and one for each other
// answer.
func (d *decider) write(kind int, name string, choices []choice) (list []site.Decision) {
	type group struct {
		answer   *Answer
		agent    string
		corrects string
	}
	at := map[group]int{}
	var texts []*strings.Builder // of the records, beside list
	agents := map[uint32]string{}
	for _, c := range choices {
		g := group{answer: c.answer, corrects: d.coveredBy(kind, c.record.Seq)}
		if c.answer.Decision == site.Vouch {
			if agents[c.agent] == "" {
				agents[c.agent] = c.record.ID
				if known := d.survey.vouched[c.agent]; known != "" {
					agents[c.agent] = known
				}
			}
			g.agent = agents[c.agent]
		}
		i, there := at[g]
		if !there {
			i = len(list)
			at[g] = i
			texts = append(texts, &strings.Builder{})
			list = append(list, site.Decision{Kind: name, Decision: c.answer.Decision, Agent: g.agent, Corrects: g.corrects, Reason: strings.TrimSpace(c.answer.Reason)})
			if g.corrects != "" && !slices.Contains(d.reasons, list[i].Reason) {
				d.reasons = append(d.reasons, list[i].Reason)
			}
		}
		texts[i].WriteString(c.record.ID + " " + c.record.SHA256 + "\n")
	}
	for i := range list {
		list[i].Records = texts[i].String()
	}
	return list
}

// coveredBy is the verification that covers a record already, "" for none.
func (d *decider) coveredBy(kind int, seq int64) string {
	verifications := standing(d.survey.Site.Verifications)
	for i := range verifications {
		if v := &verifications[i]; seq <= int64(v.Covers(site.Kinds[kind]).Last) {
			return v.File
		}
	}
	return ""
}
