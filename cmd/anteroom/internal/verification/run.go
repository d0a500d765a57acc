package verification

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/content"
	"anteroom/cmd/anteroom/internal/continuity"
	"anteroom/cmd/anteroom/internal/inbox"
	"anteroom/cmd/anteroom/internal/keys"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"
	"anteroom/generator/site"

	"golang.org/x/mod/sumdb/note"
)

// Options say what to verify, and how.
type Options struct {
	Content, Public string     // folders
	Through         string     // the time up to which records are covered, RFC 3339; "" is now
	Answers         string     // the file that decides, - for standard input; "" opens an editor
	Mail            inbox.Mail // which has the texts of suggestions
	LogKey          keys.Log
	Template        bool // only print the file in which to decide
	Yes             bool // write without asking
	NewStore        bool // begin with another store
	Offline         bool // do not compare the content with what is live
	Publishing      bool // whether the caller publishes what is written

	Open func(context.Context) (records.Reader, error)       // opens the store
	Live func(ctx context.Context) (continuity.Facts, error) // of the service; nil asks its canonical host
}

// Check finds what is wrong with the options.
func (o *Options) Check() error {
	var faults []error
	if o.Template && (o.Answers != "" || o.Yes) {
		faults = append(faults, errors.New("--template only prints, and excludes --answers and --yes"))
	}
	if o.Yes && o.Answers == "" {
		faults = append(faults, errors.New("--yes needs --answers FILE, which says what is decided"))
	}
	if o.LogKey.File == "-" && !o.Template && (!o.Yes || o.Answers == "-") {
		faults = append(faults, errors.New("--log-key-file - needs --answers FILE --yes, as questions are answered at standard input too"))
	}
	if _, err := parseThrough(o.Through); err != nil {
		faults = append(faults, fmt.Errorf("--through %w", err))
	}
	return errors.Join(faults...)
}

// parseThrough reads a time in UTC. It is zero if text is "".
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
	if info, err := os.Stat(folder); err == nil && info.IsDir() { // otherwise content.Load explains it
		if unlock, err = Lock(folder); err != nil {
			return nil, nil, err
		}
	}
	if s, err = content.Load(folder, now); err == nil {
		err = Forget(folder, s)
	}
	if err != nil {
		unlock()
		return nil, nil, err
	}
	return s, unlock, nil
}

// Run makes a verification in a content folder that it locks. With Template it only prints the file
// in which to decide, without a lock or a comparison.
func Run(ctx context.Context, t *cli.Terminal, o *Options) (err error) {
	var s *site.Site
	var public Published
	if o.Template {
		s, err = content.Load(o.Content, t.Now())
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

// Make makes a verification for a site whose folder the caller has locked, loaded and compared. It
// returns the site with the verification, or nil if none was written. The caller closes the store.
func (o *Options) Make(ctx context.Context, t *cli.Terminal, s *site.Site, public Published) (*site.Site, error) {
	now := t.Now()
	var key note.Signer
	if !o.Template {
		signer, err := keys.Signer(t, &o.LogKey, s.Service.Log.Keys, filepath.Join(o.Content, "service.yaml"))
		if err != nil {
			return nil, err
		} else if signer != nil {
			key = signer
		}
	}
	answers, through, err := o.read(t)
	if err != nil {
		return nil, err
	}
	r, err := o.Open(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkDeployed(ctx, r, s, now); err != nil {
		return nil, err
	}
	p, err := Survey(ctx, r, s, os.DirFS(o.Content), Scope{through, o.NewStore}, now)
	if err != nil {
		return nil, err
	}
	p.manifest = public.manifest
	if p.unseen != nil {
		t.Warnf("%v", p.unseen)
	}
	if fresh := p.kinds[2].fresh; len(fresh) > 0 {
		p.texts = o.Mail.Texts(fresh[:min(maxListed, len(fresh))])
	}
	template, err := p.Template()
	if err != nil {
		return nil, err
	}
	if o.Template {
		_, err = t.Out.Write(template)
		return nil, err
	}
	return o.decide(ctx, t, p, key, answers, template)
}

// Published is the result of Compare.
type Published struct {
	InFolder, ByService bool   // whether the folder of documents, or the service, has its newest board
	manifest            string // SHA-256 of the manifest in the folder; "" if there is none
}

// Compare refuses content that is behind the folder of documents or the service: its next board
// would be another one of the same name, and what the key of the log has signed is out already. The
// service is not asked if Offline is set.
func (o *Options) Compare(ctx context.Context, s *site.Site) (found Published, err error) {
	newest := "/scoreboard/" + s.Current().File + ".json"
	refuse := func(published continuity.Facts, place string) (has bool, err error) {
		if err = continuity.Refuse(continuity.Check(published.Counted(), continuity.FromSite(s))); err != nil {
			err = fmt.Errorf("verify: %s is behind %s: %w", o.Content, place, err)
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
		return found, fmt.Errorf("verify: %w; --offline verifies without a look at what is live", err)
	}
	found.ByService, err = refuse(published, s.Service.BaseURL())
	return found, err
}

// read reads the file of the answers, nil if there is none. through is the time of these answers,
// of those that an editor has left, or of Through; it is zero if none of them names one.
func (o *Options) read(t *cli.Terminal) (answers *Answers, through time.Time, err error) {
	text, of := "", "the answers go"
	switch {
	case o.Answers != "":
		var file []byte
		if file, err = cli.ReadFile(t.In, o.Answers, MaxAnswers); err == nil {
			answers, err = ParseAnswers(file)
		}
		if err != nil {
			return nil, through, fmt.Errorf("read answers: %w", err)
		}
		text = answers.Through
	case !o.Template && !t.Interactive:
		return nil, through, errors.New("verify: there is no terminal for an editor " +
			"(--template prints what is to be decided, --answers FILE --yes decides)")
	case !o.Template:
		of = Draft(o.Content) + " goes"
		if text, err = Begun(Draft(o.Content)); err != nil {
			return nil, through, err
		}
	}
	if o.Through != "" && text != "" && o.Through != text {
		return nil, through, fmt.Errorf("--through is %s, and %s through %s", o.Through, of, text)
	}
	text = cmp.Or(text, o.Through)
	if answers != nil {
		answers.Through = text
	}
	if through, err = parseThrough(text); err != nil {
		err = fmt.Errorf("read answers: through %w", err)
	}
	return answers, through, err
}

// clockAhead is how far this machine's clock may be ahead of the store's.
const clockAhead = time.Minute

// checkDeployed refuses the deployed store of another service, and a clock that is ahead of the
// store's: what is recorded next would have a time that the verification covers already.
func checkDeployed(ctx context.Context, r records.Reader, s *site.Site, now time.Time) error {
	deployed, is := r.(interface{ Host() string })
	if !is {
		return nil
	}
	if host := deployed.Host(); host != "" && host != s.Service.CanonicalHost {
		return fmt.Errorf("verify: %s belongs to %s, and the content is of %s (choose another environment with --remote)",
			r.Name(), host, s.Service.CanonicalHost)
	}
	rows, err := r.Read(ctx, turn.Statement{SQL: "SELECT unixepoch()"})
	if err != nil {
		return fmt.Errorf("read the clock of %s: %w", r.Name(), err)
	}
	second, _ := rows[0][0][0].(int64)
	if ahead := now.Sub(time.Unix(second, 0)); ahead > clockAhead {
		return fmt.Errorf("verify: this machine's clock is %s ahead of that of %s (set it)", ahead.Round(time.Second), r.Name())
	}
	return nil
}

func (o *Options) decide(
	ctx context.Context, t *cli.Terminal, p *Pending, key note.Signer, answers *Answers, template []byte,
) (*site.Site, error) {
	draft, again := Draft(o.Content), map[bool]string{true: "anteroom publish", false: "anteroom verify"}[o.Publishing]
	kept := func(err error) error {
		if _, gone := os.Stat(draft); answers != nil || gone != nil {
			return err
		}
		return fmt.Errorf("%w (your answers are kept in %s: %s opens them again)", err, draft, again)
	}
	decide := func(a *Answers) (*Decided, error) {
		decided, err := p.Decide(a, key)
		return decided, content.InFolder(o.Content, err)
	}
	for {
		decided, err := (*Decided)(nil), error(nil)
		if answers != nil {
			decided, err = decide(answers)
		} else {
			decided, err = Edit(draft, template, func() error { return t.Edit(draft) }, decide)
		}
		if errors.Is(err, cli.ErrInterrupted) {
			err = errors.New("the editor was interrupted, and nothing was written")
		}
		if err != nil {
			return nil, kept(err)
		}
		if decided == nil {
			t.Printf("Nothing was written: the answers are empty.")
			return nil, nil
		}
		p.summary(decided, func(changed bool, line string) {
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
			if choice, err = t.Choose(ctx, "Write this verification?", "yes", "no", "edit"); err != nil {
				return nil, kept(fmt.Errorf("%w: nothing was written", err))
			}
		}
		switch {
		case choice == "y":
			return decided.Site, o.write(t, decided)
		case answers == nil && choice == "n":
			t.Printf("Nothing was written. Your answers are kept in %s: %s opens them again.", draft, again)
			return nil, nil
		case answers != nil:
			t.Printf("Nothing was written.")
			return nil, nil
		}
	}
}

func (o *Options) write(t *cli.Terminal, decided *Decided) error {
	if err := Write(o.Content, decided.Verification.File, decided.Files); err != nil {
		return err
	}
	if err := os.Remove(Draft(o.Content)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var names []string
	for _, file := range decided.Files {
		names = append(names, inside(o.Content, file.Name))
	}
	t.Printf("Wrote %s and %s.", strings.Join(names[:len(names)-1], ", "), names[len(names)-1])
	if !o.Publishing {
		t.Printf("Next: anteroom publish, or anteroom verify --undo.")
	}
	return nil
}
