package verification

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/continuity"
	"anteroom/cmd/anteroom/internal/keys"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/cmd/anteroom/internal/project"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"
	"anteroom/generator/site"

	"golang.org/x/mod/sumdb/note"
)

type Options struct {
	Content, Public string // folders
	Through         string // the time up to which records are covered, RFC 3339; "" is now
	Answers         string // a file, - for standard input; "" opens an editor
	Mail            Mail   // with the texts of suggestions
	LogKey          keys.Log
	Template        bool // only print the file in which to decide
	Yes             bool // write without asking
	NewStore        bool // begin with another store
	Offline         bool // do not compare the content with the live service
	Publishing      bool // the caller publishes the verification

	Open      func(context.Context) (records.Reader, error)       // opens the store
	Live      func(ctx context.Context) (continuity.Facts, error) // of the service; nil asks its canonical host
	Committed func(ctx context.Context, file string) (Commit, error)
}

// Commit is the commit of git that has a file.
type Commit struct {
	Hash    string // "" if no commit has it
	Newest  bool   // no other commit follows
	Unknown bool   // there is no git
}

// Check refuses options that exclude each other.
func (o *Options) Check() error {
	var refused []error
	if o.Template && (o.Answers != "" || o.Yes) {
		refused = append(refused, errors.New("--template only prints, and excludes --answers and --yes"))
	}
	if o.Yes && o.Answers == "" {
		refused = append(refused, errors.New("--yes needs the decisions of --answers FILE"))
	}
	if o.LogKey.File == "-" && !o.Template && (!o.Yes || o.Answers == "-") {
		refused = append(refused, errors.New("--log-key-file - needs --answers FILE --yes, as questions are "+
			"answered at standard input too"))
	}
	if _, err := parseThrough(o.Through); err != nil {
		refused = append(refused, fmt.Errorf("--through %w", err))
	}
	return errors.Join(refused...)
}

func parseThrough(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	through, err := time.Parse("2006-01-02T15:04:05Z", text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not a time such as 2026-11-22T12:00:00Z", text)
	}
	return through, nil
}

// Begin locks a content folder until unlock is called, removes a part of a verification that a
// killed process has left there, and loads the folder.
func Begin(folder string, now time.Time) (s *site.Site, unlock func(), err error) {
	unlock = func() {}
	if info, err := os.Stat(folder); err == nil && info.IsDir() { // otherwise project.Load explains it
		if unlock, err = Lock(folder); err != nil {
			return nil, nil, err
		}
	}
	if s, err = project.Load(folder, now); err == nil {
		err = forget(folder, s)
	}
	if err != nil {
		unlock()
		return nil, nil, err
	}
	return s, unlock, nil
}

// Run makes a verification in a content folder that it locks. With Template it only prints the file
// in which to decide, without a lock or a comparison.
func Run(ctx context.Context, t *cli.Terminal, o *Options) error {
	var s *site.Site
	var public Published
	var err error
	if o.Template {
		s, err = project.Load(o.Content, t.Now())
	} else {
		var unlock func()
		if s, unlock, err = Begin(o.Content, t.Now()); err == nil {
			defer unlock()
			public, err = o.Compare(ctx, s)
		}
	}
	if err != nil {
		return err
	}
	closing := func() error { return nil }
	once := *o
	once.Open = func(ctx context.Context) (records.Reader, error) {
		r, err := o.Open(ctx)
		if err == nil {
			closing = r.Close
		}
		return r, err
	}
	_, err = once.Make(ctx, t, s, public)
	return errors.Join(err, closing())
}

// ErrVerified means that the newest verification was made with the same answers.
var ErrVerified = errors.New("these answers were verified before")

// Make makes a verification for a site whose folder the caller has locked, loaded and compared. It
// returns the site with the verification, or nil if none was written. The caller closes the store.
func (o *Options) Make(ctx context.Context, t *cli.Terminal, s *site.Site, public Published) (*site.Site, error) {
	var key note.Signer
	var keyless error
	if !o.Template {
		signer, err := keys.Signer(t, &o.LogKey, s.Service.Log.Keys, filepath.Join(o.Content, "service.yaml"))
		if keyless = err; signer != nil {
			key = signer
		}
	}
	a, through, err := o.read(t)
	if err = errors.Join(keyless, err); err != nil {
		return nil, err
	}
	now, last := t.Now(), "" // after the answers were read
	if n := len(s.Verifications); n > 0 {
		last = s.Verifications[n-1].Through
	}
	if a == nil && last == now.UTC().Format(time.RFC3339) {
		time.Sleep(time.Second) // only the time tells the answers from the last ones
		now = t.Now()
	}
	r, err := o.Open(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkDeployed(ctx, r, s, now); err != nil {
		return nil, err
	}
	v, err := newSurvey(ctx, r, s, os.DirFS(o.Content), scope{through, o.NewStore}, now)
	if err != nil {
		return nil, err
	}
	if a != nil && o.Through == "" && last != "" && a.Through == last {
		return nil, fmt.Errorf("verify: %w, as %s (anteroom verify --template writes new ones)", ErrVerified,
			s.Verifications[len(s.Verifications)-1].File)
	}
	v.manifest = public.manifest
	if v.unseen != nil {
		t.Warnf("%v", v.unseen)
	}
	var suggestions []records.Record
	for _, r := range v.kinds[2].fresh[:min(maxListed, len(v.kinds[2].fresh))] {
		suggestions = append(suggestions, *r.Record)
	}
	if len(suggestions) > 0 {
		v.texts = o.Mail.Texts(suggestions)
	}
	if o.Template {
		_, err = t.Out.Write(v.template())
		return nil, err
	}
	return o.decide(ctx, t, v, key, a)
}

type Published struct {
	InFolder, ByService bool   // whether the folder of documents, or the service, has its newest board
	manifest            string // SHA-256 of the manifest in the folder; "" if none exists
}

// Compare refuses content that is older than the folder of documents or the service: its next board
// would be another one of the same name, and the log's key has already signed. With Offline the
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
	found.manifest = published.Manifest
	if found.InFolder, err = refuse(published, o.Public); err != nil || o.Offline {
		return found, err
	}
	ask := o.Live
	if ask == nil {
		service, err := live.New(s.Service.BaseURL())
		if err != nil {
			return found, err
		}
		ask = service.Facts
	}
	published, err = ask(ctx)
	switch {
	case errors.Is(err, live.ErrNothing):
		return found, nil
	case err != nil:
		return found, fmt.Errorf("verify: %w; --offline verifies without asking the live service", err)
	}
	found.ByService, err = refuse(published, s.Service.BaseURL())
	return found, err
}

// read reads the file of the answers, nil without one. through is the time of these answers, of
// those that an editor has left, or of Through; it is zero if none of them names one.
func (o *Options) read(t *cli.Terminal) (a *answers, through time.Time, err error) {
	text, file := "", "the answers'"
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
	case !o.Template && !t.Interactive:
		return nil, through, errors.New("verify: no terminal for an editor (--template prints the decisions to " +
			"make, --answers FILE --yes makes them)")
	case !o.Template:
		file = Draft(o.Content)
		if text, err = begun(file); err != nil {
			return nil, through, err
		}
	}
	if o.Through != "" && text != "" && o.Through != text {
		return nil, through, fmt.Errorf("--through %s differs from %s through %s", o.Through, file, text)
	}
	text = cmp.Or(text, o.Through)
	if a != nil {
		a.Through = text
	}
	if through, err = parseThrough(text); err != nil {
		err = fmt.Errorf("read answers: through %w", err)
	}
	return a, through, err
}

const clockAhead = time.Minute // at most, of this machine's clock before the store's

// checkDeployed refuses the deployed store of another service, and a clock that is ahead of the
// store's: the next record would have a time that the verification covers already.
func checkDeployed(ctx context.Context, r records.Reader, s *site.Site, now time.Time) error {
	deployed, is := r.(interface{ Host() string })
	if !is {
		return nil
	}
	if host := deployed.Host(); host != "" && host != s.Service.CanonicalHost {
		return fmt.Errorf("verify: %s belongs to %s, content is for %s (choose another environment with --remote)",
			r.Name(), host, s.Service.CanonicalHost)
	}
	rows, err := r.Read(ctx, turn.SQL("SELECT unixepoch()"))
	if err != nil {
		return fmt.Errorf("read the clock of %s: %w", r.Name(), err)
	}
	second, _ := rows[0][0][0].(int64)
	if ahead := now.Sub(time.Unix(second, 0)); ahead > clockAhead {
		return fmt.Errorf("verify: this machine's clock is %s ahead of the clock of %s (set it)",
			ahead.Round(time.Second), r.Name())
	}
	return nil
}

const atOnce = "the editor ended at once, and the file is unchanged (if its window is still open, set EDITOR " +
	`to a command that waits, such as "code --wait"). Press Enter once you have saved and closed it, or q and Enter to quit`

func (o *Options) decide(
	ctx context.Context, t *cli.Terminal, v *survey, key note.Signer, a *answers,
) (*site.Site, error) {
	draft, again := Draft(o.Content), "anteroom verify"
	if o.Publishing {
		again = "anteroom publish"
	}
	kept := func(err error) error {
		if _, gone := os.Stat(draft); a != nil || gone != nil {
			return err
		}
		return fmt.Errorf("%w (your answers are kept in %s: %s opens them again)", err, draft, again)
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
				atOnce: func() error {
					answer, err := t.Ask(ctx, bufio.NewReader(t.In), atOnce, "", func(string) string { return "" })
					if err == nil && answer != "" {
						err = errors.New("verify: nothing was written")
					}
					return err
				},
				refused: func(wrong error) (bool, error) {
					t.Complain("", wrong.Error())
					answer, err := t.Choose(ctx, "Edit the answers again, or quit and keep them?", "edit", "edit", "quit")
					return answer == "e", err
				},
				quick:  time.Second,
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
		v.summary(d, func(changed bool, line string) {
			if changed {
				t.Highlight(line)
			} else {
				t.Printf("%s", line)
			}
		})
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
			return d.site, o.write(t, d)
		case a == nil && choice == "n":
			t.Printf("Nothing was written. Your answers are kept in %s: %s opens them again.", draft, again)
			return nil, nil
		case a != nil:
			t.Printf("Nothing was written.")
			return nil, nil
		}
	}
}

func (o *Options) write(t *cli.Terminal, d *decided) error {
	if err := write(o.Content, d.verification.File, d.files); err != nil {
		return err
	}
	if err := os.Remove(Draft(o.Content)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var names []string
	for _, file := range d.files {
		names = append(names, inside(o.Content, file.name))
	}
	t.Printf("Wrote %s and %s.", strings.Join(names[:len(names)-1], ", "), names[len(names)-1])
	if !o.Publishing {
		t.Printf("Next: anteroom publish, or anteroom verify --undo.")
	}
	return nil
}

// Undo removes the newest verification from a content folder, unless the service shows it or git
// has it. If withdraw is true, the folder of documents has its board: generate it again without.
func Undo(ctx context.Context, t *cli.Terminal, o *Options) (withdraw bool, err error) {
	part, _ := os.ReadFile(inside(o.Content, project.Unfinished)) // which Begin removes
	s, unlock, err := Begin(o.Content, t.Now())
	if err != nil {
		return false, err
	}
	defer unlock()
	if part := strings.TrimSpace(string(part)); part != "" {
		t.Printf("Removed the part of verification %s that was written.", part)
		return false, nil
	}
	name := s.Current().File
	const corrects = "the next anteroom verify corrects it"
	if len(s.Verifications) < 2 {
		return false, fmt.Errorf("undo: %s is the first board (edit it, as long as it is not public)", name)
	}
	if stage := s.Log.Current(); stage != nil && stage.Name == name && len(stage.Cosigned) > 0 {
		return false, fmt.Errorf("undo: witnesses have cosigned %s (publish it; %s)", name, corrects)
	}
	public, err := o.Compare(ctx, s)
	if public.ByService {
		return false, fmt.Errorf("undo: %s is public, at %s (%s)", name, s.Service.BaseURL(), corrects)
	} else if err != nil {
		return false, err
	}
	commit, err := o.Committed(ctx, inside(o.Content, boardFile(name)))
	switch {
	case err != nil:
		return false, err
	case commit.Newest:
		return false, fmt.Errorf("undo: %s is committed, in %s (if that is neither pushed nor live: git reset HEAD~1, "+
			"then anteroom verify --undo; otherwise %s)", name, commit.Hash, corrects)
	case commit.Hash != "":
		return false, fmt.Errorf("undo: %s is committed, in %s, and other commits follow (%s)", name, commit.Hash, corrects)
	case public.InFolder && o.Offline && commit.Unknown:
		return false, fmt.Errorf("undo: %s is in %s, and may be public (leave out --offline to ask the service)",
			name, o.Public)
	}
	var gone []string
	for _, file := range filesOf(name) {
		path := inside(o.Content, file)
		if _, err := os.Lstat(path); err == nil {
			gone = append(gone, path)
		}
	}
	if err := errors.Join(begin(o.Content, name), finish(o.Content)); err != nil {
		return false, fmt.Errorf("undo: %w (run anteroom verify --undo again)", err)
	}
	t.Printf("Undid verification %s: removed %s.", name, strings.Join(gone, ", "))
	return public.InFolder, nil
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
		say("log: %d entries, %d of them new: %s", d.log.log.Size(), len(d.log.added), d.log)
	}
	for _, c := range d.site.Current().Corrections {
		say("")
		show(true, fmt.Sprintf("Readers will see of %s: it was %d, and is %d. %s", c.Number, c.Was,
			d.site.Current().Number(c.Number), c.Reason))
	}
	read := d.site.Current().ObservedAttention.HonestRead
	if changes && read == v.site.Current().ObservedAttention.HonestRead {
		say("")
		say("Unchanged next to the new numbers, %s: %s", honestRead, read)
	}
	for _, odd := range v.odd {
		say("")
		say("Odd: %s", odd)
	}
}
