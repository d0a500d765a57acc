package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/keys"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/cmd/anteroom/internal/verification"
	"anteroom/edge/api"
	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/jsondoc"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/quote"
	"anteroom/generator"
	"anteroom/generator/publish"
	"anteroom/generator/site"
	"anteroom/generator/tlog"

	"github.com/spf13/cobra"
)

// The folders and files that a command takes where no flag names others.
const (
	contentFolder = "content"
	publicFolder  = "public"
	wranglerFile  = "wrangler.toml"
)

func generateCommand(t *cli.Terminal) *cobra.Command {
	var content, out string
	var check, keepWatching, asJSON bool
	var secret keys.Receipt
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Make the documents of public/ from content/",
		Long: `Generate makes the documents that content/ describes, and puts them into public/ in one step:
whatever happens, public/ holds all of the old documents or all of the new ones. Files in public/
that generate did not make stay as they are, and the report names them as kept. Hidden files there,
databases and secret keys are refused, as all of public/ is deployed. Copies that editors leave beside
a content file are no content (*~, *.bak, *.orig, #*#).

A dated scoreboard that public/ holds is never changed or removed, nor is a public log: its content must
go on from the checkpoints there. A receipt key that public/ publishes
as the current one must stay in the content, as the current one or among the retired. With a secret key
at hand (--key-file, ANTEROOM_KEY) generate makes sure that the content does not publish that.

SOURCE_DATE_EPOCH, in seconds, replaces the time that the expiry of security.txt and the dates of boards
are checked against.`,
		Args: cobra.NoArgs,
		RunE: cli.WithExitCode(func(cmd *cobra.Command, _ []string) error {
			if check && keepWatching {
				return cli.Usage(errors.New("--check and --watch exclude each other"))
			}
			key, err := secret.Read(t)
			if err != nil {
				return err
			}
			once := func(changesOnly bool) error {
				if inside(content, out) || inside(out, content) {
					return fmt.Errorf("one of --content %s and --out %s is inside the other (name a folder of its own for the documents, such as %s)",
						content, out, publicFolder)
				}
				s, output, err := loadAndGenerate(content)
				if err != nil {
					return err
				}
				if output.Log != nil {
					debug.SetGCPercent(gcPercentWithLog)
				}
				if err := keys.RefusePublished(key, &s.Service, filepath.Join(content, serviceFile)); err != nil {
					return err
				}
				for _, d := range output.Documents {
					// A log holds hashes and what its keys have signed.
					if key != nil && !tlog.Published(d.Path) && bytes.Contains(d.Bytes, []byte(base64.StdEncoding.EncodeToString(key.Seed()))) {
						return fmt.Errorf("%s would hold the secret receipt key (remove it from the content, and make a new one: anteroom key rotate)", d.Path)
					}
				}
				r, err := publishTo(t, out, s, output, check)
				if err != nil {
					return err
				}
				printReport(t, r, asJSON, changesOnly)
				if check && r.Changes > 0 {
					return fmt.Errorf("%s is stale: %s not as %s has it (run anteroom generate)",
						out, cli.Plural(r.Changes, "document"), content)
				}
				return nil
			}
			if !keepWatching {
				debug.SetGCPercent(gcPercent)
				return once(check)
			}
			changesOnly := false
			again := func() {
				if err := once(changesOnly); err != nil {
					t.Fail(cli.Exit(cli.ExitFailure, err))
				}
				t.Out.Flush()
				changesOnly = true
			}
			state := fingerprint(content)
			again()
			watch(cmd.Context(), content, state, again)
			return nil
		}),
	}
	secret.AddFlag(cmd.Flags())
	flags := cmd.Flags()
	flags.StringVar(&content, "content", contentFolder, "the content `folder`")
	flags.StringVar(&out, "out", publicFolder, "the `folder` of the documents")
	flags.BoolVar(&check, "check", false, "write nothing; fail where the documents are not up to date")
	flags.BoolVar(&keepWatching, "watch", false, "do it again whenever the content changes, until interrupted")
	flags.SetAnnotation("watch", cli.OnlyHere, []string{"true"}) // set for serve, it would keep generate from ending
	flags.BoolVar(&asJSON, "json", false, "report as one JSON object")
	return cmd
}

// gcPercent lets the heap of a single run grow to five times the memory in use (package runtime,
// GOGC). With a small content folder the run ends before the first collection. With a large one a
// collection would free little, because nearly everything is in use until the end.
const gcPercent = 400

// gcPercentWithLog is the same where there is a log. All of its documents are made one after the
// other, and each is garbage at once. A collection takes little time, as nearly all memory is in
// texts without pointers.
const gcPercentWithLog = 20

// loadAndGenerate loads a content folder and generates what it publishes. It writes nothing.
func loadAndGenerate(folder string) (*site.Site, *generator.Output, error) {
	s, err := loadContent(folder)
	if err != nil {
		return nil, nil, err
	}
	output, err := generateFrom(folder, s)
	return s, output, err
}

// generateFrom generates what a loaded content folder publishes.
func generateFrom(folder string, s *site.Site) (*generator.Output, error) {
	output, err := generator.Generate(s, api.Routes)
	return output, contentFaults(folder, err)
}

// loadContent loads and checks a content folder.
func loadContent(folder string) (*site.Site, error) {
	now, err := currentTime()
	if err != nil {
		return nil, err
	}
	return loadContentOf(folder, now)
}

// loadContentOf loads and checks a content folder, whose boards are not of days after now.
func loadContentOf(folder string, now time.Time) (*site.Site, error) {
	if info, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, fmt.Errorf("there is no content folder %s (name it with --content, or run this where it is)", folder)
	} else if err != nil {
		return nil, fmt.Errorf("%w (give this user access to the content folder)", err)
	}
	if unfinished, err := verification.Unfinished(folder); err != nil {
		return nil, fmt.Errorf("%w (give this user access to the content folder)", err)
	} else if unfinished {
		return nil, fmt.Errorf("%s holds a verification that is decided and not in its place (run anteroom verify to finish it)", folder)
	}
	s, err := site.Load(os.DirFS(folder))
	if err != nil {
		return nil, contentFaults(folder, err)
	}
	return s, contentFaults(folder, s.CheckDay(now.UTC().Format(time.DateOnly)))
}

// contentFaults adds the name of the content folder to an error that lists faults of the content.
func contentFaults(folder string, err error) error {
	if faults := site.Errors(nil); errors.As(err, &faults) {
		return cli.Content(folder, faults)
	}
	return err
}

// publishTo publishes the documents and reports what changed. With check it only compares them.
func publishTo(t *cli.Terminal, out string, s *site.Site, output *generator.Output, check bool) (*report, error) {
	warnings, err := checkExpiry(s)
	if err != nil {
		return nil, err
	}
	for _, warning := range warnings {
		t.Warnf("%s", warning)
	}
	if err := keepLog(out, output.Log); err != nil {
		return nil, err
	}
	plan, err := publish.Prepare(out, output.Documents)
	if err != nil {
		return nil, err
	}
	if err := keepReceiptKey(out, &s.Service); err != nil {
		return nil, err
	}
	if err := refuseLogGone(out, plan.Entries); err != nil {
		return nil, err
	}
	if err := refuseUnpublishable(out, plan.Entries); err != nil {
		return nil, err
	}
	for _, e := range plan.Entries {
		if publish.IsDatedScoreboard(e.Path) && e.Status == publish.Kept {
			return nil, boardGone(out+e.Path, e.Path)
		}
	}
	if !check {
		plan.Progress = t.Progress("writing " + out)
		if err := plan.Apply(); err != nil {
			return nil, hintPermission(err)
		}
	}
	r := &report{
		Out: out, Content: output.Snapshot.Version, Check: check, Documents: plan.Entries,
		Counts: map[publish.Status]int{}, Changes: len(plan.Changes()), Warnings: warnings,
	}
	for _, e := range plan.Entries {
		r.Counts[e.Status]++
		if e.Status != publish.Removed {
			r.Bytes += e.Size
		}
	}
	return r, nil
}

// refuseUnpublishable refuses files of others in the folder of the documents that nobody wants
// published: hidden files, such as those of version control, databases and secret keys. Whatever
// the folder holds is deployed.
func refuseUnpublishable(out string, entries []publish.Entry) error {
	var faults []error
	for _, e := range entries {
		if e.Status != publish.Kept {
			continue
		}
		name, what := filepath.Join(out, e.Path), ""
		if hidden := hiddenPart(e.Path); hidden != "" {
			name, what = filepath.Join(out, hidden), "hidden"
		} else {
			var err error
			if what, err = secretIn(name); err != nil {
				return fmt.Errorf("look for secrets beside the documents: %w", err)
			}
		}
		fault := fmt.Errorf("%s is %s, and everything in %s is deployed (move it away)", name, what, out)
		if n := len(faults); what != "" && (n == 0 || faults[n-1].Error() != fault.Error()) {
			faults = append(faults, fault)
		}
	}
	return errors.Join(faults...)
}

// secretIn says what of the operator's a file is that nobody else may read: "a database", "a secret
// key", or "" for any other, and for what is no file, as to read a pipe would take for ever.
func secretIn(name string) (string, error) {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return "", nil
	}
	if beginsWith(name, sqlite.Magic) {
		return "a database", nil
	}
	secret, err := holdsSecretKey(name)
	if secret {
		return "a secret key", err
	}
	return "", err
}

// beginsWith reports whether the file at path begins with a text.
func beginsWith(path, text string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	head := make([]byte, len(text))
	n, _ := file.Read(head)
	return string(head[:n]) == text
}

// holdsSecretKey reports whether a secret key stands in a file, however large that is.
func holdsSecretKey(name string) (bool, error) {
	file, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer file.Close()
	const overlap = max(len(receipt.SecretPrefix), len(receipt.NotePrefix)) - 1 // of two parts that are read, as a key may stand in both
	part := make([]byte, 1<<16)
	for kept := 0; ; {
		n, err := file.Read(part[kept:])
		read := part[:kept+n]
		switch {
		case slices.ContainsFunc(receipt.SecretPrefixes, func(prefix string) bool { return bytes.Contains(read, []byte(prefix)) }):
			return true, nil
		case err == io.EOF:
			return false, nil
		case err != nil:
			return false, err
		}
		kept = copy(part, read[max(0, len(read)-overlap):])
	}
}

// hiddenPart is the path as far as its first hidden file or folder. It is "" where there is none.
// What is well known (RFC 8615) is not hidden, nor is the list of what is not deployed.
func hiddenPart(document string) string {
	parts := strings.Split(document, "/")
	for i, part := range parts {
		known := i == 1 && slices.Contains([]string{".well-known", ".assetsignore"}, part)
		if strings.HasPrefix(part, ".") && !known {
			return strings.Join(parts[:i+1], "/")
		}
	}
	return ""
}

// keepReceiptKey refuses content that no longer lists the receipt key that is published: receipts
// that it signed would verify no more.
func keepReceiptKey(out string, service *site.Service) error {
	file := filepath.Join(out, "manifest.json")
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("look for the published receipt key: %w", err)
	}
	manifest, err := jsondoc.Parse(text)
	if err != nil {
		return nil // it is not what generate has made, and is made anew
	}
	published := manifest.Get("receipt_key").Text
	if published == "" || slices.Contains(service.Keys(), published) {
		return nil
	}
	return keyGone(file, published)
}

// keyGone is the error about content that no longer lists a receipt key that is published.
func keyGone(publisher, key string) error {
	return fmt.Errorf("%s publishes the receipt key %s, which %s no longer lists: the receipts that it signed would not verify "+
		"(list it under receipt_keys.retired, as anteroom key rotate does)", publisher, key, serviceFile)
}

// boardGone is the error about content that lacks a dated scoreboard that is published.
func boardGone(published, document string) error {
	board := strings.TrimSuffix(path.Base(document), ".json")
	return fmt.Errorf("%s was published, and a hand verification is published for ever "+
		"(bring back its content: scoreboard/%s.yaml and verifications/%s.yaml)", published, board, board)
}

// keepLog refuses a log that does not go on from what is published.
func keepLog(out string, log *tlog.Log) error {
	var faults []error
	published := os.DirFS(out)
	for _, tree := range []string{tlog.Folder, tlog.Folder + "/*"} {
		names, err := fs.Glob(published, tlog.CheckpointPath(tree)[1:])
		faults = append(faults, err)
		for _, name := range names {
			if !tlog.IsCheckpoint("/" + name) {
				continue
			}
			checkpoint, err := fs.ReadFile(published, name)
			if err == nil {
				err = continueLog(log, filepath.Join(out, name), checkpoint)
			}
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// continueLog refuses a log that does not go on from a checkpoint that is published.
func continueLog(log *tlog.Log, published string, checkpoint []byte) error {
	if log == nil {
		return logGone(published)
	}
	err := log.Consistent(checkpoint)
	switch {
	case errors.Is(err, tlog.ErrUnknownKey):
		return fmt.Errorf("%s: %w (the keys of a log stay listed: bring log.keys of %s back from version control)", published, err, serviceFile)
	case err != nil:
		return fmt.Errorf("%s: %w", published, err)
	}
	return nil
}

// refuseLogGone refuses content that lacks files of a log that are published. Where no log is
// published, files in its place are somebody else's.
func refuseLogGone(out string, entries []publish.Entry) error {
	var gone []string
	for _, e := range entries {
		if tlog.Published(e.Path) && e.Status == publish.Kept {
			gone = append(gone, out+e.Path)
		}
	}
	if gone == nil || !slices.ContainsFunc(entries, func(e publish.Entry) bool { return e.Path == tlog.KeysPath }) {
		return nil
	}
	return logGone(publish.Some(gone))
}

// logGone is the error about content that lacks files of a log that are published.
func logGone(published string) error {
	return fmt.Errorf("%s: published, and not of the content, and a log is published for ever "+
		"(bring back the content of log/ from version control)", published)
}

// hintPermission tells the user which permissions are missing.
func hintPermission(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w (the folder and the one that holds it must be writable)", err)
	}
	return err
}

// checkExpiry refuses a security.txt that has expired, and warns when that is near.
func checkExpiry(s *site.Site) (warnings []string, err error) {
	now, err := currentTime()
	if err != nil {
		return nil, err
	}
	expired, notice, err := securityTxt(s, now)
	switch {
	case err != nil:
		return nil, err
	case expired:
		return nil, errors.New(notice)
	case notice != "":
		return []string{notice}, nil
	}
	return []string{}, nil
}

const expiryHint = "(check its contacts and set a later security.expires in service.yaml)"

// securityTxt reports whether security.txt is past its Expires, from when on it must not be used
// (RFC 9116, section 2.5.5). notice is what is to be said of that, or of its nearness; "" where
// that is nothing.
func securityTxt(s *site.Site, now time.Time) (expired bool, notice string, err error) {
	expires, err := time.Parse(time.RFC3339, s.Service.Security.Expires)
	if err != nil {
		return false, "", fmt.Errorf("read security.expires of service.yaml: %w", err)
	}
	left := expires.Sub(now)
	switch {
	case left <= 0:
		return true, fmt.Sprintf("security.txt expired at %s %s", s.Service.Security.Expires, expiryHint), nil
	case left < live.ExpiryNotice:
		notice = fmt.Sprintf("security.txt expires at %s %s", s.Service.Security.Expires, expiryHint)
	}
	return false, notice, nil
}

// currentTime is the time, or what SOURCE_DATE_EPOCH says in its place.
func currentTime() (time.Time, error) {
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		return time.Now(), nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q (it must be a number of seconds since 1970)", epoch)
	}
	return time.Unix(seconds, 0), nil
}

// watchPause is the time between two looks at a watched folder. A change is acted on once the
// folder has stayed unchanged for that long.
const watchPause = 200 * time.Millisecond

// watch calls react whenever the files of a folder have changed, until ctx is done. state is the
// fingerprint of the folder before its files were last read, so that a change since then counts.
func watch(ctx context.Context, folder, state string, react func()) {
	ticker := time.NewTicker(watchPause)
	defer ticker.Stop()
	for last := state; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		now := fingerprint(folder)
		if now == last && now != state {
			state = now
			react()
		}
		last = now
	}
}

// fingerprint tells one state of a content folder from another, by the names, sizes and times of
// the files that are content.
func fingerprint(folder string) (state string) {
	fs.WalkDir(os.DirFS(folder), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err == nil && site.Ignored(path.Base(name)):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case err != nil:
			state += name + err.Error()
			return nil
		}
		state += name
		if info, err := d.Info(); err == nil && !d.IsDir() {
			state += fmt.Sprint(" ", info.Size(), info.ModTime().UnixNano(), "\n")
		}
		return nil
	})
	return state
}

// report is what generate did, or with --check what it would do.
type report struct {
	Out       string                 `json:"out"`
	Content   string                 `json:"content"` // version of the content
	Check     bool                   `json:"check"`
	Documents []publish.Entry        `json:"documents"`
	Counts    map[publish.Status]int `json:"counts"`
	Bytes     int64                  `json:"bytes"`   // of all documents but the removed ones
	Changes   int                    `json:"changes"` // new, changed and removed documents
	Warnings  []string               `json:"warnings"`
}

// printReport prints a table and a summary, or one JSON object. With changesOnly the table leaves
// out the documents that stay, but not the files that generate did not make. A log has thousands of
// files: those of one status share a line.
func printReport(t *cli.Terminal, r *report, asJSON, changesOnly bool) {
	if asJSON {
		t.PrintObject(r) // it is made of texts and numbers, which do not fail
		return
	}
	table := tabwriter.NewWriter(t.Out, 0, 0, 2, ' ', 0)
	statuses := []publish.Status{publish.New, publish.Changed, publish.Same, publish.Removed, publish.Kept}
	files, sizes := map[publish.Status]int{}, map[publish.Status]int64{} // of a log
	for _, e := range r.Documents {
		if changesOnly && e.Status == publish.Same {
			continue
		}
		if tlog.Published(e.Path) && e.Status != publish.Kept {
			files[e.Status]++
			sizes[e.Status] += e.Size
			continue
		}
		name, _ := quote.Visible(e.Path) // of a file that anybody may have put there
		fmt.Fprintf(table, "%s\t%d\t%s\n", name, e.Size, e.Status)
	}
	for _, status := range statuses {
		if n := files[status]; n > 0 {
			fmt.Fprintf(table, "%s/, %s\t%d\t%s\n", tlog.Folder, cli.Plural(n, "file"), sizes[status], status)
		}
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
