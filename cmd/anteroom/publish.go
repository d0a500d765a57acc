package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/continuity"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/cmd/anteroom/internal/verification"
	"anteroom/edge/native/disk"
	"anteroom/edge/store/records"
	"anteroom/generator/output"
	"anteroom/generator/site"

	"github.com/spf13/cobra"
)

// publication is one run of anteroom publish. It keeps no state: the files, git and the live
// service show which steps are done.
type publication struct {
	t                 *cli.Terminal
	verify            *verification.Options
	store             *storeFlags
	generation        generation
	deployment        *deployment
	reload            string
	at                liveFlags
	noLive            bool
	template, undo    bool   // the mode of the run
	correct           bool   // decide without new records
	folder            string // of the service
	site              *site.Site
	public            verification.Published
	records           records.Reader // the store
	artifact          *output.Artifact
	service           *live.Service
	waiting           int64 // records that no verification covers
	behind            bool  // the store is not the verified one
	written           bool  // a verification is not public yet
	deployed, changed bool  // this run has deployed, or changed the content
	verified          bool  // this run has written a verification
	close             []func() error
}

// reloading is the longest time for a server to show new documents. Tests shorten it.
var reloading = 30 * time.Second

func publishCommand(t *cli.Terminal) *cobra.Command {
	p := &publication{t: t, store: &storeFlags{}, deployment: newDeployment(t), verify: &verification.Options{}}
	cmd := &cobra.Command{
		Use: "publish",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := p.verify.Check(); err != nil {
				return cli.Usage(err)
			}
			p.verify.Mail = p.store.mail(cli.Setting(cmd, "outbox"))
			p.deployment.host.Receipt.File = cli.Setting(cmd, "key-file")
			return p.run(cmd.Context())
		},
	}
	flags, o := cmd.Flags(), p.verify
	p.store.add(flags)
	contentFlag(flags, &o.Content)
	o.LogKey.AddFlag(flags)
	flags.StringVar(&o.Answers, "answers", "", "decide by this `file`, - for standard input")
	flags.BoolVar(&o.Yes, "yes", false, "write without asking; with --answers")
	flags.BoolVar(&p.template, "template", false, "only print the file in which to decide")
	flags.BoolVar(&p.correct, "correct", false, "decide again, without new records")
	flags.BoolVar(&p.undo, "undo", false, "remove the newest verification if not public")
	cmd.MarkFlagsMutuallyExclusive("template", "undo", "answers")
	flags.BoolVar(&o.NewStore, "new-store", false, "start another store: the verified one is gone")
	flags.StringVar(&p.reload, "reload", "", "the `command` that reloads the server")
	p.at.add(flags)
	flags.BoolVar(&p.noLive, "no-live", false, "leave the live service alone")
	return cmd
}

// printTemplate needs no lock, and compares nothing.
func (p *publication) printTemplate(ctx context.Context) error {
	s, err := loadContent(p.verify.Content, p.t.Now())
	if err != nil {
		return err
	}
	r, err := p.store.reader(ctx)
	if err != nil {
		return err
	}
	text, err := p.verify.Template(ctx, p.t, r, s)
	if err == nil {
		_, err = p.t.Out.Write(text)
	}
	return errors.Join(err, r.Close())
}

func (p *publication) undoVerification(ctx context.Context) error {
	o := p.verify
	o.Committed = committed
	withdraw, err := verification.Undo(ctx, p.t, o)
	if err != nil || !withdraw {
		return err
	}
	p.generation.allowed = []string{continuity.AsOf, continuity.Board, continuity.Log}
	r, err := p.generation.run(p.t, nil, p.t.Now())
	if err != nil {
		return errors.Join(err, fmt.Errorf("undo: %s still has its board (once that is fixed, remove %[1]s and %s, "+
			"and run anteroom generate)", o.Public, snapshotOf(o.Public)))
	}
	p.t.Printf("Generated %s without it: %s.", o.Public, cli.Plural(r.Changes, "changed document"))
	return nil
}

func (p *publication) run(ctx context.Context) (err error) {
	defer func() {
		for _, end := range p.close {
			err = errors.Join(err, end())
		}
	}()
	d := p.deployment
	p.folder = filepath.Dir(p.verify.Content)
	p.verify.Public, p.verify.Offline = filepath.Join(p.folder, publicFolder), p.noLive
	p.verify.Live = p.facts
	p.generation = generation{content: p.verify.Content, public: p.verify.Public, secret: d.host.Receipt}
	d.Environment, d.host.Data = p.store.remote, p.store.data
	if p.template {
		return p.printTemplate(ctx)
	} else if p.undo {
		return p.undoVerification(ctx)
	}
	for _, step := range []struct {
		name string
		take func(context.Context) (string, error)
		skip bool
	}{
		{"look", p.look, false},
		{"verify", p.decide, false},
		{"witness", p.cosign, false},
		{"generate", p.generate, false},
		{"live", p.goLive, p.noLive},
		{"check", p.check, p.noLive},
	} {
		did, err := "left out", ctx.Err()
		if err == nil && !step.skip {
			did, err = step.take(ctx)
		}
		if errors.Is(err, context.Canceled) {
			err = cli.ErrInterrupted
		}
		if errors.Is(err, cli.ErrSilent) {
			return err
		} else if err != nil {
			return errors.Join(err, fmt.Errorf("publish stopped at %s (run anteroom publish again: it carries on "+
				"from there)", step.name))
		}
		if did != "" {
			p.t.Printf("%-9s %s", step.name, did)
		}
		if err := p.t.Out.Flush(); err != nil {
			return err
		}
	}
	p.t.Printf("")
	for _, number := range site.Numbers {
		p.t.Printf("%-65s %5d", number.Path, number.Of(p.site.Current()))
	}
	return p.printCommit(ctx)
}

// cosign collects the missing cosignatures of the public log. If a witness fails, the next run asks
// it again.
func (p *publication) cosign(ctx context.Context) (string, error) {
	stage := p.site.Log.Current()
	if len(p.site.Log.Witnesses) == 0 || stage == nil {
		return "", nil
	}
	_, name := site.LogFiles(stage.Name)
	file := filepath.Join(p.verify.Content, name)
	asked, text, err := p.site.Log.CosignAll(ctx, &http.Client{})
	if err == nil && !bytes.Equal(text, stage.Checkpoint) {
		p.changed, err = true, disk.Replace(file, text)
	}
	if err != nil || ctx.Err() != nil {
		return "", fmt.Errorf("keep the cosignatures in %s: %w", file, cmp.Or(hintPermission(err), ctx.Err()))
	}
	n := 0
	for _, w := range asked {
		if w.Cosigned {
			n++
		} else {
			p.t.Warnf("witness %s at %s: %s (the next anteroom publish asks again)", w.Name, w.URL, w.Error)
		}
	}
	return fmt.Sprintf("the log has %d of %d cosignatures", n, len(asked)), nil
}

func (p *publication) generate(context.Context) (string, error) {
	now := p.t.Now()
	var err error
	if p.artifact != nil && !p.changed {
		return p.generation.public + " is current", nil
	}
	if p.changed { // the same as on disk
		if p.site, err = loadContent(p.verify.Content, now); err != nil {
			return "", err
		}
	}
	r, err := p.generation.run(p.t, p.site, now)
	if err != nil {
		return "", err
	}
	p.artifact = r.Artifact
	if r.Changes == 0 {
		return p.generation.public + " is current", nil
	}
	return cli.Plural(r.Changes, "changed document"), nil
}

func (p *publication) findService(s *site.Site) error {
	address, err := p.at.service(p.store.remote)
	if err != nil {
		return err
	}
	if address == "" {
		p.service = reach(s.Service.CanonicalHost)
		return nil
	}
	p.service, err = live.New(address)
	return err
}

func (p *publication) facts(ctx context.Context, s *site.Site) (continuity.Facts, error) {
	if err := p.findService(s); err != nil {
		return continuity.Facts{}, err
	}
	return p.service.Facts(ctx)
}

func (p *publication) look(ctx context.Context) (string, error) {
	s, unlock, err := verification.Begin(p.verify.Content, p.t.Now())
	if err != nil {
		return "", err
	}
	p.close = append(p.close, unlock)
	p.site = s
	if err = p.findService(s); err != nil {
		return "", err
	}
	if p.public, err = p.verify.Compare(ctx, s); err != nil {
		return "", err
	}
	p.written = !p.public.ByService && !(p.verify.Offline && p.public.InFolder)
	if p.verify.NewStore && p.store.remote == "" {
		if err := p.store.create(p.t.Logger()); err != nil {
			return "", err
		}
	}
	if p.records, err = p.store.reader(ctx); err != nil {
		return "", err
	}
	p.close = append(p.close, p.records.Close)
	extent, err := verification.Measure(ctx, p.records, s, p.verify.NewStore)
	if err != nil {
		return "", err
	}
	if p.waiting = extent.New; !p.verify.NewStore {
		if err := records.Behind(ctx, p.records, s.Segments()); err != nil {
			p.t.Warnf("%v", err)
			p.behind = true
		}
	}
	found := cli.Plural(p.waiting, "record") + " to be verified"
	live, err := p.alsoLive(ctx)
	return found + live, err
}

// maxNamed limits the documents that a question names.
const maxNamed = 20

// alsoLive names the files that are stale before the verification, and the uncommitted files of the
// content: they go live with the board.
func (p *publication) alsoLive(ctx context.Context) (string, error) {
	check, silent := p.generation, *p.t
	check.check, silent.Err = true, io.Discard // the step generate repeats its warnings
	report, err := check.run(&silent, p.site, p.t.Now())
	if err != nil {
		return "", err
	} else if report.Changes == 0 {
		p.artifact = report.Artifact
		return "", nil
	}
	var names []string
	for _, file := range report.Changed {
		names = append(names, file.Path)
	}
	text := fmt.Sprintf("; also goes live (%s): %s", cli.Plural(len(names), "file"), first(names))
	if tree, _ := findWorkTree(ctx, p.folder); tree != nil { // printCommit names its faults
		if edited, _ := tree.changed(ctx, filepath.Base(p.verify.Content)); len(edited) > 0 {
			text += "; edited: " + first(edited)
		}
	}
	return text, nil
}

func first(names []string) string {
	more := ""
	if n := len(names) - maxNamed; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(names[:min(maxNamed, len(names))], ", ") + more
}

func (p *publication) decide(ctx context.Context) (string, error) {
	before := len(p.site.Verifications)
	_, err := os.Stat(verification.Draft(p.verify.Content))
	switch {
	case p.verify.Answers != "" || p.correct || p.behind || p.verify.NewStore: // they are never ignored
	case p.written && before > 1:
		return p.site.Current().File + " is written, and is published now", nil
	case p.waiting == 0 && err != nil:
		return "no new records (anteroom publish --correct corrects an earlier decision)", nil
	}
	verified, err := p.verify.Make(ctx, p.t, p.records, p.site, p.public)
	if errors.Is(err, verification.ErrVerified) {
		return p.site.Current().File + " has these answers", nil
	} else if err != nil {
		return "", err
	}
	if verified == nil { // as the operator has said
		return "", cli.ErrSilent
	}
	p.site, p.changed, p.verified = verified, true, true
	return p.site.Current().File + " is written", nil
}

// printCommit prints the shell command that commits the published files and no others, unless git
// reports no change. It runs no git that writes.
func (p *publication) printCommit(ctx context.Context) error {
	ours := []string{filepath.Base(p.verify.Content), publicFolder, snapshotFile}
	tree, err := findWorkTree(ctx, p.folder)
	if tree == nil && err == nil {
		return nil
	}
	var changed []string
	if err == nil {
		changed, err = tree.changed(ctx, ours...)
	}
	if ctx.Err() != nil {
		return cli.ErrInterrupted
	} else if err != nil {
		p.t.Warnf("git was not asked for changed files: %v", err)
	} else if len(changed) == 0 {
		return nil
	}
	message := "Publish the content"
	written := "verifications/" + p.site.Current().File + ".yaml"
	if p.verified || slices.ContainsFunc(changed, func(name string) bool { return strings.HasSuffix(name, written) }) {
		message = "Hand verification of " + p.site.Current().File
	}
	git := "git"
	if p.folder != "." {
		git = shellWords("git", "-C", p.folder)
	}
	p.t.Printf("")
	p.t.Printf("Next, keep it in git:")
	p.t.Printf("%[1]s add -- %[2]s && %[1]s commit -m %[3]s -- %[2]s", git, shellWords(ours...), shellWords(message))
	return nil
}

func (p *publication) goLive(ctx context.Context) (string, error) {
	wanted := p.artifact.Snapshot.ShortVersion()
	version, err := p.service.Version(ctx)
	if err == nil && version == wanted {
		return fmt.Sprintf("%s already shows content %s", p.service, version), nil
	}
	if p.deployed = p.store.remote != ""; p.deployed {
		p.deployment.Config, p.deployment.Artifact = p.store.config, p.artifact
		if err := p.deployment.prepare(ctx, p.t); err != nil {
			return "", err
		}
		return "deployed", p.deployment.Run(ctx)
	}
	if p.reload == "" {
		return "", fmt.Errorf("%s shows content %s, want %s (write reload = \"COMMAND\" into %s, or reload "+
			"the server yourself)", p.service, cmp.Or(version, "none"), wanted, cli.SettingsFile)
	}
	command := exec.CommandContext(ctx, "sh", "-c", p.reload)
	command.Stdout, command.Stderr, command.WaitDelay = p.t.Err, p.t.Err, time.Second
	if err := command.Run(); ctx.Err() != nil {
		return "", ctx.Err()
	} else if err != nil {
		return "", fmt.Errorf("run %s: %w (--reload names the command, or reload in %s)", p.reload, err, cli.SettingsFile)
	}
	for end := time.Now().Add(reloading); ; time.Sleep(time.Second / 4) {
		if version, err = p.service.Version(ctx); version == wanted || ctx.Err() != nil {
			return "ran " + p.reload, ctx.Err()
		} else if time.Now().After(end) {
			if err == nil {
				err = fmt.Errorf("%s still shows content %s after %q: the server refused the new documents, or "+
					"has not reloaded (do not restart it: its log or systemctl status names the reason)",
					p.service, version, p.reload)
			}
			return "", err
		}
	}
}

func (p *publication) check(ctx context.Context) (string, error) {
	if !p.deployed { // a deployment does so
		r, err := p.service.Inspect(ctx, p.artifact, live.Options{Wait: reloading})
		if err != nil {
			return "", err
		}
		if err := r.Err(p.generation.public); err != nil {
			r.Print(p.t, p.generation.public)
			return "", err
		}
	}
	return fmt.Sprintf("%s shows the board of %s", p.service, p.site.Current().File), nil
}
