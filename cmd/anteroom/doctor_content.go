package main

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/native/lastgood"
	"anteroom/edge/native/receiptkey"
	"anteroom/edge/turn"
	"anteroom/generator/publish"
)

// content loads the content and generates what it describes. Loading would put a verification into
// its place that is decided: then nothing is loaded.
func (d *doctor) content(f *findings) {
	folder := d.serve.content
	if _, err := os.Lstat(filepath.Join(folder, decidedFolder)); err == nil {
		f.warn("anteroom generate does that; then run doctor again", "%s holds a verification that is decided and not in its place", folder)
		return
	}
	s, output, err := loadAndGenerate(folder)
	if faulty := (cli.ContentError{}); errors.As(err, &faulty) {
		f.fault("anteroom generate --check names them all", "%s has %s; the first: %v", folder, cli.Plural(len(faulty.Faults), "fault"), faulty.Faults[0])
		return
	}
	if err != nil {
		f.err(fault, err)
		return
	}
	d.site, d.output = s, output
	f.ok("%s describes %s: %s, version %s", folder, s.Service.CanonicalHost, cli.Plural(len(output.Documents), "document"), output.Snapshot.ShortVersion())
}

// documents holds public/ against the content, and looks for what does not belong there.
func (d *doctor) documents(_ context.Context, f *findings) {
	out := d.public
	if d.output == nil {
		return
	}
	if _, err := os.Stat(out); errors.Is(err, fs.ErrNotExist) {
		f.warn("anteroom generate makes it", "there is no folder %s", out)
		return
	}
	plan, err := publish.Prepare(out, d.output.Documents)
	if err == nil {
		err = keepReceiptKey(out, &d.site.Service)
	}
	if err != nil {
		f.err(fault, err)
		return
	}
	if n := len(plan.Changes()); n > 0 {
		f.warn("run anteroom generate", "%s is stale: %s not as %s has it", out, cli.Plural(n, "document"), d.serve.content)
	}
	var stray, private []string
	for _, e := range plan.Entries {
		if e.Status != publish.Kept {
			continue
		}
		file := filepath.Join(out, e.Path)
		secret, err := secretIn(file)
		if err != nil {
			f.err(fault, err)
		}
		switch {
		case secret != "":
			private = append(private, file)
		case isStray(e.Path):
			stray = append(stray, file)
		}
	}
	if len(private) > 0 {
		f.fault("move it away; records or a key that were published are known", "%s is a database or a secret key, and everybody may read it", few(private))
	}
	if len(stray) > 0 {
		f.warn("move away what nobody is to read", "everybody may read %s", few(stray))
	}
	if len(f.list) == 0 {
		f.ok("%s is as the content has it", out)
	}
}

// strayEndings are those of copies, backups and records that lie in a folder by mistake.
var strayEndings = []string{"~", ".bak", ".orig", ".old", ".rej", ".swp", ".tmp", ".sql", ".db", ".log", ".zip", ".gz", ".tar", ".key", ".pem"}

// isStray reports whether nobody would publish a path on purpose.
func isStray(name string) bool {
	return hiddenPart(name) != "" || slices.ContainsFunc(strayEndings, func(ending string) bool { return strings.HasSuffix(path.Base(name), ending) })
}

// securityTxt looks at the end of security.txt.
func (d *doctor) securityTxt(_ context.Context, f *findings) {
	if d.site == nil {
		return
	}
	warnings, err := checkExpiry(d.site)
	if err != nil {
		f.err(fault, err)
		return
	}
	for _, w := range warnings {
		f.err(warning, errors.New(w))
	}
	if len(warnings) == 0 {
		f.ok("it holds until %s", d.site.Service.Security.Expires)
	}
}

// lastGood looks whether what the server has served last could be served again.
func (d *doctor) lastGood(_ context.Context, f *findings) {
	if !d.native {
		return
	}
	kept, err := lastgood.Read(d.serve.lastGoodFile(), false)
	switch {
	case isMissing(err): // nothing was served yet, or the log says why it is not kept
	case err != nil:
		f.err(warning, err)
	default:
		f.ok("kept is what is served since %s", kept.Since.Format(time.RFC3339))
	}
}

// staleVerification is after how many days a verification is due, where there is something new.
const staleVerification = 30

// verification says how old the last hand verification is.
func (d *doctor) verification(_ context.Context, f *findings) {
	if d.site != nil {
		last := d.site.Current()
		f.ok("the last one by hand is of %s, %s old", last.AsOf, cli.Plural(daysSince(last.AsOf), "day"))
	}
}

// daysSince is how old a date of the content is, in days.
func daysSince(date string) int {
	day, err := time.Parse(time.DateOnly, date)
	now, wrong := currentTime()
	if errors.Join(err, wrong) != nil {
		return 0 // loading the content has refused both
	}
	return max(0, int(now.Sub(day)/(24*time.Hour)))
}

// key holds the receipt key against the content, as serve does.
func (d *doctor) key(_ context.Context, f *findings) {
	named := d.serve.keyFile != "" || d.serve.key != ""
	if d.output == nil || !d.native && !named {
		return
	}
	silent := *d.t
	silent.Err = io.Discard // permissions are told by a check of their own
	key, err := d.serve.readKey(&silent)
	if err == nil {
		err = refusePublishedSecret(key, &d.site.Service, filepath.Join(d.serve.content, serviceFile))
	}
	if err == nil {
		err = d.serve.checkKey(key, d.output.Snapshot)
	}
	if err != nil {
		f.err(fault, err)
		return
	}
	const rotate = "anteroom key rotate --out receipt.key makes one and publishes its public half"
	switch receipt.StandingOf(&turn.HostInfo{PublicKey: receiptkey.Public(key)}, d.output.Snapshot) {
	case receipt.Live:
		f.ok("receipts are signed with the key that the content publishes")
	case receipt.Unpublished:
		f.warn(rotate, "receipts are signed with a key that the content does not publish")
	default: // none of the two has one, or --unsigned is given
		if d.serve.unsigned {
			f.warn("leave --unsigned out", "receipts are not signed")
			return
		}
		f.warn(rotate, "the content publishes no receipt key")
	}
}

// log says how far the log is, and whether the key that is named signs its next stage. That its
// last stage is of the last verification, and signed by a key that is listed, was checked with the
// content.
func (d *doctor) log(_ context.Context, f *findings) {
	if d.site == nil {
		return
	}
	keys, last := d.site.Service.Log.Keys, d.site.Log.Current()
	silent := *d.t
	silent.Err = io.Discard // permissions are told by a check of their own
	key, err := d.logKey.read(&silent)
	if err == nil && key != nil {
		err = mustSign(key.Public, keys, filepath.Join(d.serve.content, serviceFile))
	}
	switch {
	case err != nil:
		f.err(fault, err)
	case len(keys) == 0: // there is none, which is no fault
	case last == nil:
		f.warn("anteroom verify --log-key-file begins it", "the content lists a key of a log, which has no entry yet")
	case last.Tree.Key != keys[len(keys)-1]:
		f.ok("%d entries, the last of verification %s; the next ones are signed with a new key", d.site.Log.Size(), last.Name)
	default:
		f.ok("%d entries, the last of verification %s", d.site.Log.Size(), last.Name)
	}
}
