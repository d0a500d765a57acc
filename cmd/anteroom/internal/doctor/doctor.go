// Package doctor finds what a service lacks, and changes nothing.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/content"
	"anteroom/cmd/anteroom/internal/git"
	"anteroom/cmd/anteroom/internal/inbox"
	"anteroom/cmd/anteroom/internal/keys"
	"anteroom/cmd/anteroom/internal/server"
	"anteroom/cmd/anteroom/internal/verification"
	"anteroom/edge/native"
	"anteroom/edge/native/mail"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/snapshot"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"
	"anteroom/generator/lineends"
	"anteroom/generator/site"
)

// Service is what Examine looks at: the options of a server, and what it was made from.
type Service struct {
	server.Options
	Content string                                        // a folder
	Remote  string                                        // the environment on Cloudflare whose store it is; "" if it is here
	Open    func(context.Context) (records.Reader, error) // opens the store
	LogKey  keys.Log
	Webhook keys.Webhook
	Backups string // a folder, or ""
	Inbox   string // the Maildir that the operator reads, or ""
}

// Status is how bad a finding is. With a fault the service does not work, or says or loses
// something that it must not.
type Status string

// All statuses.
const (
	OK      Status = "ok"
	Warning Status = "warning"
	Fault   Status = "fault"
)

// Finding is one thing that a check found.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	What   string `json:"what"`
	Fix    string `json:"fix,omitempty"` // what to do next
}

// Report holds the findings of all checks, in their order.
type Report []Finding

// add adds a finding. fix says what to do next, and is "" of one that is OK.
func (r *Report) add(check string, s Status, fix, format string, args ...any) {
	*r = append(*r, Finding{check, s, fmt.Sprintf(format, args...), fix})
}

// err adds an error, each line of it as a finding of its own. Its last words in brackets say how to
// fix it; fix does if there are none.
func (r *Report) err(check string, s Status, err error, fix string) {
	if errors.Is(err, fs.ErrPermission) {
		fix = "run doctor as the user of the service"
	}
	for line := range strings.Lines(err.Error()) {
		what, hint := cli.SplitHint(strings.TrimSpace(line))
		r.add(check, s, cmp.Or(hint, fix), "%s", what)
	}
}

// Print prints a line for each finding, or one JSON object. Its error ends the command if there is
// a fault.
func (r Report) Print(t *cli.Terminal) error {
	count := map[Status]int{}
	for _, f := range r {
		count[f.Status]++
	}
	err := t.Answer(map[string]any{"faults": count[Fault], "warnings": count[Warning], "findings": r}, func() {
		for _, f := range r {
			fix := ""
			if f.Fix != "" {
				fix = " (" + f.Fix + ")"
			}
			t.Printf("%-7s %s: %s%s", f.Status, f.Check, f.What, fix)
		}
		t.Printf("%s, %s", cli.Plural(count[Fault], "fault"), cli.Plural(count[Warning], "warning"))
	})
	if count[Fault] > 0 {
		return cli.ErrSilent
	}
	return err
}

// Examine runs all checks.
func (s *Service) Examine(ctx context.Context, t *cli.Terminal) (r Report) {
	silent := *t
	silent.Err = io.Discard // what loading warns about is a finding here
	loaded := s.documents(&r, &silent)
	if loaded != nil {
		s.keys(&r, &silent, loaded)
	}
	s.git(ctx, &r)
	r.backups(s.Backups, t.Now())
	s.store(ctx, &r, loaded, t.Now())
	if s.Remote == "" {
		s.mail(ctx, &r, loaded)
	}
	return r
}

// documents loads the content and compares public/ with it, as generate --check does. It returns
// nil if the content cannot be loaded.
func (s *Service) documents(r *Report, t *cli.Terminal) *site.Site {
	const check, fix = "content", "run anteroom generate --check"
	loaded, output, err := content.Generate(s.Content, t.Now())
	if err != nil {
		r.err(check, Fault, err, fix)
		return nil
	}
	published, err := content.Publish(t, s.Public, s.Snapshot, loaded, output, true, t.Now())
	switch {
	case err != nil:
		r.err(check, Fault, err, fix)
		return loaded
	case published.Changes > 0:
		r.add(check, Warning, "run anteroom generate",
			"%s is stale: %s not as %s has it", s.Public, cli.Plural(published.Changes, "document"), s.Content)
	default:
		r.add(check, OK, "", "%s loads, and %s is current: version %s", s.Content, s.Public, output.Snapshot.ShortVersion())
	}
	for _, warning := range published.Warnings {
		r.err(check, Warning, errors.New(warning), fix)
	}
	return loaded
}

// git looks whether git would damage files whose bytes count, in a clone or a merge.
func (s *Service) git(ctx context.Context, r *Report) {
	const check = "git"
	tree, err := git.Find(ctx, filepath.Dir(s.Content))
	if tree == nil && err == nil {
		return
	}
	var changed []string
	merged := ""
	verifications, log := filepath.Join(s.Content, "verifications"), filepath.Join(s.Content, "log")
	for _, folder := range []string{verifications, log, s.Public, filepath.Dir(s.Snapshot)} {
		value := ""
		if err == nil {
			value, err = tree.Attribute(ctx, "text", filepath.Join(folder, filepath.Base(s.Snapshot)))
		}
		if value != "unset" {
			changed = append(changed, folder)
		}
	}
	if err == nil {
		merged, err = tree.Attribute(ctx, "merge", filepath.Join(s.Public, "manifest.json"))
	}
	if err != nil {
		r.add(check, Warning, "anteroom publish would stop at this: mend what git names, or call it with --no-commit",
			"%s", strings.ReplaceAll(err.Error(), "\n", ": "))
		return
	}
	if len(changed) > 0 {
		r.add(check, Warning, fmt.Sprintf("put %q first in .gitattributes, and run git add --renormalize .", lineends.Attribute),
			"git may change line ends in %s, so that a clone is refused", strings.Join(changed, ", "))
	}
	if merged == "union" {
		r.add(check, Warning, "replace merge=union by -merge in .gitattributes",
			"a merge damages what is in %s, as git joins the lines of both sides", s.Public)
	}
	if len(changed) == 0 && merged != "union" {
		r.add(check, OK, "", "clones and merges keep the bytes of files")
	}
}

// keys compares the keys of receipts and of the log with the content. The key of a deployed service
// need not be here.
func (s *Service) keys(r *Report, t *cli.Terminal, loaded *site.Site) {
	const check = "key"
	file, published := filepath.Join(s.Content, "service.yaml"), loaded.Service.ReceiptKeys.Current
	read := s.ReadKey
	if s.Remote != "" {
		read = s.Receipt.Read
	}
	key, err := read(t)
	switch {
	case err != nil:
		r.err(check, Fault, err, "name its file with --key-file")
	case s.Unsigned:
		r.add(check, Warning, "leave --unsigned out", "receipts are not signed")
	case key != nil:
		if _, err := keys.CheckReceipt(key, &loaded.Service, file); err == nil {
			r.add(check, OK, "", "receipts are signed with the key that the content publishes")
		} else if published == "" {
			r.err(check, Warning, err, "")
		} else {
			r.err(check, Fault, err, "")
		}
	case s.Remote != "":
	case published == "":
		r.add(check, Warning, "anteroom key rotate makes one and publishes its public half",
			"the content publishes no receipt key")
	default:
		r.add(check, Fault, "name its file with --key-file, or give it in ANTEROOM_KEY",
			"the content publishes a receipt key, and there is no key to sign with")
	}
	logKey, err := s.LogKey.Read(t)
	if err == nil && logKey != nil {
		_, err = keys.CheckLog(logKey.Public, loaded.Service.Log.Keys, file)
	}
	if err != nil {
		r.err("log key", Fault, err, "name its file with --log-key-file")
	}
	if _, err := s.Webhook.Read(t); err != nil {
		r.err("webhook", Fault, err, "name its file with --webhook-file")
	}
}

// backups looks for the newest backup, a file NAME.db, in a folder, if one is named.
func (r *Report) backups(folder string, now time.Time) {
	const check, fix, stale = "backups", "run anteroom backup", 7 * 24 * time.Hour
	if folder == "" {
		return
	}
	files, _ := filepath.Glob(filepath.Join(folder, "*.db")) // fails for a bad pattern alone
	newest, name := time.Time{}, ""
	for _, file := range files {
		if info, err := os.Stat(file); err == nil && info.ModTime().After(newest) {
			newest, name = info.ModTime(), file
		}
	}
	switch age := now.Sub(newest); {
	case name == "":
		r.add(check, Warning, fix, "there is no backup in %s", folder)
	case age > stale:
		r.add(check, Warning, fix, "the newest is %s, %s old", name, cli.Plural(int(age.Hours()/24), "day"))
	default:
		r.add(check, OK, "", "the newest is %s, of %s", name, newest.UTC().Format(time.RFC3339))
	}
}

// store checks whether the store opens, is sound and belongs to this service, and what waits in it
// for the operator. loaded is nil if the content cannot be loaded.
func (s *Service) store(ctx context.Context, r *Report, loaded *site.Site, now time.Time) {
	const check = "store"
	name := filepath.Join(s.Data, sqlite.FileName)
	if s.Remote != "" {
		name = "the D1 database of " + s.Remote
	}
	store, err := s.Open(ctx)
	if errors.Is(err, sqlite.ErrNone) && s.Remote == "" && filepath.Clean(s.Data) == server.DefaultData {
		r.add(check, OK, "", "anteroom serve will begin %s", name)
		return
	} else if err != nil {
		r.err(check, Fault, err, "name the right one with --data or --remote")
		return
	}
	defer store.Close()
	if err := sound(ctx, store, name); err != nil {
		r.err(check, Fault, err, "stop the server, keep the file, and restore a backup into another folder with anteroom restore")
		return
	}
	var after []int64
	verified := ""
	if loaded != nil {
		verified, after = loaded.Covered()
	}
	extent, err := records.Measure(ctx, store, after)
	switch {
	case err != nil:
		r.err(check, Fault, err, "stop the server and look at the file")
		return
	case verified != "" && verified != extent.Store:
		r.add(check, Fault, "name the right one with --data or --remote; anteroom restore brings back a lost one",
			"%s is store %s, and the verifications are of store %s", name, extent.Store, verified)
		return
	case loaded != nil && extent.Host != "" && extent.Host != loaded.Service.CanonicalHost:
		r.add(check, Warning, "if the service has not moved, --data or --remote names the wrong store",
			"%s is of the service %s, and the content of %s", name, extent.Host, loaded.Service.CanonicalHost)
	default:
		r.add(check, OK, "", "%s opens, and belongs to this service", name)
	}
	r.room(store)
	if since, err := records.Unfinished(ctx, store); err != nil {
		r.err(check, Fault, err, "try again")
	} else if since > 0 && s.Remote == "" {
		what := fmt.Sprintf("an address that was erased at %s is still in %s", time.UnixMilli(since).UTC().Format(time.RFC3339), name)
		if readers := sqlite.Readers(name); len(readers) > 0 {
			what += ", which is read by " + strings.Join(readers, ", ")
		}
		r.add(check, Warning, "serve removes it within half a minute once no other process reads the database", "%s", what)
	}
	if err := r.messages(ctx, store, now); err != nil {
		r.err("records", Fault, err, "try again")
		return
	}
	if err := s.lost(ctx, r, store, loaded, now); err != nil {
		r.err("records", Fault, err, "try again")
		return
	}
	if loaded != nil && len(loaded.Service.OwnNames) > 0 && s.Remote == "" {
		audited, err := verification.Audit(ctx, store, loaded)
		if err != nil {
			r.err("records", Fault, err, "run anteroom records audit")
			return
		}
		for _, own := range audited.Own {
			r.add("records", Warning, "run anteroom verify, which proposes to set it apart", "%s", own)
		}
	}
	const stale = 30 // days; then a verification is due if records wait
	if loaded != nil && extent.New > 0 {
		day, err := time.Parse(time.DateOnly, loaded.Current().AsOf)
		if age := int(now.Sub(day).Hours() / 24); err == nil && age > stale {
			r.add("records", Warning, "run anteroom verify",
				"to be verified: %s; the last verification is %s old", cli.Plural(int(extent.New), "record"), cli.Plural(age, "day"))
			return
		}
	}
	r.add("records", OK, "", "to be verified: %s", cli.Plural(int(extent.New), "record"))
}

// sound has SQLite check the pages of a database on this machine. Of a large one, anteroom backup
// checks the copy.
func sound(ctx context.Context, store records.Reader, file string) error {
	const large = 256 << 20 // bytes
	if info, err := os.Stat(file); err != nil || info.Size() > large {
		return nil
	}
	rows, err := store.Read(ctx, turn.Statement{SQL: "PRAGMA quick_check(1)"})
	if err == nil && rows[0][0][0] != "ok" {
		err = fmt.Errorf("%s is damaged: %v", file, rows[0][0][0])
	}
	return err
}

func (r *Report) room(store records.Reader) {
	const check, full = "room", 0.8 // of what it can take
	used, most, err := store.Room()
	status, fix := OK, ""
	if float64(used) >= full*float64(most) {
		status, fix = Warning, "see Capacity in OPERATIONS.md"
	}
	if err != nil {
		r.err(check, Fault, err, "look at the disk")
		return
	}
	r.add(check, status, fix, "the store takes %s of %s", cli.ByteSize(used), cli.ByteSize(most))
}

func (r *Report) messages(ctx context.Context, store records.Reader, now time.Time) error {
	const check = "records"
	rows, err := store.Read(ctx, turn.Statement{
		SQL: "SELECT count(*) FROM outbox WHERE state = 'pending' AND created_at < ?", Args: []any{now.Add(-time.Hour).Unix()},
	})
	if err != nil {
		return err
	}
	messages, err := records.Undelivered(ctx, store)
	if err != nil {
		return err
	}
	if messages.Dead > 0 {
		r.add(check, Warning, "anteroom records outbox list shows them; once mail works, anteroom records outbox revive sends them",
			"given up: %s; the newest error: %.200q", cli.Plural(int(messages.Dead), "message"), messages.Error)
	}
	if late, _ := rows[0][0][0].(int64); late > 0 {
		r.add(check, Warning, "anteroom records outbox list shows them; look at the mail check",
			"undelivered for more than an hour: %s; the newest error: %.200q", cli.Plural(int(late), "message"), messages.Error)
	}
	return nil
}

// lost names suggestions that were recorded, and whose mail is not in the inbox that is named.
func (s *Service) lost(ctx context.Context, r *Report, store records.Reader, loaded *site.Site, now time.Time) error {
	if s.Inbox == "" || loaded == nil {
		return nil
	}
	found, err := inbox.Look(ctx, store, loaded, inbox.Mail{Inbox: s.Inbox, Outbox: cmp.Or(s.Outbox, filepath.Join(s.Data, native.MailFolder))}, now)
	if err != nil {
		return err
	}
	for _, line := range found.Lost() {
		r.add("mail", Warning, inbox.LostHint, "%s", line)
	}
	return nil
}

// mail goes with the mail server as far as for a message, or looks into the mail folder if there is
// no server. It sends nothing. loaded is nil if the content cannot be loaded.
func (s *Service) mail(ctx context.Context, r *Report, loaded *site.Site) {
	const check, timeout = "mail", 5 * time.Second
	relay, err := s.Relay()
	if err != nil {
		r.err(check, Fault, err, "name the file with --smtp-file")
		return
	}
	if folder, local := strings.CutPrefix(cmp.Or(relay, "maildir:"+filepath.Join(s.Data, native.MailFolder)), "maildir:"); local {
		entries, err := os.ReadDir(filepath.Join(folder, "new"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.err(check, Fault, err, "name the mail folder with --outbox")
			return
		}
		r.add(check, OK, "", "serve puts it into the folder %s: %s unread", folder, cli.Plural(len(entries), "message"))
		return
	}
	if loaded == nil {
		r.add(check, Warning, "repair the content first", "the mail server was not asked: the content names sender and recipient")
		return
	}
	if s.Copies() == "" {
		r.add(check, Warning, "give serve --outbox too, a folder for copies", "a suggestion whose mail is lost after the mail server took it is lost")
	}
	service := &loaded.Service
	bounces := cmp.Or(service.Relay.Bounces, service.Relay.To)
	switch err := mail.Check(ctx, relay, &snapshot.Snapshot{CanonicalHost: service.CanonicalHost, RelayTo: service.Relay.To, RelayBounces: bounces}, timeout); {
	case errors.Is(err, mail.ErrUnreachable):
		r.add(check, Warning, "check the host and port of --smtp, and the network", "%v", err)
	case errors.Is(err, mail.ErrBounces):
		r.add(check, Warning, "relay.bounces of service.yaml: name an address that takes mail", "%v", err)
	case err != nil:
		r.add(check, Fault, "see Mail in OPERATIONS.md; the server said what follows the step", "%v", err)
	default:
		r.add(check, OK, "", "the mail server would take a message; nothing was sent")
	}
}
