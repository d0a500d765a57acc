package verification

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/continuity"
	"anteroom/cmd/anteroom/internal/keys"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/cmd/anteroom/internal/project"
	"anteroom/edge/native/disk"
	"anteroom/edge/store/records"
	"anteroom/generator/site"

	"golang.org/x/mod/sumdb/note"
)

type Options struct {
	Content, Public string // folders
	Answers         string // a file, - for standard input; "" opens an editor
	Mail            string // the Maildir with the texts of suggestions
	LogKey          keys.Log
	Yes             bool // write without asking
	NewStore        bool // start with another store
	Offline         bool // do not compare the content with the live service

	Live func(ctx context.Context, s *site.Site) (continuity.Facts, error) // of the service with a content
	// Committed returns a commit of git that has a file, or "". known is false if git was not asked.
	Committed func(ctx context.Context, file string) (commit string, known bool, err error)
}

func (o *Options) Check() error {
	if o.Yes && o.Answers == "" {
		return errors.New("--yes needs the decisions of --answers FILE")
	}
	return nil
}

// Begin locks a content folder until unlock is called, and loads it.
func Begin(folder string, now time.Time) (s *site.Site, unlock func() error, err error) {
	if s, err = project.Load(folder, now); err != nil { // it explains a missing folder
		return nil, nil, err
	}
	held, err := disk.LockFolder(folder)
	if errors.Is(err, disk.ErrLocked) {
		return nil, nil, fmt.Errorf("lock %s: another anteroom publish is running (end that one first)", folder)
	} else if err != nil {
		return nil, nil, fmt.Errorf("lock the content: %w", err)
	}
	return s, held.Close, nil
}

func (o *Options) Template(ctx context.Context, t *cli.Terminal, r records.Reader, s *site.Site) ([]byte, error) {
	v, err := o.survey(ctx, r, s, time.Time{}, afterLast(s, t.Now))
	if err != nil {
		return nil, err
	}
	return v.template(), nil
}

func (o *Options) survey(ctx context.Context, r records.Reader, s *site.Site, through, now time.Time) (*survey, error) {
	deployed, is := r.(interface{ Host() string })
	if is && deployed.Host() != "" && deployed.Host() != s.Service.CanonicalHost {
		return nil, fmt.Errorf("verify: %s belongs to %s, content is for %s (choose another environment with --remote)",
			r.Name(), deployed.Host(), s.Service.CanonicalHost)
	}
	v, err := newSurvey(ctx, r, s, os.DirFS(o.Content), scope{through, o.NewStore}, now)
	if err != nil {
		return nil, err
	}
	var suggestions []records.Record
	for _, r := range v.kinds[2].fresh[:min(maxListed, len(v.kinds[2].fresh))] {
		suggestions = append(suggestions, *r.Record)
	}
	v.mail = Texts(o.Mail, suggestions)
	return v, nil
}

func lastThrough(s *site.Site) string {
	if n := len(s.Verifications); n > 0 {
		return s.Verifications[n-1].Through
	}
	return ""
}

// afterLast waits until the end of the last verification is past, and returns the time: otherwise
// its answers could not be told from the next ones.
func afterLast(s *site.Site, clock func() time.Time) time.Time {
	if lastThrough(s) == clock().UTC().Format(time.RFC3339) {
		time.Sleep(time.Second)
	}
	return clock()
}

var ErrVerified = errors.New("these answers were verified before")

// Make makes a verification for a site whose folder the caller has locked, loaded and compared. It
// returns the site with the verification, or nil if none was written. The caller closes the store.
func (o *Options) Make(ctx context.Context, t *cli.Terminal, r records.Reader, s *site.Site, public Published) (
	*site.Site, error,
) {
	var key note.Signer
	signer, keyless := keys.Signer(t, &o.LogKey, s.Service.Log.Key, filepath.Join(o.Content, "service.yaml"))
	if signer != nil {
		key = signer
	}
	a, through, err := o.read(t)
	if err = errors.Join(keyless, err); err != nil {
		return nil, err
	}
	now := t.Now() // after the answers were read
	if a == nil {
		now = afterLast(s, t.Now)
	}
	v, err := o.survey(ctx, r, s, through, now)
	if err != nil {
		return nil, err
	}
	if last := lastThrough(s); a != nil && last != "" && a.Through == last {
		return nil, ErrVerified
	}
	if v.unseen != nil {
		t.Warnf("%v", v.unseen)
	}
	return o.decide(ctx, t, v, key, a)
}

type Published struct {
	InFolder, ByService bool // whether the folder of documents, or the service, has its newest board
}

// Compare refuses content that is older than the folder of documents or the service: its next board
// would have the name of a published one, and the log's key has already signed. With Offline the
// service is not asked.
func (o *Options) Compare(ctx context.Context, s *site.Site) (found Published, err error) {
	newest := "/scoreboard/" + s.Current().File + ".json"
	refuse := func(published continuity.Facts, place string) (has bool, err error) {
		if err = continuity.Refuse(continuity.Check(published.Counted(), continuity.FromSite(s))); err != nil {
			err = fmt.Errorf("verify: %s is older than %s: %w", o.Content, place, err)
		}
		_, has = published.Documents[newest]
		return has, err
	}
	published, err := continuity.FromFolder(o.Public, "")
	if err != nil {
		return found, fmt.Errorf("verify: %w", err)
	}
	if found.InFolder, err = refuse(published, o.Public); err != nil || o.Offline {
		return found, err
	}
	published, err = o.Live(ctx, s)
	switch {
	case errors.Is(err, live.ErrNothing):
		return found, nil
	case err != nil:
		return found, fmt.Errorf("verify: %w; --no-live does not ask the live service", err)
	}
	found.ByService, err = refuse(published, "the live service")
	return found, err
}

// read reads the file of answers; a is nil without one. through is the time in it, or in a draft
// that an editor left, or zero.
func (o *Options) read(t *cli.Terminal) (a *answers, through time.Time, err error) {
	text := ""
	switch {
	case o.Answers != "":
		var read []byte
		if read, err = cli.ReadFile(t.In, o.Answers, maxAnswers); err != nil {
			return nil, through, fmt.Errorf("read answers: %w", err)
		}
		name := o.Answers
		if name == "-" {
			name = "standard input"
		}
		if a, err = parseAnswers(name, read); err != nil {
			return nil, through, err
		}
		text = a.Through
	case !t.Interactive:
		return nil, through, errors.New("verify: no terminal for an editor (--template prints the decisions to " +
			"make, --answers FILE --yes makes them)")
	default:
		if text, err = begun(Draft(o.Content)); err != nil {
			return nil, through, err
		}
	}
	if text == "" {
		return a, through, nil
	}
	if through, err = time.Parse("2006-01-02T15:04:05Z", text); err != nil {
		err = fmt.Errorf("read answers: through %q is not a time such as 2026-11-22T12:00:00Z", text)
	}
	return a, through, err
}

func (o *Options) decide(
	ctx context.Context, t *cli.Terminal, v *survey, key note.Signer, a *answers,
) (*site.Site, error) {
	draft := Draft(o.Content)
	kept := func(err error) error {
		if _, gone := os.Stat(draft); a != nil || gone != nil {
			return err
		}
		return fmt.Errorf("%w (your answers are kept in %s: anteroom publish opens them again)", err, draft)
	}
	decide := func(a *answers) (*decided, error) {
		d, err := v.decide(a, key)
		return d, project.InFolder(o.Content, err)
	}
	for {
		var d *decided
		var err error
		if a != nil {
			d, err = decide(a)
		} else {
			e := &editing{
				open: func(line int) error { return t.Edit(draft, line) },
				refused: func(wrong error) (bool, error) {
					t.Complain("", wrong.Error())
					answer, err := t.Choose(ctx, "Edit the answers again, or quit and keep them?", "edit", "edit", "quit")
					return answer == "e", err
				},
				decide: decide,
			}
			d, err = e.edit(draft, v.template())
		}
		if errors.Is(err, cli.ErrInterrupted) {
			err = errors.New("the editor was interrupted before anything was written")
		}
		if err != nil {
			return nil, kept(err)
		}
		if d == nil {
			t.Printf("Nothing was written: the answers are empty.")
			return nil, nil
		}
		v.summary(d, t.Highlight)
		if err := t.Out.Flush(); err != nil {
			return nil, err
		}
		choice := "y"
		if !o.Yes && !t.Interactive {
			return nil, errors.New("verify: nothing was written (--yes writes it)")
		} else if !o.Yes {
			if choice, err = t.Choose(ctx, "Write this verification?", "", "yes", "no", "edit"); err != nil {
				return nil, kept(fmt.Errorf("%w: nothing was written", err))
			}
		}
		switch {
		case choice == "y":
			return d.site, o.write(t, d, a != nil)
		case a == nil && choice == "n":
			t.Printf("Nothing was written. Your answers are kept in %s: anteroom publish opens them again.", draft)
			return nil, nil
		case a != nil:
			t.Printf("Nothing was written.")
			return nil, nil
		}
	}
}

func (o *Options) write(t *cli.Terminal, d *decided, byFile bool) error {
	if err := write(o.Content, d.files); err != nil {
		return err
	}
	draft := Draft(o.Content)
	remove := os.Remove
	if byFile { // another person's answers may be there
		remove = func(name string) error { return os.Rename(name, name+".old") }
	}
	if err := remove(draft); err == nil && byFile {
		t.Warnf("other answers were started in %s (they are kept in %[1]s.old)", draft)
	} else if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var names []string
	for _, file := range d.files {
		names = append(names, filepath.Join(o.Content, file.name))
	}
	t.Printf("Wrote %s and %s.", strings.Join(names[:len(names)-1], ", "), names[len(names)-1])
	return nil
}

// Undo removes the newest verification from a content folder, unless the service shows it or git
// has it. If withdraw is true, the folder of documents has its board: generate it again without.
func Undo(ctx context.Context, t *cli.Terminal, o *Options) (withdraw bool, err error) {
	s, unlock, err := Begin(o.Content, t.Now())
	if err != nil {
		return false, err
	}
	defer unlock()
	name := s.Current().File
	const corrects = "anteroom publish --correct corrects it"
	if len(s.Verifications) < 2 {
		return false, fmt.Errorf("undo: %s is the first board (edit it, as long as it is not public)", name)
	}
	if stage := s.Log.Current(); stage != nil && stage.Name == name && len(stage.Cosigned) > 0 {
		return false, fmt.Errorf("undo: witnesses have cosigned %s (publish it; %s)", name, corrects)
	}
	public, err := o.Compare(ctx, s)
	if public.ByService {
		return false, fmt.Errorf("undo: %s is live (%s)", name, corrects)
	} else if err != nil {
		return false, err
	}
	commit, known, err := o.Committed(ctx, filepath.Join(o.Content, boardFile(name)))
	if err != nil {
		t.Warnf("git was not asked whether %s is committed: %v", name, err)
	}
	if commit != "" {
		return false, fmt.Errorf("undo: %s is committed, in %s (if that is neither pushed nor live, take the commit back "+
			"with git first; otherwise %s)", name, commit, corrects)
	} else if !known && public.InFolder && o.Offline {
		return false, fmt.Errorf("undo: %s is in %s, and may be public (leave out --no-live to ask the service)",
			name, o.Public)
	}
	if err := remove(o.Content, filesOf(name)); err != nil {
		return false, fmt.Errorf("undo: %w (remove the files of %s yourself)", err, name)
	}
	t.Printf("Undid verification %s: removed its files in %s.", name, o.Content)
	return public.InFolder, nil
}

func (v *survey) names(hashes string) string {
	var names []string
	for _, r := range v.kinds[0].all {
		if name := fmt.Sprintf("%q", identityOf(site.Registration, r.Record).text); strings.Contains(hashes, r.hash) &&
			!slices.Contains(names, name) && len(names) < maxBefore {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

func (v *survey) summary(d *decided, show func(changed bool, line string)) {
	say := func(format string, args ...any) { show(false, fmt.Sprintf(format, args...)) }
	say("Verification %s, of everything recorded through %s:", v.name, v.through)
	say("")
	for _, one := range d.verification.Decisions {
		what := one.Decision
		if one.Corrects != "" {
			what += ", corrects " + one.Corrects
		}
		if one.Reason != "" {
			what += ": " + one.Reason
		}
		say("  %s: %s", cli.Plural(strings.Count(one.Records, "\n"), one.Kind), what)
		if one.Decision == site.Vouch {
			say("    %s", v.names(one.Records))
		}
	}
	if len(d.verification.Decisions) > 0 {
		say("")
	}
	const line = "%-59s %5v %5v  %s" // within 80 columns
	say(line, "number", "was", "is", "from")
	changes := false
	for _, c := range d.board.changes {
		from := "counted"
		if c.entered {
			from = "entered"
		}
		changes = changes || c.was != c.is
		show(c.was != c.is, fmt.Sprintf(line, c.path, c.was, c.is, from))
	}
	say("")
	for _, k := range v.kinds {
		say("%s: %d in the store, %d new since the last verification", k.kind.Table, len(k.all), len(k.fresh))
	}
	if d.log != nil {
		say("log: %d entries, %d of them new", d.log.log.Size(), len(d.log.added))
	}
	for _, c := range d.site.Current().Corrections {
		say("")
		show(true, fmt.Sprintf("Readers will see of %s: it was %d, and is %d. %s", c.Number, c.Was,
			d.site.Current().Number(c.Number), c.Reason))
	}
	now, was := d.site.Current().ObservedAttention, v.site.Current().ObservedAttention
	for _, name := range now.NamedClients {
		if !slices.Contains(was.NamedClients, name) {
			show(true, fmt.Sprintf("Readers will see the name of a client: %q", name))
		}
	}
	if changes && now.HonestRead == was.HonestRead {
		say("")
		say("Unchanged next to the new numbers, %s: %s", honestRead, now.HonestRead)
	}
	if n := len(now.Updates); changes && n > 0 {
		say("The newest update, of %s: %s", now.Updates[n-1].Date, now.Updates[n-1].WhatChanged)
	}
	for _, odd := range v.odd {
		say("")
		say("Odd: %s", odd)
	}
}
