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
	"syscall"
	"testing"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/verification"
	"anteroom/edge/canon"
	"anteroom/edge/native/disk"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/sha256"
	"anteroom/edge/turn"
	"anteroom/generator/tlog"

	"github.com/rogpeppe/go-internal/testscript"
)

// sqlCommand FILE STATEMENT… runs statements of SQL on a database, which it makes where there is
// none.
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
	options *verifyOptions
	out     bytes.Buffer
	shown   bytes.Buffer
}

func newVerification(t *testing.T, names ...string) *verifyRun {
	t.Helper()
	v := &verifyRun{t: t, content: filepath.Join(t.TempDir(), "content")}
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
	v.options = &verifyOptions{content: v.content, store: storeFlags{data: data}}
	return v
}

// beginLog lists a new key of a log, with which the next verifications are signed.
func (v *verifyRun) beginLog() {
	v.t.Helper()
	v.t.Setenv("SOURCE_DATE_EPOCH", fmt.Sprint(noon.Unix()))
	v.options.key.File = filepath.Join(v.t.TempDir(), "log.key")
	if err := rotateLog(cli.New(nil, io.Discard, io.Discard), v.options.key.File, v.content); err != nil {
		v.t.Fatal(err)
	}
}

// lineByLine gives one line for each Read, as a terminal does.
type lineByLine struct{ lines []string }

func (l *lineByLine) Read(p []byte) (int, error) {
	if len(l.lines) == 0 {
		return 0, errors.New("the script is at its end")
	}
	n := copy(p, l.lines[0]+"\n")
	l.lines = l.lines[1:]
	return n, nil
}

// answer verifies at a dumb terminal, with the lines that somebody types.
func (v *verifyRun) answer(lines ...string) error {
	v.t.Helper()
	v.t.Setenv("TERM", "dumb")
	v.out.Reset()
	v.shown.Reset()
	term := cli.New(&lineByLine{lines}, &v.out, &v.shown)
	term.Interactive = true
	term.Now = func() time.Time { return noon }
	v.t.Setenv("SOURCE_DATE_EPOCH", fmt.Sprint(noon.Unix()))
	return errors.Join(v.options.run(v.t.Context(), term), term.Out.Flush())
}

// files are the names of what the content holds beside the shipped content.
func (v *verifyRun) files() (names []string) {
	v.t.Helper()
	err := filepath.WalkDir(v.content, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(v.content, path)
		if _, shipped := os.Stat(filepath.Join("../../content", name)); err == nil && shipped != nil && name != verification.LockName {
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

var bothFiles = []string{board, "verifications/2027-03-01.yaml"}

// allFiles are those of a verification where there is a log.
var allFiles = append([]string{"log", "log/2027-03-01.checkpoint", "log/2027-03-01.jsonl"}, bothFiles...)

// Menus of a dumb terminal are numbered lists. What was decided is kept where somebody leaves, and
// the next verification goes on with it.
func TestVerifyAtTerminal(t *testing.T) {
	v := newVerification(t, "lark", "probe 1", "probe 2", "wren", "lark\u202e")
	err := v.answer(
		"", "9", "x", // no choice
		"1",                   // agents
		"1", "1", "", "known", // lark: vouch, and a reason is wanted
		"7", "probe *", // filter
		"3", "2", "", // all that match: own, without a reason
		"4", "*", // all names again
		"4", "1", "in error", // wren: vouch
		"8",      // which is undone
		"9", "7", // back, and leave
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Agents: 5 registrations of 5 agents (0 vouched for, 0 your own, 5 left)",
		"Agents: 5 registrations of 5 agents (1 vouched for, 2 your own, 2 left)",
		"Number, 1 to 7: want a number from 1 to 7\n",
		"say what you vouch by\n",
		"  1  leave  \"lark\"                           1 in 1   2027-03-01 alike\n",
		"2 agents of 5 match \"probe *\"\n",
		"vouch  \"wren\" ",
		`"lark\u202e"`,
	} {
		if !strings.Contains(v.shown.String(), want) {
			t.Errorf("it does not show %q", want)
		}
	}
	if !strings.Contains(v.out.String(), "Nothing was written. What you have decided is kept in ") {
		t.Errorf("on leaving it says %q", &v.out)
	}
	for line := range strings.Lines(v.shown.String()) {
		if n := len([]rune(line)) - 1; n > 80 && !strings.Contains(line, "Number, 1 to") {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if t.Failed() {
		t.Logf("%s", &v.shown)
	}
	draft := filepath.Join(v.content, draftName)
	if info, err := os.Stat(draft); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the draft: %v, %v", info, err)
	}
	if files := v.files(); !slices.Equal(files, []string{draftName}) {
		t.Errorf("left are %q", files)
	}

	// The end of the input is no answer: nothing is decided, and all is kept.
	for _, lines := range [][]string{nil, {"1"}, {"1", "1"}, {"1", "1", "1"}, {"4", "1"}, {"5"}, {"5", "1"}, {"6"}} {
		before, _ := os.ReadFile(draft)
		err := v.answer(lines...)
		after, _ := os.ReadFile(draft)
		registrations := func(text []byte) string { s, _, _ := strings.Cut(string(text), "numbers:"); return s }
		if err != nil && !slices.Equal(lines, []string{"6"}) || registrations(before) != registrations(after) {
			t.Errorf("ended after %q: %v, %s", lines, err, after)
		}
	}

	err = v.answer(
		"6",                                                              // the summary says what is missing
		"4", "1", "-1", "0", "claude, cursor", "", "", "3", "2027-02-01", // numbers
		"5", "1", "3", "2", "One came.", "2", "One client came.", "None.", // texts
		"6", "n", "6", "y",
	)
	if strings.Count(v.shown.String(), "Texts of the board (not confirmed yet)") != 3 {
		t.Errorf("texts are confirmed too early, or too late")
	}
	if err != nil {
		t.Fatalf("%v\n%s%s", err, &v.shown, &v.out)
	}
	for _, want := range []string{
		"1 vouched for, 2 your own, 2 left",
		"anteroom: texts is missing",
		"want a number from 0 on",
		"Write this verification? [y/N]:",
	} {
		if !strings.Contains(v.shown.String(), want) {
			t.Errorf("it does not show %q", want)
		}
	}
	if files := v.files(); !slices.Equal(files, bothFiles) {
		t.Errorf("written are %q", files)
	}
	text, err := os.ReadFile(filepath.Join(v.content, board))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"verified_organic_agent_conversions: 1\n", "registrations_recorded: 3\n", "development_seed_and_test_records: 2\n", "originated_internally: 1\n",
		"named_clients: [claude, cursor]\n", "operations_monitored_through: 2027-02-01\n", "One came.\n", "what_changed: One client came.\n", "security_reports_received: 3\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the board does not hold %q", want)
		}
	}
	if t.Failed() {
		t.Logf("%s\n%s", &v.shown, text)
	}
}

// What is decided at a terminal is logged too, however often it was looked at before.
func TestVerifyLogAtTerminal(t *testing.T) {
	v := newVerification(t, "lark", "wren")
	v.beginLog()
	err := v.answer(
		"1", "1", "1", "known", "6", // lark: vouch
		"5", "1", "3", "1", "1", // texts
		"6", "n", "6", "y",
	)
	if err != nil {
		t.Fatalf("%v\n%s%s", err, &v.shown, &v.out)
	}
	if n := strings.Count(v.out.String(), "log: 4 entries, 4 of them new\n"); n != 2 {
		t.Errorf("%d summaries name the log:\n%s", n, &v.out)
	}
	if files := v.files(); !slices.Equal(files, allFiles) {
		t.Errorf("written are %q", files)
	}
	s, err := loadContent(v.content)
	if err != nil || s.Log.Size() != 4 || s.Log.Counts().Vouched != 1 {
		t.Errorf("the content is %v", err)
	}

	// Without the key nothing is asked.
	v.options.key.File = ""
	if err := v.answer(); err == nil || !strings.Contains(err.Error(), "name its file with --log-key-file") || v.shown.Len() > 0 {
		t.Errorf("without the key: %v, %s", err, &v.shown)
	}
}

// A content that has lost its log signs no other one in the place of what is published.
func TestVerifyLogLost(t *testing.T) {
	v := newVerification(t, "lark", "wren")
	v.beginLog()
	ask := []string{"1", "1", "1", "known", "6", "5", "1", "3", "1", "1", "6", "y"}
	if err := v.answer(ask...); err != nil {
		t.Fatalf("%v\n%s%s", err, &v.shown, &v.out)
	}
	s, err := loadContent(v.content)
	if err != nil {
		t.Fatal(err)
	}
	if err := publishLog(s.Log, filepath.Join(filepath.Dir(v.content), publicFolder)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(v.content, "log")); err != nil {
		t.Fatal(err)
	}
	if err := v.answer(ask...); !errors.Is(err, tlog.ErrAhead) || v.shown.Len() > 0 {
		t.Errorf("error %v, %s", err, &v.shown)
	}
}

// Charters and suggestions change sides in their lists.
func TestVerifyFilings(t *testing.T) {
	v := newVerification(t)
	for _, statement := range []string{
		`INSERT INTO charters VALUES (1, '0000000000000000000000000000000c', '2027-03-01T10:00:00Z', 'Tern & Co', NULL, '[]', '')`,
		`INSERT INTO suggestions VALUES (1, '0000000000000000000000000000000d', '2027-03-01T10:00:00Z', 'anonymous', 'idea', '` + strings.Repeat("e", 64) + `')`,
	} {
		if r := v.store.Exec(turn.Exec{Statements: []turn.Statement{{SQL: statement}}}); r.Failure != turn.None {
			t.Fatal(r.Failure)
		}
	}
	if err := v.answer("2", "1", "2", "3", "1", "1", "2", "7"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"  1  counted   2027-03-01  00000000…  \"Tern & Co\"\n", "  1  own       2027-03-01  00000000…  \"Tern & Co\"\n",
		"  1  external  2027-03-01  00000000…  idea, anonymous, text eeeeeeee…\n", "  1  own       2027-03-01  00000000…  idea, ",
	} {
		if !strings.Contains(v.shown.String(), want) {
			t.Errorf("it does not show %q:\n%s", want, &v.shown)
		}
	}
	answers, err := v.options.readDraft()
	if err != nil || len(answers.Charters) != 1 || answers.Charters[0].Decision != "own" || len(answers.Suggestions) != 1 || answers.Suggestions[0].Decision != "external" {
		t.Errorf("the draft: %+v, %v", answers, err)
	}
}

// Lines break between words, and nothing of them is lost.
func TestWrap(t *testing.T) {
	long := strings.Repeat("x", 100)
	for text, want := range map[string]string{
		"":                                "",
		"a  b\n\n c":                      "a  b\n\n c",
		strings.Repeat("é", 74):           strings.Repeat("é", 74),
		strings.Repeat("abcd ", 15) + "e": strings.TrimSpace(strings.Repeat("abcd ", 15)) + "\ne",
		"a " + long + " b":                "a\n" + long + "\nb",
	} {
		if got := wrap(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// An interrupt leaves a plain question at once.
func TestVerifyInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer errors.Join(r.Close(), w.Close())
	cancel()
	f := &form{ctx: ctx, lines: newForm(ctx, cli.New(r, nil, &bytes.Buffer{})).lines, out: &bytes.Buffer{}, plain: true}
	if _, err := f.confirm("Sure?"); err != errLeft {
		t.Errorf("interrupted: %v", err)
	}
}

// A draft that cannot be kept, or read, is said.
func TestVerifyDraft(t *testing.T) {
	o := &verifyOptions{content: t.TempDir()}
	if a, err := o.readDraft(); err != nil || a == nil {
		t.Errorf("none: %v", err)
	}
	if err := os.WriteFile(o.draft(), []byte("nothing: known"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := o.readDraft(); err == nil || !strings.Contains(err.Error(), "(mend or remove "+o.draft()+")") {
		t.Errorf("a wrong one: %v", err)
	}
	if err := errors.Join(o.keepDraft(&verification.Answers{}), o.keepDraft(&verification.Answers{Correction: "a"})); err != nil {
		t.Error(err)
	}
	if a, err := o.readDraft(); err != nil || a.Correction != "a" {
		t.Errorf("kept: %+v, %v", a, err)
	}
	before := disk.Sync
	t.Cleanup(func() { disk.Sync = before })
	disk.Sync = func(*os.File) error { return syscall.ENOSPC }
	if err := o.keepDraft(&verification.Answers{Correction: "b"}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("on a full disk: %v", err)
	}
	if a, err := o.readDraft(); err != nil || a.Correction != "a" {
		t.Errorf("on a full disk it became %+v, %v", a, err)
	}
}
