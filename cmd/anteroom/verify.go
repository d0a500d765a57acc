package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/cloudflare"
	"anteroom/cmd/anteroom/internal/keys"
	"anteroom/cmd/anteroom/internal/verification"
	"anteroom/edge/api"
	"anteroom/edge/jsondoc"
	"anteroom/edge/native/disk"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"
	"anteroom/generator"
	"anteroom/generator/site"
	"anteroom/generator/tlog"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"
)

// verifyOptions are the flags of verify.
type verifyOptions struct {
	store   storeFlags
	content string
	through string
	answers string
	key     keys.Log
	asJSON  bool
	yes     bool

	logKey *tlog.Key // of the site's log; nil where that has none
}

func verifyCommand(t *cli.Terminal) *cobra.Command {
	o := verifyOptions{}
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Verify by hand what was recorded, and write the next board",
		Long: `Verify takes everything that was recorded since the last hand verification, asks what you vouch for and
what was your own, and writes content/verifications/DATE.yaml and content/scoreboard/DATE.yaml: the counts
are the sums of what you decided. Nothing is published before anteroom generate, or by serve --watch.

On a terminal it asks, and keeps what you have decided when you leave; in plain text where TERM is dumb.
Elsewhere --json prints what is to be decided, and --answers FILE --yes decides. FILE is YAML:

  registrations:
    - {agent_name: ledger-lark, decision: vouch, reason: answered my mail}
    - {agent_name: "probe *", decision: own}       # * stands for any characters
    - {record_id: 5b2f…, decision: own}
    - {agent_name: odd-owl, earlier: true, decision: leave, reason: was mine}   # verified before
  charters: [{org_name: Tern & Co, decision: own}]
  suggestions: [{record_id: 90aa…, decision: own}]
  numbers: {suggestions.shipped: 0, observed_attention.security_reports_received: 0}
  texts: unchanged
  through: 2026-11-22T12:00:00Z   # of what --json has shown, so that nothing later is decided unseen

A registration is left where you do not vouch for it: it counts as recorded, and not as verified. vouch
makes its agent a verified conversion, own sets it apart. A charter is counted or own, a suggestion
external or own. Names that match own_names of service.yaml are own unless you say otherwise. texts are
unchanged, or those that change by their places in the board: {observed_attention.honest_read: …,
observed_attention.update.what_changed: …, observed_attention.update.one_ambiguous_read: …}. Where a number
falls, correction says why, for readers. Where records that were verified are lost for good, an answer
with lost: REASON alone verifies what is left.

Where service.yaml lists keys of a log, the verification also adds to the public log of what was counted,
content/log: the last of these keys signs it, and --log-key-file names the file of its secret half.`,
		Args: cobra.NoArgs,
		RunE: cli.WithExitCode(func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return cli.Usage(err)
			}
			return o.run(cmd.Context(), t)
		}),
	}
	flags := cmd.Flags()
	o.store.add(flags)
	flags.StringVar(&o.content, "content", contentFolder, "the content `folder`")
	flags.StringVar(&o.through, "through", "", "cover what was recorded up to this `time`, 2026-11-22T12:00:00Z (default now)")
	flags.StringVar(&o.answers, "answers", "", "the `file` that decides; - is standard input")
	o.key.AddFlag(flags)
	flags.BoolVar(&o.asJSON, "json", false, "print what is to be decided, as one JSON object, and write nothing")
	flags.BoolVar(&o.yes, "yes", false, "write without asking; with --answers")
	return cmd
}

// check finds what is wrong with the flags.
func (o *verifyOptions) check() error {
	var faults []error
	if o.asJSON && (o.answers != "" || o.yes) {
		faults = append(faults, errors.New("--json only shows, and excludes --answers and --yes"))
	}
	if o.yes && o.answers == "" {
		faults = append(faults, errors.New("--yes needs --answers FILE, which says what is decided"))
	}
	if o.key.File == "-" && !o.asJSON && (!o.yes || o.answers == "-") {
		faults = append(faults, errors.New("--log-key-file - needs --answers FILE --yes, as what is asked is answered at standard input too"))
	}
	if _, err := parseThrough(o.through); err != nil {
		faults = append(faults, fmt.Errorf("--through %w", err))
	}
	return errors.Join(faults...)
}

// parseThrough reads a time in UTC. It is zero where text is "".
func parseThrough(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	through, err := time.Parse("2006-01-02T15:04:05Z", text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is no time such as 2026-11-22T12:00:00Z", text)
	}
	return through, nil
}

func (o *verifyOptions) run(ctx context.Context, t *cli.Terminal) (err error) {
	// A large store is mostly garbage on its way through, and what is kept of it is small.
	debug.SetGCPercent(40)
	if info, err := os.Stat(o.content); err == nil && info.IsDir() && !o.asJSON { // else loadContent says what is wrong
		unlock, err := verification.Lock(o.content)
		if err != nil {
			return err
		}
		defer unlock()
		if err := verification.Finish(o.content); err != nil {
			return err
		}
	}
	s, err := loadContent(o.content)
	if err != nil {
		return err
	}
	if !o.asJSON {
		if o.logKey, err = o.key.Signer(t, s.Service.Log.Keys, filepath.Join(o.content, serviceFile)); err != nil {
			return err
		}
	}
	if o.logKey != nil {
		// What a key has signed is out already: another tree would be a fork.
		if err := keepLog(filepath.Join(filepath.Dir(o.content), publicFolder), s.Log); err != nil {
			return fmt.Errorf("verify: nothing was signed: %w", err)
		}
	}
	answers, err := o.readAnswers(t)
	if err != nil {
		return err
	}
	reader, err := o.store.reader(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	if deployed, is := reader.(*cloudflare.Store); is {
		switch host := deployed.Host(); {
		case host != "" && host != s.Service.CanonicalHost:
			return fmt.Errorf("verify: %s is that of %s, and %s of %s (name the right environment with --remote)",
				deployed.Name(), host, o.content, s.Service.CanonicalHost)
		case host == "" && (len(s.Verifications) == 0 || s.Verifications[len(s.Verifications)-1].Store == ""):
			t.Warnf("%s does not say that %s is that of %s (make sure of it, or give its environment a route with custom_domain = true)",
				filepath.Base(o.store.wrangler), deployed.Name(), s.Service.CanonicalHost)
		}
		if err := checkClock(ctx, reader, t.Now()); err != nil {
			return err
		}
	}
	through, _ := parseThrough(o.through)
	if answers != nil && answers.Through != "" {
		if through, err = parseThrough(answers.Through); err != nil {
			return fmt.Errorf("read answers: through %w", err)
		}
		if o.through != "" && o.through != answers.Through {
			return fmt.Errorf("--through is %s, and the answers go through %s", o.through, answers.Through)
		}
	}
	survey, err := verification.Take(ctx, reader, s, through, t.Now())
	if err != nil {
		return err
	}
	seen, err := observed(ctx, reader, records.Days{Through: survey.Through[:len(time.DateOnly)]})
	if errors.Is(err, cloudflare.ErrNoDataset) {
		t.Warnf("%v", err)
	} else if err != nil {
		return err
	}
	switch {
	case o.asJSON:
		return o.show(t, survey, seen)
	case answers == nil && !t.Interactive:
		return errors.New("verify: there is no terminal to ask at (--json prints what is to be decided, --answers FILE --yes decides)")
	case answers == nil:
		return o.ask(ctx, t, survey, seen)
	}
	_, err = o.conclude(ctx, t, survey, answers, func(*verification.Board) (bool, error) {
		if !o.yes && !t.Interactive {
			return false, errors.New("verify: nothing was written (--yes writes it)")
		}
		if o.yes {
			return true, nil
		}
		return newForm(ctx, t).confirm("Write this verification?")
	})
	return err
}

// clockAhead is how far this machine's clock may be ahead of the store's.
const clockAhead = time.Minute

// checkClock refuses a clock that is ahead of the store's: what is recorded from now on would say
// that it is of a time which the verification covers.
func checkClock(ctx context.Context, r records.Reader, now time.Time) error {
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

// readAnswers reads the file of --answers; nil where there is none.
func (o *verifyOptions) readAnswers(t *cli.Terminal) (*verification.Answers, error) {
	if o.answers == "" {
		return nil, nil
	}
	text, err := cli.ReadFile(t.In, o.answers, verification.MaxAnswers)
	if err != nil {
		return nil, fmt.Errorf("read answers: %w", err)
	}
	return verification.ParseAnswers(text)
}

// conclude turns answers into a verification, shows it, and writes it once yes says so. It reports
// whether it was written.
func (o *verifyOptions) conclude(ctx context.Context, t *cli.Terminal, survey *verification.Survey, answers *verification.Answers, yes func(*verification.Board) (bool, error)) (bool, error) {
	decided, err := survey.Decide(ctx, answers)
	if decided == nil {
		return false, err
	}
	board, faults := survey.Board(os.DirFS(o.content), decided, answers)
	if err := errors.Join(err, faults); err != nil {
		return false, err
	}
	files, logged, err := o.files(ctx, t, survey, decided, board)
	if err != nil {
		return false, err
	}
	summarize(t, survey, decided, board, logged)
	if err := t.Out.Flush(); err != nil {
		return false, err
	}
	if write, err := yes(board); err != nil || !write {
		return false, err
	}
	if err := verification.Write(o.content, files); err != nil {
		return false, err
	}
	if err := o.dropDraft(); err != nil {
		return true, err
	}
	t.Printf("")
	var names []string
	for _, file := range files {
		names = append(names, filepath.Join(o.content, filepath.FromSlash(file.Name)))
	}
	t.Printf("Wrote %s and %s.", strings.Join(names[:len(names)-1], ", "), names[len(names)-1])
	if logged != nil && len(logged.Log.Witnesses) > 0 {
		t.Printf("Have the witnesses cosign it: anteroom log witness.")
	}
	t.Printf("Read them in the diff, then: anteroom generate, and deploy. (anteroom serve publishes")
	t.Printf("them when it reads the content anew: at a start, on SIGHUP, and with --watch at once.)")
	return true, nil
}

// files are the files of a verification, once the content was checked with them. logged is nil
// where there is no log.
func (o *verifyOptions) files(ctx context.Context, t *cli.Terminal, survey *verification.Survey, decided *verification.Decided, board *verification.Board) (files []verification.File, logged *verification.Logged, err error) {
	encoded := decided.Verification.Encode()
	files = []verification.File{{Name: verification.VerificationFile(survey.Name), Text: encoded}, {Name: verification.BoardFile(survey.Name), Text: board.Text}}
	s, err := verification.Check(os.DirFS(o.content), survey.Site.Log, survey.Name, encoded, board.Text)
	if err == nil {
		err = s.CheckDay(t.Now().UTC().Format(time.DateOnly))
	}
	if err == nil && o.logKey != nil {
		if logged, err = survey.Append(ctx, decided, s.Current(), generator.BoardDocument(s.Current()), o.logKey); err == nil {
			s.Log = logged.Log
			entries, checkpoint := site.LogFiles(survey.Name)
			files = append(files, verification.File{Name: entries, Text: logged.Lines}, verification.File{Name: checkpoint, Text: logged.Checkpoint})
		}
	}
	if err == nil {
		_, err = generator.Generate(s, api.Routes)
	}
	return files, logged, contentFaults(o.content, err)
}

// summarize shows what a verification says, old and new. logged is nil where there is no log.
func summarize(t *cli.Terminal, survey *verification.Survey, decided *verification.Decided, board *verification.Board, logged *verification.Logged) {
	v := decided.Verification
	t.Printf("Verification %s, of everything recorded through %s:", survey.Name, survey.Through)
	t.Printf("")
	for _, d := range v.Decisions {
		n := strings.Count(d.Records, "\n")
		what := d.Decision
		if d.Corrects != "" {
			what += ", otherwise than in " + d.Corrects
		}
		if d.Reason != "" {
			what += ": " + d.Reason
		}
		t.Printf("  %s: %s", cli.Plural(n, d.Kind), what)
	}
	if len(v.Decisions) > 0 {
		t.Printf("")
	}
	const row = "%-59s %5v %5v  %s" // within 80 columns
	t.Printf(row, "number", "was", "is", "from")
	for _, c := range board.Changes {
		from := "told"
		if !c.Told {
			from = "counted"
		}
		t.Printf(row, c.Path, c.Was, c.Is, from)
	}
	t.Printf("")
	for i, kind := range records.Kinds {
		t.Printf("%s: %d in the store, %d new since the last verification", kind.Table, survey.Coverage[i].Total, survey.New[i])
	}
	if logged != nil {
		t.Printf("log: %d entries, %d of them new", logged.Log.Size(), logged.Added)
	}
	if board.Stays != "" {
		t.Printf("")
		t.Printf("Stays beside the new numbers, %s: %s", verification.HonestRead, board.Stays)
	}
	for _, odd := range survey.Odd {
		t.Warnf("%s", odd)
	}
}

// show prints what is to be decided as one JSON object, a line for each agent.
func (o *verifyOptions) show(t *cli.Terminal, survey *verification.Survey, observed []records.Observation) error {
	paths, texts, err := verification.Texts(os.DirFS(o.content), survey.Site)
	if err != nil {
		return err
	}
	var w jsondoc.Writer // used again and again
	object := func(write func(w *jsondoc.Writer)) []byte {
		w.Buf = w.Buf[:0]
		w.Open('{')
		write(&w)
		w.Close('}')
		return w.Buf
	}
	head := object(func(w *jsondoc.Writer) {
		w.Str("verification", survey.Name)
		w.Str("through", survey.Through)
		w.Str("store", survey.Store)
		w.Strs("not_as_verified", survey.Broken)
		w.Strs("odd", survey.Odd)
		w.Name("new")
		w.Open('{')
		for i, kind := range records.Kinds {
			w.Int(kind.Table, int64(survey.New[i]))
		}
		w.Close('}')
		w.Int("log_entries", survey.Site.Log.Size())
		w.Name("numbers")
		w.Open('{')
		for _, n := range site.Numbers {
			if n.Path == verification.NamedClients {
				w.Strs(n.Path, survey.Site.Current().ObservedAttention.NamedClients)
			} else if n.Told {
				w.Int(n.Path, int64(n.Of(survey.Site.Current())))
			}
		}
		w.Close('}')
		w.Name("observed")
		w.Open('[')
		for _, seen := range observed {
			w.Open('{')
			w.Str("day", seen.Day)
			w.Str("client", seen.Client)
			w.Str("kind", seen.Kind)
			w.Int("n", seen.N)
			w.Close('}')
		}
		w.Close(']')
		w.Name("texts")
		w.Open('{')
		for _, path := range paths {
			w.Str(path, texts[path])
		}
		w.Close('}')
	})
	t.PrintJSON(append(head[:len(head)-1], `,"agents":[`...)) // head is the buffer of w, which begins anew
	separator := ""
	items := func(item []byte) {
		t.Out.WriteString(separator)
		t.PrintJSON(item)
		separator = ","
	}
	for g := range survey.Groups() {
		items(object(func(w *jsondoc.Writer) {
			w.StrOrNull("agent_name", g.Name)
			if g.Name == "" {
				w.Str("pubkey", g.Key)
			}
			w.Int("registrations", int64(g.Registrations))
			w.Int("bursts", int64(g.Bursts))
			w.Str("first", g.First.Format(time.RFC3339))
			w.Str("last", g.Last.Format(time.RFC3339))
			w.Bool("same_key", g.SameKey)
			w.Int("verified_before", int64(g.Earlier))
			w.Bool("vouched_before", g.Vouched)
			w.Strs("look_alikes", g.LookAlikes)
			w.Strs("key_of", g.KeyOf)
			w.StrOrNull("own_name", g.Own)
			w.Str("decision", preset(site.Registration, g.Own))
			w.Strs("record_ids", g.RecordIDs)
		}))
	}
	for _, list := range []struct {
		kind, name string
		filings    []verification.Filing
	}{{site.Charter, "charters", survey.Charters}, {site.Suggestion, "suggestions", survey.Suggestions}} {
		t.PrintJSON([]byte(`],"` + list.name + `":[`))
		separator = ""
		for _, f := range list.filings {
			items(object(func(w *jsondoc.Writer) {
				w.Str("record_id", f.ID)
				w.Str("recorded_at", f.At)
				if list.kind == site.Charter {
					w.Str("org_name", f.Values[0])
					w.StrOrNull("commissioner", f.Values[1])
					w.Raw("roster", f.Values[2])
					w.StrOrNull("own_name", f.Own)
				} else {
					w.Str("kind", f.Values[0])
					w.Str("filed_as", f.Values[1])
					w.Str("text_sha256", f.SHA256)
				}
				w.Str("decision", preset(list.kind, f.Own))
			}))
		}
	}
	t.PrintJSON([]byte("]}"))
	return nil
}

// preset is the decision about a record where nothing is answered.
func preset(kind, own string) string {
	if own != "" {
		return site.Own
	}
	return site.Choices[kind][0]
}

const draftName = ".verification-draft.yaml" // answers that were begun

func (o *verifyOptions) draft() string { return filepath.Join(o.content, draftName) }

// readDraft reads the answers that were begun; empty ones where there are none.
func (o *verifyOptions) readDraft() (*verification.Answers, error) {
	text, err := os.ReadFile(o.draft())
	if errors.Is(err, os.ErrNotExist) {
		return &verification.Answers{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the answers that were begun: %w", err)
	}
	answers, err := verification.ParseAnswers(text)
	if err != nil {
		return nil, fmt.Errorf("%w (mend or remove %s)", err, o.draft())
	}
	return answers, nil
}

// keepDraft keeps answers that were begun. They hold names, so that only this user may read them.
func (o *verifyOptions) keepDraft(answers *verification.Answers) error {
	text, err := yaml.Dump(answers)
	if err == nil {
		next := o.draft() + ".new"
		os.Remove(next)
		if err = disk.WriteNew(next, text); err == nil {
			err = errors.Join(os.Rename(next, o.draft()), disk.SyncFolder(o.content))
		}
	}
	if err != nil {
		return fmt.Errorf("keep the answers: %w", err)
	}
	return nil
}

func (o *verifyOptions) dropDraft() error {
	if err := os.Remove(o.draft()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the answers that were begun: %w", err)
	}
	return nil
}
