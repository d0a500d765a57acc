package verification

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
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
	"anteroom/generator/site"
	"anteroom/generator/tlog"
)

// service is a store and a content folder.
type service struct {
	*sqlite.Store
	t       testing.TB
	content fstest.MapFS
	key     *tlog.Key // that signs the log; nil if it has none
}

// day is after all days of the shipped content.
const day = "2027-03-01"

func newService(t testing.TB) *service {
	t.Helper()
	store, err := sqlite.Create(filepath.Join(t.TempDir(), sqlite.FileName), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *service) exec(statement string, args ...any) {
	s.t.Helper()
	if r := s.Store.Exec(turn.Exec{Statements: []turn.Statement{{SQL: statement, Args: args}}}); r.Failure != turn.None {
		s.t.Fatalf("%s: %s", statement, r.Failure)
	}
}

func hexSum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// id is the record_id of the n-th record that a test makes.
func id(n int) string { return fmt.Sprintf("%032x", n) }

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// register records a registration. at is a time of day, or a whole time.
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

func (s *service) site() *site.Site {
	s.t.Helper()
	loaded, err := site.Load(s.content)
	if err != nil {
		s.t.Fatal(err)
	}
	return loaded
}

// take surveys everything that is there at a time.
func (s *service) take(now string) *survey {
	s.t.Helper()
	pending, err := newSurvey(s.t.Context(), s.Store, s.site(), s.content, scope{}, moment(now))
	if err != nil {
		s.t.Fatal(err)
	}
	return pending
}

func answersOf(t testing.TB, text string) *answers {
	t.Helper()
	if !strings.Contains(text, "texts:") {
		text += "\ntexts: unchanged\n"
	}
	a, err := parseAnswers([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// try decides, and gives all faults.
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

// verify makes a verification at a time and puts it into the content. Its board must count want.
func (s *service) verify(now, answers string, want ...int) *site.Site {
	s.t.Helper()
	return s.put(s.take(now), answers, want...)
}

// put does the same for a survey. want are conversions, registrations, charters, suggestions and
// excluded records; without it any counts are right.
func (s *service) put(pending *survey, answers string, want ...int) *site.Site {
	s.t.Helper()
	decided, err := s.try(pending, answers)
	if err != nil {
		s.t.Fatal(err)
	}
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

func (s *service) audit() []string {
	s.t.Helper()
	found, err := Audit(s.t.Context(), s.Store, s.site())
	if err != nil {
		s.t.Fatal(err)
	}
	return append(found.Changed, found.Early...)
}

func TestLookAlikes(t *testing.T) {
	for _, c := range []struct {
		a, b  string
		alike bool
	}{
		{"lark", "LARK", true},
		{"led ger", "ledger", true},
		{"1edger", "ledger", true},
		{"modern", "rnodern", true},
		{"wren", "vvren", true},
		{"ﬁnch", "finch", true},
		{"tеrn", "tern", true}, // Cyrillic е
		{"tern\u200b", "tern", true},
		{"\u3164tern\u2800", "te\u115frn\uffa0\u034f", true},
		{"térn", "tern", true},
		{"lark", "larks", false},
		{"lark", "tern", false},
	} {
		if got := skeleton(c.a) == skeleton(c.b); got != c.alike {
			t.Errorf("%q and %q: alike is %v", c.a, c.b, got)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"lark", "lark", true},
		{"lark", "Lark", false},
		{"probe *", "probe 1", true},
		{"probe *", "probe", false},
		{"*", "", true},
		{"*ark", "lark", true},
		{"a*b*c", "a-b-b-c", true},
		{"a*b*c", "a-c-b", false},
		{"ab*ba", "aba", false},
		{"**", "x", true},
		{`a\*`, "a*", true},
		{`a\*`, "ab", false},
		{`*\*`, "lark*", true},
		{`*\*`, "lark", false},
	} {
		if got := like(c.pattern).MatchString(c.name); got != c.want {
			t.Errorf("%q and %q: %v", c.pattern, c.name, got)
		}
	}
}

// The audit names what is not as it was verified, and what is new beside it is verified by nobody.
func TestAudit(t *testing.T) {
	for _, c := range []struct{ name, change, want string }{
		{"nothing", "", ""},
		{"a row that is gone", "DELETE FROM registrations WHERE seq = 3", "registration number 3 is gone"},
		{"several", "DELETE FROM registrations WHERE seq IN (3, 4)", "registrations number 3 to 4 are gone"},
		{"the last one", "DELETE FROM registrations WHERE seq = 6", "registration number 6 is gone"},
		{"one that was vouched for", "DELETE FROM registrations WHERE seq = 2", " is gone or was changed"},
		{"all", "DELETE FROM registrations", "registrations number 1 to 4 are gone"},
		{"a name", "UPDATE registrations SET agent_name = 'larks' WHERE seq = 5", id(5) + " (number 5) was changed: its fields do not match its SHA-256"},
		{"a commitment", "UPDATE registrations SET payload_sha256 = '" + hexSum("") + "' WHERE seq = 2", " is gone or was changed"},
		{"a time", "UPDATE registrations SET recorded_at = '2027-03-01T10:00:09Z' WHERE seq = 1", "of the registrations number 1 to 4 at least one has changed"},
		{"a time of the second segment", "UPDATE registrations SET recorded_at = '2027-03-01T11:31:01Z' WHERE seq = 6", "verification " + day + "-2: of the registrations number 5 to 6 at least one has changed"},
		{"another identifier", "UPDATE registrations SET record_id = '" + id(99) + "' WHERE seq = 1", "of the registrations number 1 to 4 at least one has changed"},
		{"a number", "UPDATE registrations SET seq = 9 WHERE seq = 6", "registration number 6 is gone"},
		{"a charter", "UPDATE charters SET org_name = 'Lark' WHERE seq = 1", "charter " + id(20) + " (number 1) was changed"},
		{"a suggestion", "DELETE FROM suggestions", "suggestion number 1 is gone"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newService(t)
			for n := 1; n <= 4; n++ {
				s.register(n, "lark", "", fmt.Sprintf("10:00:%02d", n))
			}
			s.charter(20, "Tern", "[]", "10:00:00")
			s.suggest(21, "10:00:00")
			s.verify("11:00:00", "registrations: [{record_id: "+id(2)+", decision: vouch, reason: known}]")
			s.register(5, "lark", "", "11:30:00")
			s.register(6, "lark", "", "11:31:00")
			s.verify("12:00:00", "")
			s.register(7, "lark", "", "13:00:00")
			if c.change != "" {
				s.exec(c.change)
			}
			audited := s.audit()
			if all := strings.Join(audited, "\n"); !strings.Contains(all, c.want) || (len(audited) == 0) != (c.want == "") {
				t.Errorf("found\n%s\nwant %s", all, c.want)
			}
			found := s.take("14:00:00")
			reported := append(slices.Clone(found.broken), found.odd...)
			if slices.ContainsFunc(audited, func(f string) bool { return !slices.Contains(reported, f) }) {
				t.Errorf("the survey reports %q, and the audit %q", reported, audited)
			}
			if _, err := s.try(found, ""); (err != nil) != (len(found.broken) > 0) {
				t.Errorf("decided: %v", err)
			}
		})
	}
}

func TestNextOfDay(t *testing.T) {
	for name, want := range map[string]string{day: day + "-2", day + "-2": day + "-3", day + "-9": day + "-10", day + "-99": day + "-100"} {
		if got := nextOfDay(name); got != want {
			t.Errorf("after %s: %s", name, got)
		}
	}
}

// rows is SQL for registrations of many agents: from one number to another.
const rows = `WITH RECURSIVE n(i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i < %d)
	INSERT INTO registrations (record_id, recorded_at, agent_name, payload_sha256)
	SELECT printf('%%032x', i), strftime('%%Y-%%m-%%dT%%H:%%M:%%SZ', '2027-03-01', (i / 50) || ' seconds'), 'agent ' || (i %% %d), '%s' FROM n`

// A board is the one before it, with its comments, and what changes.
func TestBoard(t *testing.T) {
	s := newService(t)
	current := s.content["scoreboard/2026-11-20.yaml"]
	current.Data = append([]byte("# Mine.\n"), current.Data...)
	s.register(1, "lark", "", "10:00:00")
	loaded := s.verify("12:00:00", `
confirm: [observed_attention.named_clients]
numbers: {suggestions.originated_internally: 2, suggestions.shipped: 1, observed_attention.named_clients: [claude, "o'clock: x"], operations_monitored_through: 2027-02-28}
texts:
  observed_attention.honest_read: "One came: we do not know it."
  observed_attention.update.what_changed: "A client named itself: claude."
  observed_attention.update.one_ambiguous_read: None.
  orgs.offer_history: unchanged
`)
	board := loaded.Current()
	a := board.ObservedAttention
	last := a.Updates[len(a.Updates)-1]
	if a.HonestRead != "One came: we do not know it." || !slices.Equal(a.NamedClients, []string{"claude", "o'clock: x"}) || len(a.Updates) != 2 ||
		last.Date != day || last.WhatChanged != "A client named itself: claude." || board.MonitoredThrough != "2027-02-28" || board.AsOf != day ||
		board.Suggestions.OriginatedInternally != 2 || board.Suggestions.Shipped != 1 {
		t.Errorf("the board is %+v", board)
	}
	text := string(s.content[boardFile(day)].Data)
	if !strings.HasPrefix(text, "# Mine.\n") || !strings.Contains(text, "as_of: "+day+"\n") {
		t.Errorf("the board's file:\n%s", text)
	}
	// What is said of the day again takes the place of what was said before.
	s.register(2, "lark", "", "12:30:00")
	loaded = s.verify("13:00:00", `texts: {observed_attention.honest_read: unchanged, observed_attention.update.what_changed: Two.,
		observed_attention.update.one_ambiguous_read: None., "observed_attention.updates[1].what_changed": "A client named itself: claude."}`)
	if u := loaded.Current().ObservedAttention.Updates; len(u) != 2 || u[1].WhatChanged != "Two." {
		t.Errorf("the updates are %+v", u)
	}
	// Nothing changes but the day.
	s.verify("2027-03-02T12:00:00Z", "texts: {}")
	was, is := string(s.content[boardFile(day+"-2")].Data), string(s.content[boardFile("2027-03-02")].Data)
	if strings.ReplaceAll(strings.ReplaceAll(was, day, "D"), "2027-03-02", "D") != strings.ReplaceAll(strings.ReplaceAll(is, day, "D"), "2027-03-02", "D") {
		t.Errorf("the boards differ:\n%s\n%s", was, is)
	}
}

// FuzzParseAnswers holds that answers which are taken have one thing that each is about.
func FuzzParseAnswers(f *testing.F) {
	f.Add("registrations: [{agent_name: lark, decision: vouch, reason: it answered}]\ntexts: unchanged\n")
	f.Add("through: 2026-11-22T12:00:00Z\ncharters: [{org_name: Tern & Co, decision: own}]\nnumbers: {suggestions.shipped: 0, operations_monitored_through: 2026-11-22}\ntexts: {a: b}\ncorrection: c\n")
	f.Add("registrations: [{pubkey: \"*\", decision: own}, {record_id: 5b2f7d1f3e1a4c0b9a8d7c6b5a493827, earlier: true, decision: leave, reason: a}]")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := parseAnswers([]byte(text))
		if err != nil {
			return
		}
		for _, kind := range site.Kinds {
			for _, answer := range a.of(kind) {
				if answer.about() == "" || !slices.Contains(site.Choices[kind], answer.Decision) || strings.Contains(answer.Reason, "\n") {
					t.Fatalf("taken: %+v", answer)
				}
				like(answer.About["agent_name"])
			}
		}
	})
}

// BenchmarkSurvey surveys a store of a million registrations.
func BenchmarkSurvey(b *testing.B) {
	s := newService(b)
	s.exec(fmt.Sprintf(rows, 1, 1_000_000, 600_000, hexSum("")))
	loaded := s.site()
	b.ReportAllocs()
	for b.Loop() {
		pending, err := newSurvey(b.Context(), s.Store, loaded, s.content, scope{}, moment("12:00:00"))
		if err != nil || len(pending.kinds[0].fresh) != 1_000_000 {
			b.Fatal(err)
		}
		if text := pending.template(); len(text) > maxAnswers {
			b.Fatal(len(text))
		}
	}
}

// TestUndo: a verification that is public, or may be, is not taken back.
func TestUndo(t *testing.T) {
	s := newService(t)
	s.register(1, "lark", "", "2026-12-01T10:00:00Z")
	loaded := s.verify("2026-12-01T12:00:00Z", `registrations: [{agent_name: lark, decision: leave}]`)
	folder := t.TempDir()
	if err := os.CopyFS(folder, s.content); err != nil {
		t.Fatal(err)
	}
	files := filesOf(loaded.Current().File)[:2] // it has no log
	there := func() (n int) {
		for _, file := range files {
			if _, err := os.Stat(inside(folder, file)); err == nil {
				n++
			}
		}
		return n
	}
	var said bytes.Buffer
	terminal := cli.New(strings.NewReader(""), &said, &said)
	terminal.Now = func() time.Time { return moment("2026-12-01T13:00:00Z") }
	for _, c := range []struct {
		facts continuity.Facts
		err   error
		want  string
	}{
		{err: live.ErrUnreachable, want: "the service is unreachable"},
		{facts: continuity.FromSite(loaded), want: " is public, in https://www.anteroom.example ("},
		{err: live.ErrNothing},
	} {
		err := Undo(t.Context(), terminal, &Options{
			Content: folder, Public: t.TempDir(),
			Live: func(context.Context) (continuity.Facts, error) { return c.facts, c.err },
		})
		left := map[bool]int{true: 0, false: len(files)}[c.want == ""]
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || there() != left {
			t.Errorf("%v: %v, %d files are left", c.err, err, there())
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
		{facts: continuity.Facts{Documents: map[string]string{"/scoreboard/2027-01-01.json": "", "/gone.html": ""}}, want: "content is older than https://www.anteroom.example: /scoreboard/2027-01-01.json is published, and would vanish ("},
		{facts: continuity.Facts{AsOf: "2027-01-01"}, want: "/scoreboard.json has the date 2027-01-01, and would have \"2026-11-20\""},
		{err: live.ErrUnreachable, want: "the service is unreachable; --offline verifies without asking the live service"},
		{err: live.ErrUnreachable, offline: true},
		{err: live.ErrNothing},
		{facts: continuity.Facts{Documents: map[string]string{"/gone.html": ""}, Keys: []string{"other"}}},
		{facts: continuity.FromSite(s), public: true},
	} {
		o.Offline = c.offline
		o.Live = func(context.Context) (continuity.Facts, error) { return c.facts, c.err }
		found, err := o.Compare(t.Context(), s)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || found != (Published{ByService: c.public}) {
			t.Errorf("%+v: %+v, %v", c, found, err)
		}
	}
}
