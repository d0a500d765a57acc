package mail

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"anteroom/edge/native/disk"
	"anteroom/edge/native/mail/smtptest"
	"anteroom/edge/turn"
)

func TestMaildir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mail")
	relay, err := Open("maildir:"+dir, "")
	must(t, err)
	want := message()
	for range 2 {
		if got := sent(t, relay); got != "" {
			t.Error(got)
		}
	}
	entries, err := os.ReadDir(filepath.Join(dir, "new"))
	if err != nil || len(entries) != 2 {
		t.Fatalf("%d messages in new, want 2 (%v)", len(entries), err)
	}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(dir, "new", entry.Name()))
		must(t, err)
		readMail(t, bytes.NewReader(text), want)
		if bytes.Contains(text, []byte("\r")) {
			t.Errorf("%q", text)
		}
	}
	os.RemoveAll(filepath.Join(dir, "new"))
	if got := sent(t, relay); got != "mail folder: no such file or directory" {
		t.Errorf("without the folder new: %q", got)
	}
	if left, _ := os.ReadDir(filepath.Join(dir, "tmp")); len(left) != 0 {
		t.Errorf("%d files are left in tmp after a failure", len(left))
	}
}

// TestFailedSync: a message whose file may not be on the disk counts as refused, and leaves no
// file. A message whose name may not be there counts as unknown.
func TestFailedSync(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mail")
	relay, err := Open("maildir:"+dir, "")
	must(t, err)
	before := disk.Sync
	t.Cleanup(func() { disk.Sync = before })
	for _, c := range []struct{ folder, want string }{{"tmp", "mail folder: input/output error"}, {"new", "unknown: mail folder: input/output error"}} {
		failing := filepath.Join(dir, c.folder)
		disk.Sync = func(f *os.File) error {
			if strings.HasPrefix(f.Name(), failing) {
				return &fs.PathError{Op: "sync", Path: f.Name(), Err: syscall.EIO}
			}
			return before(f)
		}
		if got := sent(t, relay); got != c.want {
			t.Errorf("the sync in %s fails: told %q, want %q", c.folder, got, c.want)
		}
		if left, err := os.ReadDir(filepath.Join(dir, "tmp")); err != nil || len(left) > 0 {
			t.Errorf("%d files are left in tmp (%v)", len(left), err)
		}
	}
}

// A copy of a suggestion outlives a mail server that takes and loses it. It is removed when its
// time is over, wherever a mail program has put it, and takes no other message along.
func TestCopies(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mail")
	copies := func() []string {
		names, _ := filepath.Glob(filepath.Join(dir, "*", "*"))
		return names
	}
	send := func(list string, reply string) turn.Result {
		server := smtptest.Start(t, smtptest.Properties{Replies: map[string]string{".": reply}})
		relay, err := Open("smtp://"+server.Address+"?tls=none", dir)
		must(t, err)
		m := message()
		m.List = list
		return relay.Send(t.Context(), m, mailSnapshot, time.Now())
	}
	for _, c := range []struct {
		list  string
		reply string
		want  int
	}{
		{turn.Suggestions, "550 5.7.1 spam", 0},
		{turn.Contacts, "250 ok", 0},
		{turn.Contacts, "250 ok", 0},
		{turn.Suggestions, "250 ok", 1},
		{turn.Suggestions, "", 2}, // what may have been taken stays
	} {
		result := send(c.list, c.reply)
		if got := copies(); len(got) != c.want {
			t.Fatalf("%s, %q: %d copies, want %d (%+v)", c.list, c.reply, len(got), c.want, result)
		}
	}
	kept := copies()[0]
	f, err := os.Open(kept)
	must(t, err)
	defer f.Close()
	want := message()
	want.List = turn.Suggestions
	readMail(t, f, want)
	// Mail that was delivered here is the only one.
	delivered, err := Open("maildir:"+dir, "")
	must(t, err)
	if result := delivered.Send(t.Context(), want, mailSnapshot, time.Now()); result.Failure != turn.None {
		t.Fatalf("%+v", result)
	}
	seen := filepath.Join(dir, "cur", filepath.Base(kept)+":2,S")
	must(t, os.Rename(kept, seen))
	relay, err := Open("smtp://127.0.0.1:1", dir)
	for _, step := range []struct {
		after time.Duration
		left  int
	}{{-time.Hour, 3}, {time.Hour, 1}} {
		if err = errors.Join(err, relay.Expire(time.Now().Add(step.after))); err != nil || len(copies()) != step.left {
			t.Errorf("%v: %q, want %d (%v)", step.after, copies(), step.left, err)
		}
	}
	if left := copies(); len(left) != 1 || !strings.Contains(left[0], ".R") {
		t.Errorf("at last: %q", left)
	}
	// What cannot be copied is not sent, as its caller would be told that it is safe.
	os.RemoveAll(dir)
	server := smtptest.Start(t, smtptest.Properties{})
	relay, err = Open("smtp://"+server.Address+"?tls=none", dir)
	if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
		t.Fatal(err)
	}
	result := relay.Send(t.Context(), want, mailSnapshot, time.Now())
	if _, _, contents := server.Got(); result.Failure != turn.Refused || string(result.Data) != "copy: mail folder: no such file or directory" || len(contents) > 0 {
		t.Errorf("without a folder: %+v, %d sent", result, len(contents))
	}
}
