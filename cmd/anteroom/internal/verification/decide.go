package verification

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/store/records"
	"anteroom/generator/site"

	"golang.org/x/mod/sumdb/note"
)

// decided is the verification that the answers make, with its board.
type decided struct {
	verification *site.Verification
	board        *board
	site         *site.Site // with the verification, its board and its stage of the log
	log          *logged    // nil if there is no log
	files        []file

	ledger *site.Ledger // with this verification
	faulty bool         // some answers could not be applied, so that the counts are not final
}

// decide applies answers: it decides about the records, makes the board, checks both with the site,
// and adds to the log, which key signs; key is nil if the site has no log. The error is faults,
// with all faults of the answers, or site.Errors if the content would be refused.
func (v *survey) decide(a *answers, key note.Signer) (*decided, error) {
	var wrong faults
	if a.Through != "" && a.Through != v.through {
		wrong.add("through", "got %s, want %s, which this verification covers", a.Through, v.through)
	}
	d := v.apply(a, &wrong)
	if d != nil {
		d.board = v.newBoard(d, a, &wrong)
	}
	if err := wrong.in(a); err != nil {
		return nil, err
	}
	d.verification.BoardSHA256 = site.SumOfBoard(d.board.text)
	text := d.verification.Encode()
	s, err := v.site.With(v.name, text, d.board.text)
	if refused := site.Errors(nil); errors.As(err, &refused) {
		return nil, entered(refused).in(a)
	} else if err != nil {
		return nil, err
	}
	d.site, d.files = s, []file{{boardFile(v.name), d.board.text}, {verificationFile(v.name), text}}
	if key == nil {
		return d, nil
	}
	if d.log, err = v.appendLog(d, s.Current(), key); err != nil {
		return nil, err
	}
	s.Log = d.log.log
	entries, checkpoint := site.LogFiles(v.name)
	d.files = append([]file{{entries, d.log.lines}, {checkpoint, d.log.checkpoint}}, d.files...)
	return d, nil
}

// entered names the operator's answer in place of the number or text of a board that is not written
// yet.
func entered(refused site.Errors) (wrong faults) {
	for _, e := range refused {
		path, what, _ := strings.Cut(e.What, " ")
		path = strings.TrimSuffix(path, ":")
		switch numbers := "numbers." + path; {
		case slices.ContainsFunc(site.Numbers, func(n site.Number) bool { return n.Path == path }):
			wrong.add(numbers, "%s (%s)", what, e.Hint)
		case strings.HasPrefix(path, updates+"["):
			wrong.add(path[strings.LastIndexByte(path, '.')+1:], "%s (%s)", what, e.Hint)
		case strings.Contains(path, "."):
			wrong.add("texts."+path, "%s (%s)", what, e.Hint)
		default:
			wrong.add("", "%s (%s)", e.What, e.Hint)
		}
	}
	return wrong
}

// apply decides about the records. If it refuses some answers, it applies the others, so that the
// faults of numbers and texts are found too; it returns nil if it can apply none.
func (v *survey) apply(a *answers, wrong *faults) *decided {
	lost := a.Lost
	switch {
	case len(v.broken) > 0 && lost == "":
		wrong.add("lost", "the store differs from the verified one "+
			"(bring the records back from a backup, then verify again; if they are lost for good, say why: "+
			"lost: REASON):\n%s", strings.Join(v.broken, "\n"))
		return nil
	case lost != "" && len(v.broken) == 0:
		wrong.add("lost", "no verified record is lost")
		return nil
	}
	made := &site.Verification{
		File: v.name, Host: v.site.Service.CanonicalHost, Store: v.store, Through: v.through, Lost: lost,
		ReceiptKeys: slices.DeleteFunc(v.site.Service.Keys(), func(key string) bool { return key == "" }),
	}
	if n := len(v.site.Verifications); n > 0 {
		last := &v.site.Verifications[n-1]
		made.Follows, made.FollowsSHA256 = last.File, last.SHA256
	}
	d := &decided{verification: made, ledger: v.site.Ledger()}
	for _, k := range v.kinds {
		name := k.kind.Name
		*made.Covers(name) = cover(k.verified, k.fresh, k.end)
		if lost != "" {
			*made.Covers(name) = cover(site.Coverage{SHA256: site.EmptyDigest}, k.all, k.end)
			if len(k.gone) > 0 {
				made.Decisions = append(made.Decisions, site.Decision{
					Kind: name, Decision: site.Gone, Reason: lost, Records: strings.Join(k.gone, "\n") + "\n",
				})
			}
		}
		for _, r := range k.all {
			r.answer = nil // of an earlier try
		}
		for i := range a.of(name) {
			v.answer(k, &a.of(name)[i], place(name, i), wrong)
		}
		decisions, unanswered := v.decisions(k)
		if a.Through == "" && unanswered > 0 {
			wrong.add("through", "missing, but the answers omit %s (anteroom publish --template writes it)",
				cli.Plural(unanswered, "new "+name))
		}
		made.Decisions = append(made.Decisions, decisions...)
	}
	d.faulty = len(*wrong) > 0
	d.ledger.Enter(made)
	return d
}

func (v *survey) answer(k *scanned, a *answer, at string, wrong *faults) {
	found, err := k.match(a)
	if err != nil {
		wrong.add(at, "%v", err)
		return
	}
	if len(found) == 0 {
		switch {
		case a.RecordID != "":
			wrong.add(at, "no %s %s up to %s", k.kind.Name, a.RecordID, v.through)
		case a.Earlier:
			wrong.add(at, "%s matches no earlier %s", a, k.kind.Name)
		default:
			wrong.add(at, "%s matches no new %s (earlier: true selects verified ones)", a, k.kind.Name)
		}
		return
	}
	applied := 0
	for _, r := range found {
		if r.by != "" && a.Decision == r.was {
			continue
		}
		applied++
		switch {
		case r.answer == nil, a.pattern() != "" && v.untouched(k, r.answer, r):
		case r.answer.pattern() != "" && v.untouched(k, a, r):
			continue
		default:
			wrong.add(at, "%s already decides about %s", r.place, r.ID)
			return
		}
		if r.by != "" && a.Reason == "" {
			wrong.add(at, "%s was verified before: a new decision needs a reason", r.ID)
		}
		r.answer, r.place = a, at
	}
	if applied == 0 {
		wrong.add(at, "the decision about %s is already %s", a, a.Decision)
	}
}

// untouched reports whether an answer is the one that a template proposes for a record. Such an
// answer yields to a pattern.
func (v *survey) untouched(k *scanned, a *answer, r *row) bool {
	decision, reason := v.proposal(k, r)
	return a.Agent+a.RecordID != "" && r.by == "" && a.Decision == decision && a.Reason == reason
}

func (v *survey) proposal(k *scanned, r *row) (decision, reason string) {
	if v.ownRecord(k.kind.Name, r.Record) != "" {
		return site.Own, ownReason
	}
	return site.Choices[k.kind.Name][0], ""
}

func (k *scanned) match(a *answer) (found []*row, err error) {
	if text := a.RecordID + a.Agent; text != "" {
		id, err := records.Unique(text, maps.Keys(k.byID))
		if err != nil {
			return nil, err
		}
		named := k.byID[id]
		switch {
		case named == nil:
			return nil, nil
		case a.Agent != "":
			return k.by[identityOf(k.kind.Name, named.Record)].records(a.Earlier), nil
		}
		return []*row{named}, nil
	}
	if a.PublicKey != "" {
		return k.by[identity{a.PublicKey, true}].records(a.Earlier), nil
	}
	if a.pattern() == "" {
		return k.by[identity{a.AgentName + a.OrgName, false}].records(a.Earlier), nil
	}
	pattern := like(a.pattern())
	for _, s := range k.subjects {
		if !s.nameless && pattern.MatchString(s.text) {
			found = append(found, s.records(a.Earlier)...)
		}
	}
	return found, nil
}

// ownReason is the reason of a record that is set apart by its name.
const ownReason = "a name of own_names"

// decisions lists the decisions about all records of a kind that differ from the default, new
// records first. Records with the same decision share one. unanswered counts the new records that
// no answer names.
func (v *survey) decisions(k *scanned) (list []site.Decision, unanswered int) {
	at := map[site.Decision]int{} // indexes of list, by decisions without records
	var hashes []*strings.Builder // of the records of each
	known := map[identity]string{}
	write := func(r *row, decision, reason string) {
		one := site.Decision{Kind: k.kind.Name, Decision: decision, Corrects: r.by, Reason: reason}
		if decision == site.Vouch {
			id := identityOf(k.kind.Name, r.Record)
			known[id] = cmp.Or(known[id], k.by[id].vouched, r.hash)
			one.Agent = known[id]
		}
		i, exists := at[one]
		if !exists {
			i = len(list)
			at[one], list, hashes = i, append(list, one), append(hashes, &strings.Builder{})
		}
		hashes[i].WriteString(r.hash + "\n")
	}
	for _, r := range k.fresh {
		switch {
		case r.answer == nil:
			unanswered++
			if v.ownRecord(k.kind.Name, r.Record) != "" {
				write(r, site.Own, ownReason)
			}
		case r.answer.Decision != site.Choices[k.kind.Name][0]:
			write(r, r.answer.Decision, r.answer.Reason)
		}
	}
	for _, r := range k.old {
		if r.answer != nil {
			write(r, r.answer.Decision, r.answer.Reason)
		}
	}
	for i := range list {
		list[i].Records = hashes[i].String()
	}
	return list, unanswered
}
