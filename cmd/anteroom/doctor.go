package main

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
	"anteroom/cmd/anteroom/internal/keys"
	"anteroom/cmd/anteroom/internal/server"
	"anteroom/cmd/anteroom/internal/verification"
	"anteroom/edge/native"
	"anteroom/edge/native/disk"
	"anteroom/edge/native/mail"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/snapshot"
	"anteroom/edge/store/records"
	"anteroom/generator/site"

	"github.com/spf13/cobra"
)

func doctorCommand(t *cli.Terminal) *cobra.Command {
	d := &doctor{t: t}
	cmd := &cobra.Command{
		Use:  "doctor",
		RunE: func(cmd *cobra.Command, _ []string) error { return d.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	contentFlag(flags, &d.content)
	hostFlags(flags, &d.host)
	d.store.add(flags)
	d.logKey.AddFlag(flags)
	jsonFlag(flags, &t.JSON)
	return cmd
}

// doctor finds the faults of a service, and changes nothing.
type doctor struct {
	t       *cli.Terminal
	host    server.Options
	content string
	store   storeFlags
	logKey  keys.Log

	site     *site.Site // nil if the content cannot be loaded
	findings []finding
}

// health rates a finding. With a fault the service does not work, publishes wrong data or loses
// data.
type health string

const (
	healthy health = "ok"
	warning health = "warning"
	faulty  health = "fault"
)

type finding struct {
	Check  string `json:"check"`
	Status health `json:"status"`
	What   string `json:"what"`
	Fix    string `json:"fix,omitempty"` // what to do next; "" if healthy
}

func (d *doctor) add(check string, h health, fix, format string, args ...any) {
	d.findings = append(d.findings, finding{check, h, fmt.Sprintf(format, args...), fix})
}

// addError adds a finding for each line of an error. fix is the next step of a line without one in
// brackets. It is no fault that this user may not read a secret or another user's store.
func (d *doctor) addError(check string, h health, err error, fix string) {
	unseen := errors.Is(err, fs.ErrPermission) && (check != "store" || os.Geteuid() != d.server())
	if unseen {
		h, fix = warning, "run doctor as root"
	}
	for line := range strings.Lines(err.Error()) {
		what, hint := cli.SplitHint(strings.TrimSpace(line))
		if hint == "" || unseen {
			hint = fix
		}
		d.add(check, h, hint, "%s", what)
	}
}

// server returns the owner of the data folder, as whom the server runs, or -1.
func (d *doctor) server() int {
	if info, err := os.Stat(d.store.data); err == nil && d.store.remote == "" {
		return disk.Owner(info)
	}
	return -1
}

func (d *doctor) run(ctx context.Context) error {
	d.host.Data = d.store.data
	t := d.t
	silent := *t
	silent.Err = io.Discard // the warnings of loading are findings here
	d.t = &silent
	d.checkDocuments()
	if d.site != nil {
		d.checkKeys()
	} else {
		d.add("key", warning, mendContent, notCompared)
	}
	d.checkGit(ctx)
	d.checkBackups()
	d.checkReplica(ctx)
	d.checkStore(ctx)
	if d.store.remote == "" {
		d.checkMail(ctx)
	}
	count := map[health]int{}
	for _, f := range d.findings {
		count[f.Status]++
	}
	err := t.Answer(map[string]any{"faults": count[faulty], "warnings": count[warning], "findings": d.findings}, func() {
		for _, f := range d.findings {
			fix := ""
			if f.Fix != "" {
				fix = " (" + f.Fix + ")"
			}
			t.Printf("%-7s %s: %s%s", f.Status, f.Check, f.What, fix)
		}
		t.Printf("%s, %s", cli.Plural(count[faulty], "fault"), cli.Plural(count[warning], "warning"))
	})
	if count[faulty] > 0 {
		return cli.ErrSilent
	}
	return err
}

// What depends on the content cannot be checked if it does not load.
const notCompared, mendContent = "not compared: the content has faults", "fix the content first"

func (d *doctor) checkDocuments() {
	const check, fix = "content", "run anteroom generate --check"
	now := d.t.Now()
	s, err := loadContent(d.content, now)
	if err != nil {
		d.addError(check, faulty, err, fix)
		return
	}
	d.site = s
	g := generation{content: d.content, public: d.host.Public, check: true}
	report, err := g.run(d.t, s, now)
	if err != nil {
		d.addError(check, faulty, err, fix)
		return
	}
	if stale := report.Stale(d.content); stale != nil && report.Artifact == nil {
		d.addError(check, faulty, stale, "")
	} else if stale != nil {
		d.addError(check, warning, stale, "")
	} else {
		d.add(check, healthy, "", "%s loads, and %s is current: version %.12s", d.content, d.host.Public, report.Content)
	}
	for _, warned := range report.Warnings {
		d.addError(check, warning, errors.New(warned), fix)
	}
}

// checkGit reports uncommitted content and documents: they would be lost with the disk.
func (d *doctor) checkGit(ctx context.Context) {
	const check = "git"
	folder := filepath.Dir(d.content)
	tree, err := findWorkTree(ctx, folder)
	if tree == nil && err == nil {
		return
	}
	var changed []string
	if err == nil {
		changed, err = tree.changed(ctx, filepath.Base(d.content))
	}
	switch {
	case errors.Is(err, errAsRoot):
		d.add(check, healthy, "", "not looked at: %v", err)
	case err != nil:
		d.add(check, warning, "fix what git reports", "%s", strings.ReplaceAll(err.Error(), "\n", ": "))
	case len(changed) > 0:
		d.add(check, warning, "commit them", "not committed: %s", first(changed))
	default:
		d.add(check, healthy, "", "%s is committed", d.content)
	}
}

// checkKeys compares the keys with the content. The key of a deployed service need not be here.
func (d *doctor) checkKeys() {
	const check, hint = "key", "name its file with --key-file, or give it in ANTEROOM_KEY"
	file, remote := filepath.Join(d.content, serviceFile), d.store.remote != ""
	published, read := d.site.Service.ReceiptKeys.Current, d.host.ReadKey
	if remote {
		read = d.host.Receipt.Read
	}
	key, err := read(d.t)
	if err == nil && key != nil {
		err = keys.CheckReceipt(key, &d.site.Service, file)
	}
	switch {
	case err != nil && key != nil && published == "":
		d.addError(check, warning, err, hint)
	case err != nil:
		d.addError(check, faulty, err, hint)
	case d.host.Unsigned:
		d.add(check, warning, "leave out --unsigned", "receipts are not signed")
	case key != nil:
		d.add(check, healthy, "", "receipts are signed with the key that the content publishes: %s", published)
	case remote:
	case published == "":
		d.add(check, warning, "anteroom key rotate makes one and publishes its public half",
			"the content publishes no current receipt key")
	default:
		d.add(check, faulty, hint, "the content publishes a receipt key, and its secret half is missing")
	}
	logKey, err := d.logKey.Read(d.t)
	if err == nil && logKey != nil {
		err = keys.CheckLog(logKey.Public, d.site.Service.Log.Key, file)
	}
	if err != nil {
		d.addError("log key", faulty, err, "name its file with --log-key-file")
	}
}

func (d *doctor) checkBackups() {
	const check, fix, stale = "backups", "run anteroom backup", 7 * 24 * time.Hour
	if d.host.Backups == "" {
		return
	}
	if _, err := os.ReadDir(d.host.Backups); errors.Is(err, fs.ErrPermission) {
		d.addError(check, warning, err, "")
		return
	}
	name, newest := server.NewestBackup(d.host.Backups)
	switch age := d.t.Now().Sub(newest); {
	case name == "":
		d.add(check, warning, fix, "no backup in %s", d.host.Backups)
	case age > stale:
		d.add(check, warning, fix, "the newest is %s, %s old", name, cli.Plural(int(age.Hours()/24), "day"))
	default:
		d.add(check, healthy, "", "the newest is %s, of %s", name, newest.UTC().Format(time.RFC3339))
	}
}

func (d *doctor) checkReplica(ctx context.Context) {
	const check, stale = "replica", time.Minute
	if d.host.Replica == "" || d.store.remote != "" {
		return
	}
	at, err := server.Replicated(ctx, d.host.Replica, d.host.Database())
	switch age := d.t.Now().Sub(at); {
	case err != nil:
		d.addError(check, faulty, err, "check the log of Litestream")
	case age > stale:
		d.add(check, faulty, "check the log of Litestream", "the replica is %s old", age.Round(time.Second))
	default:
		d.add(check, healthy, "", "Litestream has replicated the database up to %s", at.UTC().Format(time.RFC3339))
	}
}

func (d *doctor) checkStore(ctx context.Context) {
	const check = "store"
	remote, verified := d.store.remote != "", ""
	store, err := d.store.reader(ctx)
	if d.site == nil {
		d.add(check, warning, mendContent, notCompared)
	} else {
		verified, _ = d.site.Covered()
	}
	switch none := errors.Is(err, sqlite.ErrNone) && !remote && filepath.Clean(d.store.data) == server.DefaultData; {
	case err != nil && d.site == nil:
		return
	case none && verified == "":
		d.add(check, healthy, "", "anteroom serve will create it in %s", d.store.data)
		return
	case none:
		d.add(check, faulty, "anteroom restore brings it back; if it is gone for good, anteroom publish --new-store",
			"there is none in %s, and the content verified store %s", d.store.data, verified)
		return
	case err != nil:
		d.addError(check, faulty, err, "name the right one with --data or --remote")
		return
	}
	defer store.Close()
	if !remote {
		if err := disk.Private(d.store.data); err != nil {
			d.addError(check, faulty, err, "")
		}
	}
	d.checkRoom(store)
	if d.site == nil {
		return
	}
	found, err := lookIntoInbox(ctx, store, d.site, d.store.mail(d.host.Outbox), d.t.Now())
	if err != nil {
		d.addError(check, faulty, err, "see anteroom inbox")
		return
	}
	if found.Behind != "" {
		d.addError(check, faulty, errors.New(found.Behind), "run anteroom records audit")
	} else if remote { // an audit reads every record
		d.add(check, healthy, "", "%s opens, and belongs to this service", store.Name())
	} else {
		d.checkAudit(ctx, store)
	}
	for _, c := range found.Claims {
		d.add("records", warning, hintClaims, "%s", claimText(&c, found.now))
	}
	if found.Outbox.Dead > 0 {
		d.add("records", warning, "once mail works, anteroom records retry sends them", "undelivered: %s; the newest error: %.200q",
			&found.Outbox, found.Outbox.Error)
	}
	waiting, h, fix := int64(0), healthy, ""
	for _, kind := range found.New {
		if waiting += kind.New; kind.New > 0 && kind.Oldest < found.now.AddDate(0, -1, 0).UTC().Format(time.RFC3339) {
			h, fix = warning, "run anteroom publish: some have waited for a month"
		}
	}
	d.add("records", h, fix, "to be verified: %s", cli.Plural(waiting, "record"))
}

func (d *doctor) checkAudit(ctx context.Context, store records.Reader) {
	audited, err := verification.Audit(ctx, store, d.site)
	switch {
	case err != nil:
		d.addError("store", faulty, err, "try again")
	case len(audited.Changed)+len(audited.Early) > 0:
		d.add("store", faulty, "run anteroom records audit", "the audit has %s",
			cli.Plural(len(audited.Changed)+len(audited.Early), "finding"))
	default:
		d.add("store", healthy, "", "all records of %s match %s", store.Name(), cli.Plural(audited.Verifications, "verification"))
		for _, own := range audited.Own {
			d.add("records", warning, "run anteroom publish --correct, which proposes to set it apart", "%s", own)
		}
	}
}

func (d *doctor) checkRoom(store records.Reader) {
	const check, full = "room", 0.8
	used, most, err := store.Room()
	if err != nil {
		d.addError(check, faulty, err, "check the disk")
		return
	}
	h, fix := healthy, ""
	switch share := float64(used) / float64(most); {
	case share >= 0.98:
		h, fix = faulty, "writes are refused, or soon will be: make room"
	case share >= full:
		h, fix = warning, `see "The store" in OPERATIONS.md`
	}
	d.add(check, h, fix, "the store takes %s of %s", cli.ByteSize(used), cli.ByteSize(most))
}

func (d *doctor) checkMail(ctx context.Context) {
	const check, timeout = "mail", 5 * time.Second
	relay, err := d.host.Relay()
	if err != nil {
		d.addError(check, faulty, err, "name the file with --smtp")
		return
	}
	relay = cmp.Or(relay, "maildir:"+filepath.Join(d.host.Data, native.MailFolder))
	if folder, local := strings.CutPrefix(relay, "maildir:"); local {
		entries, err := os.ReadDir(filepath.Join(folder, "new"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			d.addError(check, faulty, err, "name the mail folder with --outbox")
			return
		}
		d.add(check, healthy, "", "serve writes mail into the folder %s: %s unread", folder,
			cli.Plural(len(entries), "message"))
		return
	}
	if d.site == nil {
		d.add(check, warning, mendContent,
			"the mail server was not asked: the content names sender and recipient")
		return
	}
	if d.host.Copies() == "" {
		d.add(check, warning, "also give serve --outbox, a folder for copies",
			"a suggestion is lost if the mail server accepts its mail and loses it")
	}
	names := d.site.Service.Relay
	to := &snapshot.Snapshot{
		CanonicalHost: d.site.Service.CanonicalHost, RelayTo: names.To, RelayBounces: cmp.Or(names.Bounces, names.To),
	}
	switch err := mail.Check(ctx, relay, to, timeout); {
	case errors.Is(err, mail.ErrBounces):
		d.add(check, warning, "relay.bounces of service.yaml: name an address that takes mail", "%v", err)
	case err != nil:
		d.add(check, faulty, "see Mail in OPERATIONS.md; the server's words follow the step", "%v", err)
	default:
		d.add(check, healthy, "", "the mail server would take a message; nothing was sent")
	}
}
