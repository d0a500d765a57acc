package verification

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/continuity"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/content"
	"anteroom/edge/canon"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/turn"
	"anteroom/generator/contract"
	"anteroom/generator/site"
	"anteroom/generator/tlog"
)

type service struct {
	*sqlite.Store
	t       testing.TB
	content fstest.MapFS
	key     *tlog.Key       // that signs the log; nil if it has none
	shown   map[string]bool // lines of templates
}

func check(t testing.TB, faults ...error) {
	t.Helper()
	for _, err := range faults {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// day is after all days of the shipped content.
const day = "2027-03-01"

func newService(t testing.TB) *service {
	t.Helper()
	store, err := sqlite.Create(filepath.Join(t.TempDir(), sqlite.FileName), slog.New(slog.DiscardHandler))
	check(t, err)
	t.Cleanup(func() { store.Close() })
	s := &service{Store: store, t: t, content: fstest.MapFS{}}
	err = fs.WalkDir(content.Files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			var text []byte
			text, err = fs.ReadFile(content.Files, path)
			s.content[path] = &fstest.MapFile{Data: text}
		}
		return err
	})
	check(t, err)
	s.read("The numbers say what came.")
	return s
}

// read writes the honest read of the current board.
func (s *service) read(text string) {
	boards, err := fs.Glob(s.content, boardFile("*"))
	check(s.t, err)
	file := s.content[boards[len(boards)-1]]
	file.Data = regexp.MustCompile(`(?m)^  honest_read: .*$`).ReplaceAll(file.Data, []byte("  honest_read: "+text))
}

func (s *service) exec(statement string, args ...any) {
	s.t.Helper()
	if _, err := s.Write(s.t.Context(), turn.Statement{SQL: statement, Args: args}); err != nil {
		s.t.Fatalf("%s: %v", statement, err)
	}
}

func hexSum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func id(n int) string { return fmt.Sprintf("%032x", n) }

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (s *service) register(n int, name, key, at string) {
	s.t.Helper()
	s.exec("INSERT INTO registrations (record_id, recorded_at, agent_name, pubkey, payload_sha256) VALUES (?, ?, ?, ?, ?)",
		id(n), when(at), orNull(name), orNull(key), hexSum(canon.Registration(name, key)))
}

func (s *service) charter(n int, name, roster, at string) {
	s.t.Helper()
	s.exec("INSERT INTO charters (record_id, recorded_at, org_name, commissioner, roster, payload_sha256) VALUES (?, ?, ?, NULL, ?, ?)",
		id(n), when(at), name, roster, hexSum(canon.Charter(name, "", roster)))
}

func (s *service) suggest(n int, at string) {
	s.t.Helper()
	s.exec("INSERT INTO suggestions (record_id, filed_at, filed_as, kind, text_sha256) VALUES (?, ?, 'anonymous', 'idea', ?)", id(n), when(at), hexSum(at))
}

func when(at string) string {
	if len(at) == len("12:00:00") {
		return day + "T" + at + "Z"
	}
	return at
}

func moment(at string) time.Time {
	t, err := time.Parse(time.RFC3339, when(at))
	if err != nil {
		panic(err)
	}
	return t
}

// loaded are the sites of all services, by the hashes of their content.
var loaded = map[[sha256.Size]byte]site.Site{}

func (s *service) site() *site.Site {
	s.t.Helper()
	hash := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(s.content)) {
		fmt.Fprintf(hash, "%s %q", name, s.content[name].Data)
	}
	at := [sha256.Size]byte(hash.Sum(nil))
	found, known := loaded[at]
	if !known {
		now, err := site.Load(s.content)
		check(s.t, err)
		found, loaded[at] = *now, *now
	}
	return &found
}

func (s *service) take(now string) *survey {
	s.t.Helper()
	pending, err := newSurvey(s.t.Context(), s.Store, s.site(), s.content, scope{}, moment(now))
	check(s.t, err)
	return pending
}

func answersOf(t testing.TB, text string) *answers {
	t.Helper()
	if strings.TrimSpace(text) == "" {
		text = "texts: {}"
	}
	a, err := parseAnswers("f", []byte(text))
	check(t, err)
	return a
}

func (s *service) try(pending *survey, answers string) (*decided, error) {
	s.t.Helper()
	a := answersOf(s.t, answers)
	if a.Through == "" {
		a.Through = pending.through
	}
	return s.decide(pending, a)
}

func (s *service) decide(pending *survey, a *answers) (*decided, error) {
	if s.key == nil {
		return pending.decide(a, nil)
	}
	return pending.decide(a, s.key)
}

func (s *service) verify(now, answers string, want ...int) *site.Site {
	s.t.Helper()
	return s.put(s.take(now), answers, want...)
}

func (s *service) put(pending *survey, answers string, want ...int) *site.Site {
	s.t.Helper()
	decided, err := s.try(pending, answers)
	check(s.t, err)
	for _, file := range decided.files {
		s.content[file.name] = &fstest.MapFile{Data: file.text}
	}
	var got []int
	for i := range want {
		got = append(got, site.Numbers[i].Of(decided.site.Current()))
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("the board counts %v, want %v", got, want)
	}
	return decided.site
}

func summaryOf(p *survey, d *decided) (text string) {
	p.summary(d, func(_ bool, line string) { text += line + "\n" })
	return text
}

func TestMatches(t *testing.T) {
	for pattern, names := range map[string][2]string{ // one that matches, one that does not
		"lark": {"lark", "Lark"}, "probe *": {"probe 1", "probe"}, "*ark": {"lark", "larks"},
		"a*b*c": {"a-b-b-c", "a-c-b"}, "ab*ba": {"abba", "aba"}, `a\*`: {"a*", "ab"}, `*\*`: {"lark*", "lark"},
	} {
		if like(pattern).MatchString(names[1]) || !like(pattern).MatchString(names[0]) {
			t.Errorf("%q does not tell %q from %q", pattern, names[0], names[1])
		}
	}
}

func TestNextOfDay(t *testing.T) {
	for name, want := range map[string]string{day: day + "-2", day + "-2": day + "-3", day + "-9": day + "-10", day + "-99": day + "-100"} {
		if got := nextOfDay(name); got != want {
			t.Errorf("after %s: %s", name, got)
		}
	}
}

const rows = `WITH RECURSIVE n(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i < %d)
	INSERT INTO registrations (record_id, recorded_at, agent_name, payload_sha256)
	SELECT printf('%%032x', i), strftime('%%Y-%%m-%%dT%%H:%%M:%%SZ', '2027-03-01', (i / 50) || ' seconds'), 'agent ' || (i %% %d), '%s' FROM n`

// FuzzParseAnswers holds that answers which are taken have one thing that each is about.
func FuzzParseAnswers(f *testing.F) {
	f.Add("registrations: [{agent_name: lark, decision: vouch, reason: it answered}]\n")
	f.Add("through: 2026-11-22T12:00:00Z\ncharters: [{org_name: Tern & Co, decision: own}]\nnumbers: {suggestions.shipped: 0, operations_monitored_through: 2026-11-22}\ntexts: {a: b}, what_changed: a\ncorrection: c\n")
	f.Add("registrations: [{pubkey: \"*\", decision: own}, {record_id: 5b2f7d1f3e1a4c0b9a8d7c6b5a493827, earlier: true, decision: leave, reason: a}]")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parseAnswers("f", []byte(text))
		if err != nil {
			return
		}
		for _, kind := range site.Kinds {
			for _, answer := range a.of(kind) {
				if answer.String() == "" || !slices.Contains(site.Choices[kind], answer.Decision) || strings.Contains(answer.Reason, "\n") {
					t.Fatalf("taken: %+v", answer)
				}
				like(answer.AgentName)
			}
		}
	})
}

// TestUndo: a verification that is public, or may be, is not taken back. The folder of documents
// alone does not make it public.
func TestUndo(t *testing.T) {
	s := newService(t)
	s.register(1, "lark", "", "2026-12-01T10:00:00Z")
	loaded := s.verify("2026-12-01T12:00:00Z", `registrations: [{agent_name: lark, decision: leave}]`)
	folder, public := t.TempDir(), t.TempDir()
	check(t, os.CopyFS(folder, s.content))
	name := loaded.Current().File
	if err := errors.Join(os.Mkdir(filepath.Join(public, "scoreboard"), 0o777),
		os.WriteFile(filepath.Join(public, "scoreboard", name+".json"), contract.BoardDocument(loaded.Current()), 0o666)); err != nil {
		t.Fatal(err)
	}
	files := filesOf(name)[2:] // it has no log
	there := func() (n int) {
		for _, file := range files {
			if _, err := os.Stat(filepath.Join(folder, file.name)); err == nil {
				n++
			}
		}
		return n
	}
	var said bytes.Buffer
	terminal := cli.New(strings.NewReader(""), &said, &said)
	terminal.Now = func() time.Time { return moment("2026-12-01T13:00:00Z") }
	for _, c := range []struct {
		facts   continuity.Facts
		err     error
		offline bool
		commit  string
		known   bool
		want    string
	}{
		{err: live.ErrUnreachable, want: "the service is unreachable"},
		{facts: continuity.FromSite(loaded), want: "undo: 2026-12-01 is live (anteroom publish --correct corrects it)"},
		{err: live.ErrNothing, commit: "abc123", known: true, want: "undo: 2026-12-01 is committed, in abc123 (if that is neither pushed nor live, take the commit back with git first; otherwise"},
		{offline: true, want: "undo: 2026-12-01 is in " + public + ", and may be public (leave out --no-live to ask the service)"},
		{err: live.ErrNothing},
	} {
		withdraw, err := Undo(t.Context(), terminal, &Options{
			Content: folder, Public: public, Offline: c.offline,
			Live:      func(context.Context, *site.Site) (continuity.Facts, error) { return c.facts, c.err },
			Committed: func(context.Context, string) (string, bool, error) { return c.commit, c.known, nil },
		})
		left := map[bool]int{true: 0, false: len(files)}[c.want == ""]
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || there() != left || withdraw != (c.want == "") {
			t.Errorf("%+v: %v, %v, %d files are left", c, withdraw, err, there())
		}
	}
}

// Content that is behind what is published is refused. Where the service cannot be asked, the
// operator says so.
func TestCompare(t *testing.T) {
	s := newService(t).site()
	o := &Options{Content: "content", Public: t.TempDir()}
	for _, c := range []struct {
		facts   continuity.Facts
		err     error
		offline bool
		public  bool
		want    string
	}{
		{facts: continuity.Facts{Documents: map[string]string{"/scoreboard/2027-01-01.json": "", "/gone.html": ""}}, want: "content is older than the live service: /scoreboard/2027-01-01.json is published, and would vanish ("},
		{err: live.ErrUnreachable, want: "the service is unreachable; --no-live does not ask the live service"},
		{err: live.ErrUnreachable, offline: true},
		{err: live.ErrNothing},
		{facts: continuity.Facts{Documents: map[string]string{"/gone.html": ""}, Keys: []string{"other"}}},
		{facts: continuity.FromSite(s), public: true},
	} {
		o.Offline = c.offline
		o.Live = func(context.Context, *site.Site) (continuity.Facts, error) { return c.facts, c.err }
		found, err := o.Compare(t.Context(), s)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || found != (Published{ByService: c.public}) {
			t.Errorf("%+v: %+v, %v", c, found, err)
		}
	}
}

// A file of answers that is made in the second in which the last verification ended is of a later
// one, so that its answers are not taken for the last ones.
func TestAfterLast(t *testing.T) {
	s := &site.Site{Verifications: []site.Verification{{Through: "2026-11-20T12:00:00Z"}}}
	last, began := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), time.Now()
	clock := func() time.Time { return last.Add(time.Since(began)).In(time.FixedZone("far away", -12*60*60)) }
	if got := afterLast(s, clock); got.Before(last.Add(time.Second)) {
		t.Errorf("got %s after %s", got, last)
	}
}
