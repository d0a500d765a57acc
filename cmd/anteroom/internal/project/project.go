// Package project works on the folder of a service: it creates one, loads and generates its
// content, publishes the documents and the snapshot, and shows the pages while they are written.
package project

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/continuity"
	"anteroom/edge/assets"
	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/quote"
	"anteroom/edge/store/migrations"
	"anteroom/generator"
	"anteroom/generator/output"
	"anteroom/generator/site"
	"anteroom/generator/tlog"
)

// Load loads and checks a content folder, and does not change it. Its dates must not be later than
// now.
func Load(folder string, now time.Time) (*site.Site, error) {
	const hint = "(give this user access to the content folder)"
	if info, err := os.Stat(folder); errors.Is(err, os.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, fmt.Errorf("there is no content folder %s (name it with --content, or run this where it is)", folder)
	} else if err != nil {
		return nil, fmt.Errorf("%w %s", err, hint)
	}
	s, err := site.Load(os.DirFS(folder))
	if err != nil {
		return nil, InFolder(folder, err)
	}
	if err := s.CheckDay(now.UTC().Format(time.DateOnly)); err != nil {
		return nil, InFolder(folder, err)
	}
	return s, nil
}

// Generate generates the documents of a site, which it loads if s is nil.
func Generate(folder string, s *site.Site, now time.Time) (_ *site.Site, _ *generator.Output, err error) {
	if s == nil {
		if s, err = Load(folder, now); err != nil {
			return nil, nil, err
		}
	}
	output, err := generator.Generate(s)
	return s, output, InFolder(folder, err)
}

// InFolder names the content folder in an error that lists faults of the content.
func InFolder(folder string, err error) error {
	if faults := site.Errors(nil); errors.As(err, &faults) {
		e := cli.ContentError{Err: faults, Folder: folder}
		for i := range faults {
			f := &faults[i]
			f.File = path.Join(folder, f.File)
			e.Faults = append(e.Faults, cli.Fault{File: f.File, Line: f.Line, Column: f.Column, Message: f.What, Hint: f.Hint})
		}
		return e
	}
	return err
}

// Expiry reports whether security.txt must not be used any more (RFC 9116, section 2.5.5). The
// notice names its Expires if that is past, near, or more than a year ahead.
func Expiry(expires, now time.Time) (expired bool, notice string) {
	const year = 366 * 24 * time.Hour
	left, verb := expires.Sub(now), "expires"
	if left >= output.ExpiryNotice && left <= year {
		return false, ""
	} else if left <= 0 {
		verb = "expired"
	}
	return left <= 0, fmt.Sprintf("security.txt %s at %s (check its contacts and set security.expires of service.yaml "+
		"to a time within a year)", verb, expires.Format(time.RFC3339))
}

// Report lists the changes that a publication makes or, with Check, would make.
type Report struct {
	Out       string                `json:"out"`
	Content   string                `json:"content"` // version of the content
	Check     bool                  `json:"check"`
	Documents []output.PlannedFile  `json:"documents"`
	Snapshot  output.PlannedFile    `json:"snapshot"`
	Counts    map[output.Status]int `json:"counts"`  // of documents
	Bytes     int64                 `json:"bytes"`   // of all documents but the removed ones
	Changes   int                   `json:"changes"` // new, changed and removed files, the snapshot included
	Warnings  []string              `json:"warnings"`

	Verbose  bool                 `json:"-"` // Print lists every changed file
	Changed  []output.PlannedFile `json:"-"` // the files of Changes
	Artifact *output.Artifact     `json:"-"` // as serve and deploy read it; nil with Check if they refuse it
	refusal  error                // theirs
}

// Publish writes the generated files to the folder of the documents and the snapshot file, or with
// check compares them. It refuses regressions (package continuity) that are not allowed, and hidden
// or secret files in the folder. An allowed board or log is removed if it is not generated.
func Publish(t *cli.Terminal, public, snapshotFile string, s *site.Site, made *generator.Output,
	check bool, now time.Time, allowed ...string,
) (*Report, error) {
	expires, _ := time.Parse(time.RFC3339, s.Service.Security.Expires) // site.Load has checked it
	warnings := []string{}
	expired, notice := Expiry(expires, now)
	if expired {
		return nil, errors.New(notice)
	} else if notice != "" {
		warnings = append(warnings, notice)
	}
	published, err := continuity.FromFolder(public, snapshotFile)
	if err != nil {
		return nil, err
	}
	next, err := continuity.FromFiles(made.Documents, made.Snapshot)
	if err != nil {
		return nil, err
	}
	err = continuity.Refuse(continuity.Check(published, next), append(allowed, continuity.Document)...)
	if err != nil {
		return nil, err
	}
	plan, err := output.Prepare(public, snapshotFile, made.Documents, made.Snapshot)
	if err != nil {
		return nil, err
	}
	var foreign []string
	for i := range plan.Entries {
		switch e := &plan.Entries[i]; {
		case e.Status != output.Kept:
		case tlog.IsBoard(e.Path) && slices.Contains(allowed, continuity.Board),
			tlog.Published(e.Path) && slices.Contains(allowed, continuity.Log):
			e.Status = output.Removed
		default:
			foreign = append(foreign, e.Path)
		}
	}
	if err := RefuseForeign(public, foreign); err != nil {
		return nil, err
	}
	artifact := plan.Artifact()
	var refusal error
	if check {
		artifact, refusal = output.Read(public, snapshotFile)
	} else if err := plan.Apply(); err != nil {
		return nil, err
	}
	if refusal == nil && artifact.Warning() != "" {
		warnings = append(warnings, artifact.Warning())
	}
	for _, warning := range warnings {
		t.Warnf("%s", warning)
	}
	r := &Report{
		Out: public, Content: made.Snapshot.Version, Check: check, Documents: plan.Entries, Snapshot: plan.Snapshot,
		Counts: map[output.Status]int{}, Changes: len(plan.Changes()), Changed: plan.Changes(), Warnings: warnings,
		Artifact: artifact, refusal: refusal,
	}
	for _, e := range plan.Entries {
		r.Counts[e.Status]++
		if e.Status != output.Removed {
			r.Bytes += e.Size
		}
	}
	return r, nil
}

// Stale returns an error if the documents are out of date, or serve and deploy would refuse them.
func (r *Report) Stale(content string) error {
	if r.refusal != nil || r.Changes == 0 {
		return r.refusal
	}
	return fmt.Errorf("%s is stale: %s not generated from %s (run anteroom generate, and review the diff)",
		r.Out, cli.Plural(r.Changes, "document"), content)
}

// Print prints a table of the changes and a summary, or one JSON object with all documents. Several
// documents of one kind and status share a line, unless Verbose is set.
func (r *Report) Print(t *cli.Terminal) error { return t.Answer(r, func() { r.printTable(t) }) }

// kindOf returns the folder that a document is in, or the ending of one at the top.
func kindOf(document string) string {
	folder, name, _ := strings.Cut(document[1:], "/")
	if name != "" {
		return "/" + folder + "/"
	}
	return "*" + document[max(0, strings.Index(document, ".")):]
}

const fewFiles = 3 // that have a line each

func (r *Report) printTable(t *cli.Terminal) {
	table := tabwriter.NewWriter(t.Out, 0, 0, 2, ' ', 0)
	statuses := []output.Status{output.New, output.Changed, output.Same, output.Removed, output.Kept}
	type group struct {
		kind   string
		status output.Status
	}
	members := map[group][]output.PlannedFile{}
	for _, e := range r.Documents {
		g := group{kindOf(e.Path), e.Status}
		members[g] = append(members[g], e)
	}
	line := func(name string, size int64, status output.Status) {
		fmt.Fprintf(table, "%s\t%d\t%s\n", name, size, status)
	}
	for _, e := range r.Documents {
		g := group{kindOf(e.Path), e.Status}
		files := members[g]
		switch {
		case e.Status == output.Same:
		case r.Verbose || e.Status == output.Kept || len(files) <= fewFiles:
			name, _ := quote.Visible(e.Path) // the folder may contain any file
			line(name, e.Size, e.Status)
		case e.Path == files[0].Path:
			size := int64(0)
			for _, f := range files {
				size += f.Size
			}
			line(g.kind+", "+cli.Plural(len(files), "file"), size, e.Status)
		}
	}
	if s := r.Snapshot; s.Status != output.Same {
		line(s.Path, s.Size, s.Status)
	}
	table.Flush()
	var counts []string
	for _, status := range statuses {
		if n := r.Counts[status]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, status))
		}
	}
	t.Printf("%s: %s; %s, content %.12s", r.Out, strings.Join(counts, ", "), cli.ByteSize(r.Bytes), r.Content)
}

// RefuseSeed refuses documents that contain the secret of a receipt key. A log contains only hashes
// and signatures.
func RefuseSeed(files []generator.File, key ed25519.PrivateKey) error {
	if key == nil {
		return nil
	}
	seed := []byte(base64.StdEncoding.EncodeToString(key.Seed()))
	for i := range files {
		if f := &files[i]; !tlog.Published(f.Path) && bytes.Contains(f.Bytes, seed) {
			return fmt.Errorf("%s contains the secret receipt key (remove it from the content, and make a new one: "+
				"anteroom key rotate; if the key file has the public half, name the secret one)", f.Path)
		}
	}
	return nil
}

// RefuseForeign refuses hidden files, databases and secret keys among the foreign files in the
// folder out, which is deployed whole.
func RefuseForeign(out string, paths []string) error {
	var faults []error
	last := ""
	for _, foreign := range paths {
		name, what := filepath.Join(out, foreign), "hidden"
		if hidden := hiddenPart(foreign); hidden != "" {
			name = filepath.Join(out, hidden)
		} else {
			var err error
			if what, err = secretIn(name); err != nil {
				return fmt.Errorf("look for secrets among the documents: %w", err)
			}
		}
		if what != "" && name != last {
			faults = append(faults, fmt.Errorf("%s is %s, and everything in %s is deployed (move it away)", name, what, out))
			last = name
		}
	}
	return errors.Join(faults...)
}

// hiddenPart returns the path up to its first hidden file or folder. /.well-known (RFC 8615) and
// the list of files that are not deployed are not hidden.
func hiddenPart(document string) string {
	parts := strings.Split(document, "/")
	for i, part := range parts {
		known := i == 1 && (part == ".well-known" || part == ".assetsignore")
		if strings.HasPrefix(part, ".") && !known {
			return strings.Join(parts[:i+1], "/")
		}
	}
	return ""
}

func secretIn(name string) (string, error) {
	const read = 1 << 20 // bytes; a file of a key is short
	f, err := assets.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, read))
	switch {
	case bytes.HasPrefix(head, []byte(migrations.Magic)):
		return "a database", nil
	case slices.ContainsFunc(receipt.SecretPrefixes,
		func(prefix string) bool { return bytes.Contains(head, []byte(prefix)) }):
		return "a secret key", nil
	}
	return "", err
}
