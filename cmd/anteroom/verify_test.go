package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/content"
	"anteroom/cmd/anteroom/internal/continuity"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/cmd/anteroom/internal/verification"
	"anteroom/edge/canon"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/sha256"
	"anteroom/edge/turn"

	"github.com/rogpeppe/go-internal/testscript"
)

// sqlCommand FILE STATEMENT… runs statements of SQL on a database, which it makes if it is
// missing.
func sqlCommand(ts *testscript.TestScript, neg bool, args []string) {
	store, err := sqlite.Create(ts.MkAbs(args[0]), slog.New(slog.DiscardHandler))
	ts.Check(err)
	for _, statement := range args[1:] {
		if r := store.Exec(turn.Exec{Statements: []turn.Statement{{SQL: statement}}}); r.Failure != turn.None {
			ts.Fatalf("%s: %s", statement, r.Failure)
		}
	}
	ts.Check(store.Close())
}

// lockedContent FOLDER PROGRAM ARGUMENT… runs a program while another verification is under way.
func lockedContent(ts *testscript.TestScript, neg bool, args []string) {
	unlock, err := verification.Lock(ts.MkAbs(args[0]))
	ts.Check(err)
	defer unlock()
	if err := ts.Exec(args[1], args[2:]...); (err != nil) != neg {
		ts.Fatalf("it ended with %v", err)
	}
}

// verifyRun is a content folder, a store with some registrations, and a terminal.
type verifyRun struct {
	t       *testing.T
	content string
	store   *sqlite.Store
	options *verification.Options
	now     time.Time
	out     bytes.Buffer
	shown   bytes.Buffer
}

func newVerification(t *testing.T, names ...string) *verifyRun {
	t.Helper()
	v := &verifyRun{t: t, now: noon, content: filepath.Join(t.TempDir(), "content")}
	if err := os.CopyFS(v.content, os.DirFS("../../content")); err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	store, err := sqlite.Create(filepath.Join(data, sqlite.FileName), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	v.store = store
	for i, name := range names {
		sum := sha256.Sum([]byte(canon.Registration(name, "")))
		exec := turn.Exec{Statements: []turn.Statement{{
			SQL:  "INSERT INTO registrations (record_id, recorded_at, agent_name, payload_sha256) VALUES (?, ?, ?, ?)",
			Args: []any{fmt.Sprintf("%032x", i+1), "2027-03-01T10:00:00Z", name, fmt.Sprintf("%x", sum)},
		}}}
		if r := store.Exec(exec); r.Failure != turn.None {
			t.Fatal(r.Failure)
		}
	}
	v.options = &verification.Options{
		Content: v.content, Public: filepath.Join(filepath.Dir(v.content), publicFolder), Offline: true,
		Open: (&storeFlags{data: data}).reader,
	}
	return v
}

// edit verifies at a terminal, with an editor that does what a line of sh says with the file "$1",
// and then answers each question with a letter.
func (v *verifyRun) edit(script string, answers ...string) error {
	v.t.Helper()
	editor := filepath.Join(v.t.TempDir(), "an editor")
	if err := os.WriteFile(editor, []byte("#!/bin/sh\nset -e\n"+script+"\n"), 0o700); err != nil {
		v.t.Fatal(err)
	}
	v.t.Setenv("VISUAL", "")
	v.t.Setenv("EDITOR", "'"+editor+"' ")
	v.out.Reset()
	v.shown.Reset()
	term := cli.New(&lineByLine{answers}, &v.out, &v.shown)
	term.Interactive = true
	term.Now = func() time.Time { return v.now }
	return errors.Join(verification.Run(v.t.Context(), term, v.options), term.Out.Flush())
}

// lineByLine gives one line for each Read, as a terminal does.
type lineByLine struct{ lines []string }

func (l *lineByLine) Read(p []byte) (int, error) {
	if len(l.lines) == 0 {
		return 0, io.EOF
	}
	n := copy(p, l.lines[0]+"\n")
	l.lines = l.lines[1:]
	return n, nil
}

// files are the names of what the content holds beside the shipped content.
func (v *verifyRun) files() (names []string) {
	v.t.Helper()
	err := filepath.WalkDir(v.content, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(v.content, path)
		if _, shipped := os.Stat(filepath.Join("../../content", name)); err == nil && shipped != nil {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		v.t.Fatal(err)
	}
	return names
}

const board = "scoreboard/2027-03-01.yaml"

// noon is on the day of board.
var noon = time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)

// vouchForLark vouches for the first agent of a file, and writes another text.
const vouchForLark = `sed -i '0,/- {decision: leave, reason: ""/s//- {decision: vouch, reason: known/; s/Nobody has come yet/One has come/' "$1"`

// A verification is decided in an editor. What was answered is kept until it is written.
func TestVerifyInEditor(t *testing.T) {
	v := newVerification(t, "lark", "lark\u202e")
	drafted := []string{filepath.Base(verification.Draft(v.content))}
	kept := func(err error, want string, files []string) {
		t.Helper()
		said := fmt.Sprint(err, &v.out, &v.shown)
		if !strings.Contains(said, want) || strings.Contains(said, "\u202e") || !slices.Equal(v.files(), files) {
			t.Errorf("it says %s\nwant %q; left are %q", said, want, v.files())
		}
	}
	kept(v.edit("exit 3"), "exit status 3 (name another one in EDITOR) (your answers are kept in ", drafted)
	kept(v.edit(`: >"$1"`), "Nothing was written: the answers are empty.", nil)
	kept(v.edit(`sed -i 's/^  - {decision: leave/  - {decision: vouch/' "$1"`), "registrations[0]: a vouch needs a reason", drafted)
	if text, _ := os.ReadFile(verification.Draft(v.content)); strings.Count(string(text), "#!! a vouch needs a reason\n  - {") != 2 {
		t.Errorf("the faults are not in the file:\n%s", text)
	}
	kept(v.edit(`sed -i 's/^  - {decision: vouch/  - {decision: leave/' "$1"`, "x", "n"), "Your answers are kept in ", drafted)
	kept(v.edit(vouchForLark), "read the answer: EOF", drafted)
	v.options.Through = "2027-03-01T11:00:00Z"
	kept(v.edit(":"), "--through is 2027-03-01T11:00:00Z, and ", drafted)
	v.options.Through = ""
	kept(v.edit(":", "e", "y"), "Wrote ", []string{board, "verifications/2027-03-01.yaml"})
	for _, want := range []string{
		"1 registration: vouch: known\n", "conversions               0     1  counted\n", "Write this verification? yes/no/edit: ", "Next: anteroom publish, or",
	} {
		kept(nil, want, v.files())
	}
	text, err := os.ReadFile(filepath.Join(v.content, board))
	if err != nil || !strings.Contains(string(text), "One has come") || !strings.Contains(string(text), "verified_organic_agent_conversions: 1\n") {
		t.Errorf("%v\n%s", err, text)
	}
}

// One clock tells the day of a verification; SOURCE_DATE_EPOCH is for builds.
func TestVerifyClock(t *testing.T) {
	v := newVerification(t)
	t.Setenv("SOURCE_DATE_EPOCH", "0")
	if err := v.edit(":", "y"); err != nil {
		t.Error(err)
	}
}

// What came after a draft was begun waits for the next verification, also of a name that it decides
// about.
func TestVerifyDraftLater(t *testing.T) {
	v := newVerification(t, "lark")
	if err := v.edit(vouchForLark, "n"); err != nil {
		t.Fatal(err)
	}
	later := "INSERT INTO registrations (record_id, recorded_at, agent_name, payload_sha256) SELECT '" +
		strings.Repeat("b", 32) + "', '2027-03-01T12:00:01Z', agent_name, payload_sha256 FROM registrations"
	if r := v.store.Exec(turn.Exec{Statements: []turn.Statement{{SQL: later}}}); r.Failure != turn.None {
		t.Fatal(r.Failure)
	}
	v.now = noon.Add(time.Hour)
	if err := v.edit(":", "y"); err != nil || !strings.Contains(v.out.String(), "  1 registration: vouch: known\n") ||
		!strings.Contains(v.out.String(), "registrations: 1 in the store, 1 new") {
		t.Errorf("%v\n%s%s", err, &v.shown, &v.out)
	}
}

// Content that is behind what the service publishes is not verified, and no editor opens. Where the
// service cannot be asked, the operator says so.
func TestVerifyBehind(t *testing.T) {
	v := newVerification(t, "lark")
	for _, c := range []struct {
		facts   continuity.Facts
		err     error
		offline bool
		want    string
	}{
		{facts: continuity.Facts{Documents: map[string]string{"/scoreboard/2027-01-01.json": "", "/gone.html": ""}}, want: "content is behind https://www.anteroom.example: /scoreboard/2027-01-01.json is published, and would vanish ("},
		{facts: continuity.Facts{AsOf: "2027-01-01"}, want: "/scoreboard.json is as of 2027-01-01, and would be as of \"2026-11-20\""},
		{err: live.ErrUnreachable, want: "the service is unreachable (--offline verifies without a look at what is live)"},
		{err: live.ErrUnreachable, offline: true},
		{err: live.ErrNothing},
		{facts: continuity.Facts{Documents: map[string]string{"/gone.html": ""}, Keys: []string{"other"}}},
	} {
		v.options.Offline = c.offline
		v.options.Live = func(context.Context) (continuity.Facts, error) { return c.facts, c.err }
		err := v.edit(": >\"$1\"")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || strings.Contains(v.out.String(), "Nothing was written") != (err == nil) {
			t.Errorf("%+v: %v, %s", c, err, &v.out)
		}
	}
}

// A content that has lost its log signs no other one in place of what is published.
func TestVerifyLogLost(t *testing.T) {
	v := newVerification(t, "lark", "wren")
	v.t.Setenv("SOURCE_DATE_EPOCH", fmt.Sprint(noon.Unix()))
	v.options.LogKey.File = filepath.Join(v.t.TempDir(), "log.key")
	operate(t, "key", "rotate", "--log", "--out", v.options.LogKey.File, "--content", v.content)
	if err := v.edit(vouchForLark, "y"); err != nil || !strings.Contains(v.out.String(), "log: 4 entries, 4 of them new: 2 registrations, 1 vouched, 1 verification\n") {
		t.Fatalf("%v\n%s%s", err, &v.shown, &v.out)
	}
	s, err := content.Load(v.content, noon)
	if err != nil || s.Log.Size() != 4 || s.Log.Counts().Vouched != 1 {
		t.Fatalf("the content is %v", err)
	}
	if err := publishLog(s.Log, filepath.Join(filepath.Dir(v.content), publicFolder)); err != nil {
		t.Fatal(err)
	}
	// Without the key nothing is opened.
	key := v.options.LogKey.File
	v.options.LogKey.File = ""
	if err := v.edit(":"); err == nil || !strings.Contains(err.Error(), "name its file with --log-key-file") || v.shown.Len() > 0 {
		t.Errorf("without the key: %v, %s", err, &v.shown)
	}
	v.options.LogKey.File = key
	if err := os.RemoveAll(filepath.Join(v.content, "log")); err != nil {
		t.Fatal(err)
	}
	if err := v.edit(vouchForLark, "y"); err == nil || !strings.Contains(err.Error(), "public: /log/checkpoint is published: its tree would vanish") || v.shown.Len() > 0 {
		t.Errorf("error %v, %s", err, &v.shown)
	}
}
