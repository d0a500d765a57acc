// Package doctor finds what a service lacks, and changes nothing.
package doctor

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/native/mail"
	"anteroom/edge/native/receiptkey"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"
	"anteroom/generator/site"
)

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

// Add adds a finding. fix says what to do next, and is "" of one that is OK.
func (r *Report) Add(check string, s Status, fix, format string, args ...any) {
	*r = append(*r, Finding{check, s, fmt.Sprintf(format, args...), fix})
}

// Err adds an error, each line of it as a finding of its own. Its last words in brackets say how to
// fix it; where there are none, fix does.
func (r *Report) Err(check string, s Status, err error, fix string) {
	if errors.Is(err, fs.ErrPermission) {
		fix = "run doctor as the user of the service"
	}
	for line := range strings.Lines(err.Error()) {
		what, hint := cli.SplitHint(strings.TrimSpace(line))
		r.Add(check, s, cmp.Or(hint, fix), "%s", what)
	}
}

// Print prints a line for each finding, or one JSON object. Its error ends the command if there is
// a fault.
func (r Report) Print(t *cli.Terminal, asJSON bool) error {
	count := map[Status]int{}
	for _, f := range r {
		count[f.Status]++
		if line := fmt.Sprintf("%-7s %s: %s", f.Status, f.Check, f.What); asJSON {
			continue
		} else if f.Fix != "" {
			t.Printf("%s (%s)", line, f.Fix)
		} else {
			t.Printf("%s", line)
		}
	}
	if asJSON {
		t.PrintObject(map[string]any{"faults": count[Fault], "warnings": count[Warning], "findings": r}) // texts do not fail
	} else {
		t.Printf("%s, %s", cli.Plural(count[Fault], "fault"), cli.Plural(count[Warning], "warning"))
	}
	if count[Fault] > 0 {
		return cli.Exit(cli.ExitFailure, cli.ErrSilent)
	}
	return nil
}

// ReceiptKey compares the key that the service signs receipts with, nil if it has none, with the
// one that the content publishes.
func (r *Report) ReceiptKey(service *site.Service, key ed25519.PrivateKey) {
	const check, rotate = "key", "anteroom key rotate --out receipt.key makes one and publishes its public half"
	published := service.ReceiptKeys.Current
	switch {
	case published == "" && key == nil:
		r.Add(check, Warning, rotate, "the content publishes no receipt key")
	case published == "":
		r.Add(check, Warning, rotate, "receipts are signed with a key that the content does not publish")
	case key == nil:
		r.Add(check, Fault, "name its file with --key-file, or give it in ANTEROOM_KEY", "the content publishes a receipt key, and there is no key to sign with")
	case receiptkey.Public(key) != published:
		r.Add(check, Fault, "sign with the published one, or publish this one; anteroom key check compares them",
			"the public half of the receipt key is %s, and the content publishes %s", receiptkey.Public(key), published)
	default:
		r.Add(check, OK, "", "receipts are signed with the key that the content publishes")
	}
}

// Store checks whether a store is sound and belongs to this service, and what waits in it for the
// operator. s is nil if the content cannot be loaded.
func (r *Report) Store(ctx context.Context, store records.Reader, name string, s *site.Site, now time.Time) {
	const check = "store"
	if err := sound(ctx, store, name); err != nil {
		r.Err(check, Fault, err, "stop the server, keep the file, and restore a backup into another folder with anteroom restore")
		return
	}
	after, verified := make([]int64, len(records.Kinds)), ""
	if s != nil {
		for _, v := range s.Verifications {
			verified = cmp.Or(v.Store, verified)
			for i, kind := range records.Kinds {
				after[i] = int64(v.Covers(kind.Name).Last)
			}
		}
	}
	extent, err := records.Measure(ctx, store, now.UTC().Format(time.RFC3339), true, after)
	switch {
	case err != nil:
		r.Err(check, Fault, err, "stop the server and look at the file")
		return
	case verified != "" && verified != extent.Store:
		r.Add(check, Fault, "name the right one with --data or --remote; anteroom restore brings back a lost one",
			"%s is store %s, and the verifications are of store %s", name, extent.Store, verified)
		return
	case s != nil && extent.Host != "" && extent.Host != s.Service.CanonicalHost:
		r.Add(check, Warning, "if the service has not moved, --data or --remote names the wrong store",
			"%s is of the service %s, and the content of %s", name, extent.Host, s.Service.CanonicalHost)
	default:
		r.Add(check, OK, "", "%s opens, and belongs to this service", name)
	}
	if err := r.waiting(ctx, store, s, after, now); err != nil {
		r.Err("records", Fault, err, "try again")
	}
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

// waiting looks for records that no verification covers, and for messages that are not delivered.
func (r *Report) waiting(ctx context.Context, store records.Reader, s *site.Site, after []int64, now time.Time) error {
	const check = "records"
	const stale = 30 // days; then a verification is due if records wait
	const late = time.Hour
	counts := []turn.Statement{{
		SQL: "SELECT count(*) FROM outbox WHERE state = 'pending' AND created_at < ?", Args: []any{now.Add(-late).Unix()},
	}}
	for i, kind := range records.Kinds {
		counts = append(counts, turn.Statement{SQL: "SELECT count(*) FROM " + kind.Table + " WHERE seq > ?", Args: []any{after[i]}})
	}
	rows, err := store.Read(ctx, counts...)
	if err != nil {
		return err
	}
	messages, err := records.Undelivered(ctx, store)
	if err != nil {
		return err
	}
	var n [2]int // late messages, and records to be verified
	for i := range rows {
		of, _ := rows[i][0][0].(int64)
		n[min(i, 1)] += int(of)
	}
	if messages.Dead > 0 {
		r.Add(check, Warning, "anteroom records outbox list shows them; once mail works, anteroom records outbox revive sends them",
			"given up: %s; the newest error: %.200q", cli.Plural(int(messages.Dead), "message"), messages.Error)
	}
	if n[0] > 0 {
		r.Add(check, Warning, "anteroom records outbox list shows them; look at the mail check",
			"undelivered for more than an hour: %s; the newest error: %.200q", cli.Plural(n[0], "message"), messages.Error)
	}
	if s != nil && n[1] > 0 {
		day, err := time.Parse(time.DateOnly, s.Current().AsOf)
		if age := int(now.Sub(day).Hours() / 24); err == nil && age > stale {
			r.Add(check, Warning, "run anteroom verify", "to be verified: %s; the last verification is %s old", cli.Plural(n[1], "record"), cli.Plural(age, "day"))
			return nil
		}
	}
	r.Add(check, OK, "", "to be verified: %s", cli.Plural(n[1], "record"))
	return nil
}

// Mail logs in to a mail server, or looks into the mail folder if there is no server. It sends
// nothing.
func (r *Report) Mail(ctx context.Context, server, folder string) {
	const check, patience = "mail", 5 * time.Second
	if server == "" {
		entries, err := os.ReadDir(filepath.Join(folder, "new"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.Err(check, Fault, err, "name the mail folder with --outbox")
			return
		}
		r.Add(check, OK, "", "serve puts it into the folder %s: %s unread", folder, cli.Plural(len(entries), "message"))
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	switch err := mail.Check(ctx, server, patience); {
	case errors.Is(err, mail.ErrUnreachable):
		r.Err(check, Warning, err, "check the host and port of --smtp, and the network")
	case err != nil:
		r.Err(check, Fault, err, "check the host, port, user and password in the URL of the mail server, and its certificate")
	default:
		r.Add(check, OK, "", "the mail server accepts the login; nothing was sent")
	}
}

// Backups looks for the newest backup, a file NAME.db, in a folder, if one is named.
func (r *Report) Backups(folder string, now time.Time) {
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
		r.Add(check, Warning, fix, "there is no backup in %s", folder)
	case age > stale:
		r.Add(check, Warning, fix, "the newest is %s, %s old", name, cli.Plural(int(age.Hours()/24), "day"))
	default:
		r.Add(check, OK, "", "the newest is %s, of %s", name, newest.UTC().Format(time.RFC3339))
	}
}
