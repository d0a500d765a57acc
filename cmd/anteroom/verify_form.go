package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/verification"
	"anteroom/edge/store/records"
	"anteroom/generator/site"
)

// questions are a verification while it is decided at a terminal. What is decided is kept after
// each answer.
type questions struct {
	*verifyOptions
	t        *cli.Terminal
	form     *form
	survey   *verification.Survey
	observed []records.Observation
	answers  *verification.Answers
	groups   []verification.Group
	by       []int // the answer about each group, -1 for none
	filter   string
	undo     [][]verification.Answer // the registrations' answers before each change
}

// ask decides at the terminal.
func (o *verifyOptions) ask(ctx context.Context, t *cli.Terminal, survey *verification.Survey, observed []records.Observation) error {
	answers, err := o.readDraft()
	if err != nil {
		return err
	}
	q := &questions{verifyOptions: o, t: t, form: newForm(ctx, t), survey: survey, observed: observed, answers: answers, groups: slices.Collect(survey.Groups())}
	for _, broken := range survey.Broken {
		t.Warnf("%s", broken)
	}
	for _, odd := range survey.Odd {
		t.Warnf("%s", odd)
	}
	err = q.menu(ctx)
	if errors.Is(err, errLeft) {
		t.Printf("Nothing was written. What you have decided is kept in %s: anteroom verify goes on with it.", o.draft())
		return errors.Join(o.keepDraft(q.answers), t.Out.Flush())
	}
	return err
}

// menu is the first question.
func (q *questions) menu(ctx context.Context) error {
	for {
		q.by = verification.ByGroup(q.groups, q.answers.Registrations)
		vouched, own := 0, 0
		for i := range q.groups {
			switch q.decision(i) {
			case site.Vouch:
				vouched++
			case site.Own:
				own++
			}
		}
		chosen, err := q.form.choose("Verification "+q.survey.Name+", of everything recorded through "+q.survey.Through, "", []string{
			fmt.Sprintf("Agents: %s of %s (%d vouched for, %d your own, %d left)", cli.Plural(q.survey.New[0], "registration"),
				cli.Plural(len(q.groups), "agent"), vouched, own, len(q.groups)-vouched-own),
			fmt.Sprintf("Charters: %d", len(q.survey.Charters)),
			fmt.Sprintf("Suggestions: %d", len(q.survey.Suggestions)),
			"Numbers that only you know",
			"Texts of the board" + map[bool]string{true: " (not confirmed yet)", false: ""}[!q.confirmed()],
			"Summary, and write",
			"Leave; what is decided is kept",
		})
		if err != nil {
			return err
		}
		switch chosen {
		case 0:
			err = q.agents()
		case 1:
			err = q.filings(site.Charter, q.survey.Charters, &q.answers.Charters)
		case 2:
			err = q.filings(site.Suggestion, q.survey.Suggestions, &q.answers.Suggestions)
		case 3:
			err = q.numbers()
		case 4:
			err = q.texts()
		case 5:
			answers := *q.answers
			if !q.confirmed() {
				answers.Texts = nil // which is refused
			}
			written, err := q.conclude(ctx, q.t, q.survey, &answers, func(*verification.Board) (bool, error) { return q.form.confirm("Write this verification?") })
			if err == nil && written || errors.Is(err, errLeft) {
				return err
			}
			if err != nil {
				q.t.Fail(err)
			}
			continue
		default:
			return errLeft
		}
		if err == nil {
			err = q.keepDraft(q.answers)
		}
		if err != nil {
			return err
		}
	}
}

// decision is what holds for a group by now.
func (q *questions) decision(group int) string {
	if by := q.by[group]; by >= 0 {
		return q.answers.Registrations[by].Decision
	}
	return preset(site.Registration, q.groups[group].Own)
}

// who is a group's name or key, quoted.
func who(g *verification.Group) string {
	if g.Name == "" {
		return "key " + strconv.Quote(g.Key)
	}
	return strconv.Quote(g.Name)
}

// clip cuts a text to a number of characters.
func clip(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// marks says what the last column of line means.
const marks = "Decision, agent, registrations in bursts, day of the last; then keys where they have several, " +
	"alike where another name looks like it, before or vouched where an earlier verification has it, own where own_names has it."

// line is about a group, within 80 columns. describe says more.
func (q *questions) line(group int) string {
	g := &q.groups[group]
	line := fmt.Sprintf("%-5s  %-28s %5d in %-3d %s", q.decision(group), clip(who(g), 28), g.Registrations, g.Bursts, g.Last.Format(time.DateOnly))
	for _, mark := range []struct {
		name string
		is   bool
	}{
		{"keys", !g.SameKey}, {"alike", len(g.LookAlikes) > 0}, {"key of a name", len(g.KeyOf) > 0}, {"vouched", g.Vouched}, {"before", g.Earlier > 0 && !g.Vouched}, {"own", g.Own != ""},
	} {
		if mark.is {
			line += " " + mark.name
		}
	}
	return line
}

// describe says who a group is, and what speaks for and against it.
func (q *questions) describe(group int) string {
	g := &q.groups[group]
	lines := []string{who(g) + ", now " + q.decision(group), cli.Plural(g.Registrations, "registration") + ", " + g.First.Format(time.RFC3339)}
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if g.Registrations > 1 {
		lines[1] = fmt.Sprintf("%s in %s, %s to %s", cli.Plural(g.Registrations, "registration"), cli.Plural(g.Bursts, "burst"),
			g.First.Format(time.RFC3339), g.Last.Format(time.RFC3339))
	}
	if !g.SameKey {
		say("with several keys")
	}
	if g.Earlier > 0 {
		say("%s of it were verified before%s", cli.Plural(g.Earlier, "registration"), map[bool]string{true: ", and it was vouched for"}[g.Vouched])
	}
	if g.Own != "" {
		say("it matches your own name %s", strconv.Quote(g.Own))
	}
	for _, name := range g.LookAlikes {
		say("it looks like %s", strconv.Quote(name))
	}
	for _, name := range g.KeyOf {
		say("its key is that of %s", strconv.Quote(name))
	}
	return strings.Join(lines, "\n")
}

// maxDecided is about how many agents can be decided, so that their answers fit into a file.
const maxDecided = 20_000

// listed is how many agents a question lists.
const listed = 40

// agents asks about agents until there is nothing more to decide.
func (q *questions) agents() error {
	for {
		q.by = verification.ByGroup(q.groups, q.answers.Registrations)
		var matching []int
		var lines []string
		for i := range q.groups {
			g := &q.groups[i]
			if q.filter == "" || verification.Matches(q.filter, cmp.Or(g.Name, g.Key)) {
				if matching = append(matching, i); len(lines) < listed {
					lines = append(lines, q.line(i))
				}
			}
		}
		shown := len(lines)
		title := fmt.Sprintf("%s of %d", cli.Plural(len(matching), "agent"), len(q.groups))
		if q.filter != "" {
			title += " match " + strconv.Quote(q.filter)
		}
		if shown < len(matching) {
			title += fmt.Sprintf("; the first %d are listed", shown)
		}
		options := append(lines, "Decide about all that match", "Filter by name", "Undo the last decision", "Back")
		explained := marks
		if shown == 0 {
			explained = ""
		}
		chosen, err := q.form.choose(title, explained, options)
		if err != nil {
			return err
		}
		switch {
		case chosen < shown:
			err = q.decide(matching[chosen : chosen+1])
		case chosen == shown:
			err = q.decide(matching)
		case chosen == shown+1:
			q.filter, err = q.form.line("Show names like (* stands for any characters, and alone for all)", q.filter, anyText)
			if q.filter == "*" {
				q.filter = ""
			}
		case chosen == shown+2:
			if n := len(q.undo); n > 0 {
				q.answers.Registrations, q.undo = q.undo[n-1], q.undo[:n-1]
			}
		default:
			return nil
		}
		if err == nil {
			err = q.keepDraft(q.answers)
		}
		if err != nil {
			return err
		}
	}
}

// anyText takes any text.
func anyText(string) error { return nil }

// decide asks what holds for some groups.
func (q *questions) decide(groups []int) error {
	if len(groups) == 0 {
		return nil
	}
	title := cli.Plural(len(groups), "agent")
	if len(groups) == 1 {
		title = q.describe(groups[0])
	}
	decisions := []string{site.Vouch, site.Own, site.Leave}
	chosen, err := q.form.choose(title, "", []string{
		"vouch: you vouch for it, as one agent", "own: your own development, seed or test", "leave: recorded, and not vouched for", "Back",
	})
	if err != nil || chosen == len(decisions) {
		return err
	}
	reason := ""
	if decisions[chosen] != site.Leave {
		check := func(s string) error {
			if decisions[chosen] == site.Vouch && strings.TrimSpace(s) == "" {
				return errors.New("say what you vouch by")
			}
			if strings.ContainsAny(s, "@\t") {
				return errors.New("want a line without an address")
			}
			return nil
		}
		if reason, err = q.form.line("Why? The reason is kept in the verification: no name, no address", "", check); err != nil {
			return err
		}
	}
	q.undo = append(q.undo, slices.Clone(q.answers.Registrations))
	decided, replaced := map[int]bool{}, map[int]bool{} // groups, and answers about them
	for _, i := range groups {
		decided[i], replaced[q.by[i]] = true, true
	}
	var answers []verification.Answer
	for i, a := range q.answers.Registrations {
		if !replaced[i] {
			answers = append(answers, a)
		}
	}
	for i := range q.groups {
		switch by := q.by[i]; {
		case decided[i]:
			answers = append(answers, q.groups[i].Answer(decisions[chosen], strings.TrimSpace(reason)))
		case by >= 0 && replaced[by]: // it was decided together with one of these
			answers = append(answers, q.groups[i].Answer(q.answers.Registrations[by].Decision, q.answers.Registrations[by].Reason))
		}
	}
	if len(answers) > maxDecided {
		q.undo = q.undo[:len(q.undo)-1]
		q.t.Warnf("these are too many to decide about one by one (use --answers, with * in a name)")
		return nil
	}
	q.answers.Registrations = answers
	return nil
}

// filings asks about charters or suggestions.
func (q *questions) filings(kind string, filings []verification.Filing, answers *[]verification.Answer) error {
	for {
		var lines []string
		current := make([]string, len(filings))
		for i, f := range filings {
			current[i] = preset(kind, f.Own)
			for _, a := range *answers {
				if a.RecordID == f.ID || a.OrgName != "" && verification.Matches(a.OrgName, f.Values[0]) {
					current[i] = a.Decision
				}
			}
			what := fmt.Sprintf("%s, %s, text %.8s…", f.Values[0], f.Values[1], f.SHA256)
			if kind == site.Charter {
				what = clip(strconv.Quote(f.Values[0]), 36)
			}
			lines = append(lines, fmt.Sprintf("%-8s  %.10s  %.8s…  %s", current[i], f.At, f.ID, what))
		}
		chosen, err := q.form.choose("Choose one to change what holds for it", "", append(lines, "Back"))
		if err != nil || chosen == len(lines) {
			return err
		}
		other := site.Own
		if current[chosen] == site.Own {
			other = site.Choices[kind][0]
		}
		f := &filings[chosen]
		*answers = slices.DeleteFunc(slices.Clone(*answers), func(a verification.Answer) bool {
			return a.RecordID == f.ID || a.OrgName != "" && verification.Matches(a.OrgName, f.Values[0])
		})
		*answers = append(*answers, verification.Answer{RecordID: f.ID, Decision: other})
		if err := q.keepDraft(q.answers); err != nil {
			return err
		}
	}
}

// numbers asks for the numbers that no record shows.
func (q *questions) numbers() error {
	printObserved(q.t, q.observed, records.Days{})
	if err := q.t.Out.Flush(); err != nil {
		return err
	}
	current := q.survey.Site.Current()
	if q.answers.Numbers == nil {
		q.answers.Numbers = map[string]any{}
	}
	for _, n := range site.Numbers {
		if !n.Told {
			continue
		}
		if n.Path == verification.NamedClients {
			if err := q.clients(current.ObservedAttention.NamedClients); err != nil {
				return err
			}
			continue
		}
		was := n.Of(current)
		if given, ok := q.answers.Numbers[n.Path].(int); ok {
			was = given
		}
		text, err := q.form.line(n.Path, strconv.Itoa(was), func(s string) error {
			if n, err := strconv.Atoi(cmp.Or(strings.TrimSpace(s), strconv.Itoa(was))); err != nil || n < 0 {
				return errors.New("want a number from 0 on")
			}
			return nil
		})
		if err != nil {
			return err
		}
		if q.answers.Numbers[n.Path], err = strconv.Atoi(cmp.Or(strings.TrimSpace(text), strconv.Itoa(was))); err != nil {
			return err
		}
	}
	through, err := q.form.line(verification.MonitoredThrough+": the day until which you have looked whether the service answers", current.MonitoredThrough, anyText)
	if through = strings.TrimSpace(through); err == nil && through != "" && through != current.MonitoredThrough {
		q.answers.Numbers[verification.MonitoredThrough] = through
	}
	return err
}

// clients asks for the named clients.
func (q *questions) clients(was []string) error {
	given := slices.Clone(was)
	if list, ok := q.answers.Numbers[verification.NamedClients].([]any); ok {
		given = nil
		for _, name := range list {
			given = append(given, fmt.Sprint(name))
		}
	}
	text, err := q.form.line(verification.NamedClients+": names with commas between, - for none", strings.Join(given, ", "), anyText)
	if err != nil {
		return err
	}
	list := []any{}
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name != "" && name != "-" {
			list = append(list, name)
		}
	}
	if len(list) > 0 || len(was) > 0 {
		q.answers.Numbers[verification.NamedClients] = list
	}
	return nil
}

// texts has each text of the board confirmed or rewritten.
func (q *questions) texts() error {
	paths, texts, err := verification.Texts(os.DirFS(q.content), q.survey.Site)
	if err != nil {
		return err
	}
	given, _ := q.answers.Texts.(map[string]any)
	if given == nil {
		given = map[string]any{}
		q.answers.Texts = given // so that it is kept where somebody leaves in between
	}
	for _, path := range paths {
		now := texts[path]
		if text, ok := given[path].(string); ok && text != verification.Unchanged {
			now = text
		}
		chosen, err := q.form.choose(path, now, []string{"still true", "rewrite it", "all others are still true too", "Back"})
		if err != nil {
			return err
		}
		switch chosen {
		case 0:
			given[path] = cmp.Or(map[bool]string{true: verification.Unchanged}[now == texts[path]], now)
		case 1:
			text, err := q.form.text(path, now, notBlank)
			if err != nil {
				return err
			}
			given[path] = text
		case 2:
			given[path] = cmp.Or(map[bool]string{true: verification.Unchanged}[now == texts[path]], now)
			return q.update(given, texts)
		default:
			return nil
		}
	}
	return q.update(given, texts)
}

// confirmed reports whether the texts of the board were gone through to their end.
func (q *questions) confirmed() bool {
	given, some := q.answers.Texts.(map[string]any)
	return some && given[verification.NewWhatChanged] != nil || !some && q.answers.Texts != nil
}

func notBlank(s string) error {
	if strings.TrimSpace(s) == "" {
		return errors.New("want a text")
	}
	return nil
}

// update asks by name for what must not stand unlooked at beside numbers that change.
func (q *questions) update(given map[string]any, texts map[string]string) error {
	if given[verification.HonestRead] == nil {
		chosen, err := q.form.choose(verification.HonestRead, texts[verification.HonestRead], []string{"still true beside the new numbers", "rewrite it"})
		if err != nil {
			return err
		}
		honest := verification.Unchanged
		if chosen == 1 {
			if honest, err = q.form.text(verification.HonestRead, texts[verification.HonestRead], notBlank); err != nil {
				return err
			}
		}
		given[verification.HonestRead] = honest
	}
	updates := q.survey.Site.Current().ObservedAttention.Updates
	last := ""
	if n := len(updates); n > 0 {
		last = "the last one, of " + updates[n-1].Date + ": " + updates[n-1].WhatChanged
	}
	chosen, err := q.form.choose("observed_attention.updates: what changed since?", last, []string{"nothing: it is still true", "add one for this day"})
	if err != nil {
		return err
	}
	changed, ambiguous := verification.Unchanged, ""
	if chosen == 1 {
		if changed, err = q.form.text("what_changed", "", notBlank); err != nil {
			return err
		}
		if ambiguous, err = q.form.text("one_ambiguous_read", "", notBlank); err != nil {
			return err
		}
	}
	given[verification.NewWhatChanged] = changed
	if delete(given, verification.NewAmbiguous); ambiguous != "" {
		given[verification.NewAmbiguous] = ambiguous
	}
	return nil
}
