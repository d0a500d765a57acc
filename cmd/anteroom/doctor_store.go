package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/native/disk"
	"anteroom/edge/native/mail"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"
)

// database opens the database on this machine, as the commands that read do, and looks at it.
func (d *doctor) database(ctx context.Context, f *findings) {
	if !d.native {
		return
	}
	file := d.dataFile(sqlite.FileName)
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist) && filepath.Clean(d.serve.data) == defaultData:
		f.ok("there is none yet: anteroom serve begins one in %s", d.serve.data)
		return
	case errors.Is(err, fs.ErrNotExist):
		f.fault("name the right folder with --data, or begin a new database with anteroom serve --create", "there is none in %s", d.serve.data)
		return
	case errors.Is(err, fs.ErrPermission):
		f.fault(asTheUser, "this user may not look into %s", d.serve.data)
		return
	case err != nil:
		f.err(fault, err)
		return
	}
	reader, sound, err := openSound(ctx, file, info.Size())
	if reader != nil {
		defer reader.Close()
	}
	switch {
	case errors.Is(err, sqlite.ErrLacking):
		f.err(warning, err)
		return
	case err != nil:
		f.err(fault, err)
		for i := range f.list {
			f.list[i].Mend = cmp.Or(f.list[i].Mend, "stop the server, keep the file, and put a backup into another folder with anteroom restore")
		}
		return
	}
	f.ok("%s, %s, has this program's schema; %s", file, cli.ByteSize(info.Size()), sound)
	d.records(ctx, f, reader, file)
}

// openSound opens a database to read it, and has SQLite check its pages where that is quick. sound
// says what was checked.
func openSound(ctx context.Context, file string, size int64) (reader *sqlite.Reader, sound string, err error) {
	const quick = 256 << 20 // bytes
	for {
		_, noLog := os.Stat(file + "-wal")
		if errors.Is(noLog, fs.ErrNotExist) {
			reader, err = sqlite.OpenImmutable(file)
		} else {
			reader, err = sqlite.OpenReadOnly(file)
		}
		if err != nil {
			return nil, "", err
		}
		if size > quick {
			return reader, "it is too large to be checked here, as anteroom backup checks its copy", nil
		}
		rows, err := reader.Read(ctx, turn.Statement{SQL: "PRAGMA quick_check(1)"})
		if err == nil {
			if said, _ := rows[0][0][0].(string); said != "ok" {
				err = fmt.Errorf("%s is damaged: %s", file, said)
			}
		}
		if err == nil {
			return reader, "it is sound", nil
		}
		// A server that has started meanwhile was read in the middle of its writing.
		if _, log := os.Stat(file + "-wal"); noLog == nil || log != nil {
			return reader, "", err
		}
		reader.Close()
	}
}

// latePending is after which time a message that was tried is late. The first tries come within the
// hour.
const latePending = time.Hour

// records holds a store, by its name, against the content, and looks for what waits in it for the
// operator.
func (d *doctor) records(ctx context.Context, f *findings, r records.Reader, name string) {
	after := make([]int64, len(records.Kinds))
	store := ""
	if d.site != nil {
		for _, v := range d.site.Verifications {
			if v.Store != "" {
				store = v.Store
			}
			for i, kind := range records.Kinds {
				after[i] = int64(v.Covers(kind.Name).Last)
			}
		}
	}
	now := d.t.Now().UTC()
	extent, err := records.Measure(ctx, r, now.Format(time.RFC3339), true, after)
	if err != nil {
		f.err(fault, err)
		return
	}
	if store != "" && store != extent.Store {
		f.fault("name the right one with --data or --remote; a store that was lost comes back with anteroom restore",
			"%s is store %s, and the verifications are of store %s", name, extent.Store, store)
		return
	}
	if d.site != nil && extent.Host != "" && extent.Host != d.site.Service.CanonicalHost {
		f.warn("serve takes it over; if the service has not moved, --data or --remote names the wrong one",
			"%s is of the service %s, and %s of %s", name, extent.Host, d.serve.content, d.site.Service.CanonicalHost)
	}
	ahead := int64(0)
	for _, n := range extent.Ahead {
		ahead += n
	}
	if ahead > 0 {
		f.warn("look at the clock check, and at anteroom records list", "%s: %s to come by their own time", name, cli.Plural(int(ahead), "record"))
	}
	d.waiting(ctx, f, r, name, after)
	d.outbox(ctx, f, r, name, now)
}

// waiting counts the records that no verification covers.
func (d *doctor) waiting(ctx context.Context, f *findings, r records.Reader, name string, after []int64) {
	var count []turn.Statement
	for i, kind := range records.Kinds {
		count = append(count, turn.Statement{SQL: "SELECT count(*) FROM " + kind.Table + " WHERE seq > ?", Args: []any{after[i]}})
	}
	rows, err := r.Read(ctx, count...)
	if err != nil {
		f.err(fault, err)
		return
	}
	n := int64(0)
	for i := range rows {
		of, _ := rows[i][0][0].(int64)
		n += of
	}
	if d.site != nil && n > 0 && daysSince(d.site.Current().AsOf) > staleVerification {
		f.warn("anteroom verify", "%s: %s to be verified, and the last verification is more than %s old", name, waits(n, "record"), cli.Plural(staleVerification, "day"))
		return
	}
	f.ok("%s: %s to be verified", name, waits(n, "record"))
}

// waits says how many things wait.
func waits(n int64, noun string) string {
	if n == 1 {
		return cli.Plural(1, noun) + " waits"
	}
	return cli.Plural(int(n), noun) + " wait"
}

// outbox looks for messages that were given up, and for those that wait for long.
func (d *doctor) outbox(ctx context.Context, f *findings, r records.Reader, name string, now time.Time) {
	messages, err := records.Undelivered(ctx, r)
	if err != nil {
		f.err(fault, err)
		return
	}
	rows, err := r.Read(ctx, turn.Statement{
		SQL: "SELECT count(*) FROM outbox WHERE state = 'pending' AND created_at < ?", Args: []any{now.Add(-latePending).Unix()},
	})
	if err != nil {
		f.err(fault, err)
		return
	}
	why := ""
	if messages.Error != "" {
		why = "; the newest error: " + columnText(messages.Error)
	}
	const list = "anteroom records outbox list shows them"
	if messages.Dead > 0 {
		f.warn(list+"; once the mail works, anteroom records outbox revive sends them", "%s: %s given up%s", name, were(messages.Dead, "message"), why)
	}
	if late, _ := rows[0][0][0].(int64); late > 0 {
		f.warn(list+"; look at the mail check", "%s: %s for you for more than an hour%s", name, waits(late, "message"), why)
	}
}

// were says of how many things something was done.
func were(n int64, noun string) string {
	if n == 1 {
		return cli.Plural(1, noun) + " was"
	}
	return cli.Plural(int(n), noun) + " were"
}

// disk looks at what is free where the data is.
func (d *doctor) disk(_ context.Context, f *findings) {
	if !d.native {
		return
	}
	folder := d.serve.data
	var size int64
	if info, err := os.Stat(d.dataFile(sqlite.FileName)); err == nil {
		size = info.Size()
	} else if _, err := os.Stat(folder); err != nil {
		folder = "." // where the data folder is about to be made
	}
	free, files, err := freeAt(folder)
	if err != nil {
		f.warn("look at the disk", "what is free is not known: %v", err)
		return
	}
	f.room(folder, size, free, files)
}

// room says whether what is free at a folder, in bytes and in files, is enough for a database of a
// size: anteroom records erase writes it anew, beside the old one and through its log.
func (f *findings) room(folder string, size, free, files int64) {
	const (
		least      = 100 << 20 // bytes
		leastFiles = 1000
		none       = 1 << 20 // bytes: the log of the database and its index grow by less
	)
	switch want := least + 2*size; {
	case free < none || files == 0:
		f.fault("make room, old backups first, and restart the server", "there is no room where %s is: what callers send is refused", folder)
	case free < want:
		f.warn("make room: two more copies of the database are to fit", "%s is free where %s is, and %s is wanted", cli.ByteSize(free), folder, cli.ByteSize(want))
	case files < leastFiles:
		f.warn("remove files: each message of a Maildir is one", "%s more can be made where %s is", cli.Plural(int(files), "file"), folder)
	default:
		f.ok("%s is free where %s is", cli.ByteSize(free), folder)
	}
}

// staleBackup is after how many days a backup is old.
const staleBackup = 7

// lastBackup looks for the newest backup in the folder of --backups.
func (d *doctor) lastBackup(_ context.Context, f *findings) {
	if d.backups == "" {
		return
	}
	entries, err := os.ReadDir(d.backups)
	if err != nil {
		f.err(fault, err)
		return
	}
	newest, name := time.Time{}, ""
	var open []string
	for _, entry := range entries {
		path := filepath.Join(d.backups, entry.Name())
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || !beginsWith(path, sqlite.Magic) {
			continue
		}
		if info.ModTime().After(newest) {
			newest, name = info.ModTime(), path
		}
		if disk.IsOpen(info) {
			open = append(open, path)
		}
	}
	if len(open) > 0 {
		f.warn("chmod go= on each", "others may read %s", few(open))
	}
	switch age := d.t.Now().Sub(newest); {
	case name == "":
		f.warn("anteroom backup makes one", "there is no backup in %s", d.backups)
	case age > staleBackup*24*time.Hour:
		f.warn("anteroom backup makes one", "the newest is %s, %s old", name, cli.Plural(int(age.Hours()/24), "day"))
	default:
		f.ok("the newest is %s, of %s", name, newest.UTC().Format(time.RFC3339))
	}
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

// mail logs in to the mail server, or looks into the mail folder.
func (d *doctor) mail(ctx context.Context, f *findings) {
	if !d.native {
		return
	}
	server, err := d.serve.mailServer()
	if err != nil {
		f.err(fault, err)
		return
	}
	if server == "" {
		folder := filepath.Join(d.serve.mailFolder(), "new")
		entries, err := os.ReadDir(folder)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			f.ok("serve puts it into the folder %s; --smtp sends it", d.serve.mailFolder())
		case err != nil:
			f.err(fault, err)
		default:
			f.ok("serve puts it into the folder %s: %s unread", d.serve.mailFolder(), cli.Plural(len(entries), "message"))
		}
		return
	}
	err = mail.Check(ctx, server, patience)
	const mend = "look at the host, port, user and password in the URL of the mail server, and at the certificate of the server"
	switch {
	case errors.Is(err, mail.ErrUnreachable):
		f.warn("look at the host and port of --smtp, and at the network: a suggestion is refused until it is back, an address waits", "%v", err)
	case err != nil && strings.HasSuffix(err.Error(), ")"):
		f.err(fault, err)
	case err != nil:
		f.fault(mend, "%v", err)
	default:
		f.ok("the mail server takes the login; nothing was sent")
	}
}
