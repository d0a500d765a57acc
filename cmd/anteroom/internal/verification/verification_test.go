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
func (s *service) take(now string) *Pending {
	s.t.Helper()
	pending, err := Survey(s.t.Context(), s.Store, s.site(), s.content, Scope{}, moment(now))
	if err != nil {
		s.t.Fatal(err)
	}
	return pending
}

func answersOf(t testing.TB, text string) *Answers {
	t.Helper()
	if !strings.Contains(text, "texts:") {
		text += "\ntexts: unchanged\n"
	}
	a, err := ParseAnswers([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// try decides, and gives all faults.
func (s *service) try(pending *Pending, answers string) (*Decided, error) {
	s.t.Helper()
	a := answersOf(s.t, answers)
	if a.Through == "" {
		a.Through = pending.Through
	}
	if s.key == nil {
		return pending.Decide(a, nil)
	}
	return pending.Decide(a, s.key)
}

// verify makes a verification at a time and puts it into the content.
func (s *service) verify(now, answers string) *site.Site {
	s.t.Helper()
	return s.put(s.take(now), answers)
}

func (s *service) put(pending *Pending, answers string) *site.Site {
	s.t.Helper()
	decided, err := s.try(pending, answers)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, file := range decided.Files {
		s.content[file.Name] = &fstest.MapFile{Data: file.Text}
	}
	return decided.Site
}

func summaryOf(p *Pending, d *Decided) (text string) {
	p.summary(d, func(_ bool, line string) { text += line + "\n" })
	return text
}

// counts are conversions, registrations, charters, suggestions and excluded records of the current
// board.
func counts(s *site.Site) (list [5]int) {
	for i := range list {
		list[i] = site.Numbers[i].Of(s.Current())
	}
	return list
}

func (s *service) wantCounts(loaded *site.Site, want [5]int) {
	s.t.Helper()
	if got := counts(loaded); got != want {
		s.t.Errorf("the board counts %v, want %v", got, want)
	}
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

// One agent is one conversion in however many verifications it is vouched for, until that is taken
// back.
func TestConversions(t *testing.T) {
	s := newService(t)
	s.register(1, "lark", "", "10:00:00")
	s.register(2, "lark", "", "10:00:01")
	s.register(3, "", "a key", "10:00:02")
	s.charter(4, "Tern & Co", `[{"agent_name":"tern"}]`, "10:00:03")
	s.suggest(5, "10:00:04")
	vouch := "registrations: [{agent_name: lark, decision: vouch, reason: it answered}]"
	s.wantCounts(s.verify("12:00:00", vouch), [5]int{1, 3, 1, 1, 0})

	s.register(6, "lark", "", "13:00:00")
	survey := s.take("14:00:00")
	if a := survey.kinds[0].subjects[0]; a.vouched != survey.kinds[0].byID[id(1)].hash || len(a.Earlier) != 2 {
		t.Errorf("the survey forgot: %+v", a)
	}
	if survey.Name != day+"-2" || len(survey.kinds[0].fresh) != 1 || len(survey.kinds[1].fresh) != 0 {
		t.Errorf("verification %s", survey.Name)
	}
	loaded := s.put(survey, vouch)
	s.wantCounts(loaded, [5]int{1, 4, 1, 1, 0})
	if loaded.Current().File != day+"-2" {
		t.Errorf("%s is current", loaded.Current().File)
	}

	// One of the three is the operator's, the others stay. The board says why a number fell.
	loaded = s.verify("15:00:00", "registrations: [{record_id: "+id(1)+", decision: own, reason: it was a try}]\ncorrection: A try was counted.")
	s.wantCounts(loaded, [5]int{1, 3, 1, 1, 1})
	if c := loaded.Current().Corrections; len(c) != 1 || c[0].Number != "pilot_waitlist.registrations_recorded" || c[0].Was != 4 || c[0].Board != day+"-2" || c[0].Reason != "A try was counted." {
		t.Errorf("the corrections are %+v", c)
	}
	if name := loaded.Current().File; name != day+"-3" {
		t.Errorf("%s is current", name)
	}
	// The vouch is taken back, and the correction of the board before does not stay.
	loaded = s.verify("2027-03-02T12:00:00Z", "registrations: [{agent_name: lark, earlier: true, decision: leave, reason: it was somebody else}]\ncorrection: one agent was another")
	s.wantCounts(loaded, [5]int{0, 4, 1, 1, 0})
	if c := loaded.Current().Corrections; len(c) != 2 || c[0].Number != "pilot_waitlist.verified_organic_agent_conversions" || c[1].Number != "excluded_from_counts.development_seed_and_test_records" || c[1].Reason != "one agent was another" {
		t.Errorf("the corrections are %+v", c)
	}
	var corrects []string
	for _, d := range loaded.Verifications[len(loaded.Verifications)-1].Decisions {
		corrects = append(corrects, d.Corrects)
	}
	slices.Sort(corrects)
	if !slices.Equal(corrects, []string{day, day + "-2"}) {
		t.Errorf("it corrects %q", corrects)
	}
	// Charters and suggestions are set apart by themselves.
	loaded = s.verify("2027-03-03T12:00:00Z", "charters: [{record_id: "+id(4)+", decision: own, reason: mine}]\nsuggestions: [{record_id: "+id(5)+", decision: own, reason: mine}]\ncorrection: c")
	s.wantCounts(loaded, [5]int{0, 4, 0, 0, 2})
	if found := s.audit(); len(found) > 0 {
		t.Errorf("the audit finds %q", found)
	}
	for name, file := range s.content {
		if text := string(file.Data); strings.HasPrefix(name, "verifications/") && (strings.Contains(text, "lark") || strings.Contains(text, "Tern") || strings.Contains(text, "a key")) {
			t.Errorf("%s holds a name:\n%s", name, text)
		}
	}
}

// A write that was committed a little after its time is counted once, in the next verification, and
// is told from one that was slipped in.
func TestLateWrites(t *testing.T) {
	s := newService(t)
	s.register(1, "lark", "", "11:59:00")
	s.register(2, "lark", "", "12:00:30")
	s.register(3, "lark", "", "11:59:59")
	survey, err := Survey(t.Context(), s.Store, s.site(), s.content, Scope{Through: moment("12:00:00")}, moment("12:01:00"))
	if err != nil {
		t.Fatal(err)
	}
	s.wantCounts(s.put(survey, ""), [5]int{0, 1, 0, 0, 0})
	s.register(4, "lark", "", "11:59:58")
	s.wantCounts(s.verify("13:00:00", ""), [5]int{0, 4, 0, 0, 0})
	if found := s.audit(); len(found) > 0 {
		t.Errorf("late writes are found: %q", found)
	}
	s.register(5, "lark", "", "12:57:59")
	if found := s.audit(); len(found) != 1 || !strings.Contains(found[0], id(5)+" (number 5) came in after the verification "+day+"-2") {
		t.Errorf("what was slipped in: %q", found)
	}
	// Once it was verified, after a warning, it is noted, and keeps nothing from being verified.
	survey = s.take("14:00:00")
	if len(survey.Odd) != 1 || !strings.Contains(survey.Odd[0], "(number 5) came in after") {
		t.Errorf("the warning: %q", survey.Odd)
	}
	s.wantCounts(s.put(survey, ""), [5]int{0, 5, 0, 0, 0})
	found, err := Audit(t.Context(), s.Store, s.site())
	if err != nil || len(found.Changed)+len(found.Early) > 0 || len(found.Notes) != 1 || !strings.Contains(found.Notes[0], "(number 5) came in after") {
		t.Errorf("after that: %+v, %v", found, err)
	}
	s.wantCounts(s.verify("15:00:00", ""), [5]int{0, 5, 0, 0, 0})
}

// The audit names what is not as it was verified, and what is new beside it is verified by nobody.
func TestAudit(t *testing.T) {
	for _, c := range []struct{ name, change, want string }{
		{"nothing", "", ""},
		{"a row that is gone", "DELETE FROM registrations WHERE seq = 3", "registration number 3 is gone"},
		{"several", "DELETE FROM registrations WHERE seq IN (3, 4)", "registrations number 3 to 4 are gone"},
		{"the last one", "DELETE FROM registrations WHERE seq = 6", "registration number 6 is gone"},
		{"one that was vouched for", "DELETE FROM registrations WHERE seq = 2", " is gone or was changed, which was verified"},
		{"all", "DELETE FROM registrations", "registrations number 1 to 4 are gone"},
		{"a name", "UPDATE registrations SET agent_name = 'larks' WHERE seq = 5", id(5) + " (number 5) was changed: its commitment is not that of what it says"},
		{"a commitment", "UPDATE registrations SET payload_sha256 = '" + hexSum("") + "' WHERE seq = 2", " is gone or was changed, which was verified"},
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
			found := s.audit()
			if all := strings.Join(found, "\n"); !strings.Contains(all, c.want) || (len(found) == 0) != (c.want == "") {
				t.Errorf("found\n%s\nwant %s", all, c.want)
			}
			survey := s.take("14:00:00")
			said := append(slices.Clone(survey.Broken), survey.Odd...)
			if slices.ContainsFunc(found, func(f string) bool { return !slices.Contains(said, f) }) {
				t.Errorf("the survey says %q, and the audit %q", said, found)
			}
			if _, err := s.try(survey, ""); (err != nil) != (len(survey.Broken) > 0) {
				t.Errorf("decided: %v", err)
			}
		})
	}
}

func TestSurveyRefuses(t *testing.T) {
	s := newService(t)
	refused := func(ctx context.Context, want string) {
		t.Helper()
		_, err := Survey(ctx, s.Store, s.site(), s.content, Scope{}, moment("12:00:00"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
	s.exec("INSERT INTO registrations VALUES (1, 'none', '2027-03-01T10:00:00Z', 'a', NULL, '')")
	if survey := s.take("12:00:00"); !strings.Contains(survey.Odd[0], `record_id "none"`) {
		t.Errorf("no record_id: %q", survey.Odd)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	refused(canceled, "canceled")
	s.exec("UPDATE store SET host = 'www.tern.example'")
	refused(t.Context(), "this store is of the service www.tern.example, and the content of www.anteroom.example")
	s.exec("DELETE FROM store")
	refused(t.Context(), "read store identifier: got 0 rows")
}

// What is odd about new records is said, and does not keep them from being verified.
func TestOdd(t *testing.T) {
	s := newService(t)
	s.register(1, "lark", "", "10:00:00")
	s.register(2, "lark", "", "23:00:00") // by a clock that was ahead
	s.register(3, "lark", "", "10:00:01")
	s.exec("DELETE FROM registrations WHERE seq = 1")
	s.exec("INSERT INTO registrations SELECT 4, record_id, recorded_at, agent_name, pubkey, payload_sha256 FROM registrations WHERE seq = 3")
	survey := s.take("12:00:00")
	want := []string{
		"the time of 1 registration is to come: the clock of the host was ahead", "registration number 1 is gone",
		"registration " + id(3) + " (number 4) is in the store twice",
	}
	if !slices.Equal(survey.Odd, want) || len(survey.Broken) > 0 {
		t.Errorf("odd: %q, broken: %q", survey.Odd, survey.Broken)
	}
	s.exec("DELETE FROM registrations WHERE seq = 4")
	s.wantCounts(s.verify("12:00:00", ""), [5]int{0, 2, 0, 0, 0})
	if found := s.audit(); len(found) > 0 {
		t.Errorf("the audit finds %q", found)
	}
	// It stays covered, also if a time before it is named.
	s.register(5, "lark", "", "12:30:00")
	survey, err := Survey(t.Context(), s.Store, s.site(), s.content, Scope{Through: moment("13:00:00")}, moment("14:00:00"))
	if err != nil || len(survey.Broken)+len(survey.Odd) > 0 {
		t.Fatalf("%v, %+v", err, survey)
	}
	s.wantCounts(s.put(survey, ""), [5]int{0, 3, 0, 0, 0})
	s.exec("INSERT INTO registrations SELECT 0, '" + id(9) + "', recorded_at, agent_name, pubkey, payload_sha256 FROM registrations WHERE seq = 3")
	if found := s.audit(); len(found) == 0 || !strings.Contains(found[0], "has the number 0, which no record gets") {
		t.Errorf("a number below 1: %q", found)
	}
}

// Records that are lost for good are said to be, and what is left is verified from then on.
func TestLost(t *testing.T) {
	s := newService(t)
	for n, name := range []string{"lark", "owl", "probe", "tern"} {
		s.register(n+1, name, "", "10:00:0"+fmt.Sprint(n))
	}
	s.wantCounts(s.verify("11:00:00", "registrations: [{agent_name: lark, decision: vouch, reason: r}, {agent_name: owl, decision: vouch, reason: r}, {agent_name: probe, decision: own}]"), [5]int{2, 3, 0, 0, 1})
	if _, err := s.try(s.take("11:30:00"), "lost: a disk"); err == nil || !strings.Contains(err.Error(), "all records are as they were verified") {
		t.Errorf("nothing is lost: %v", err)
	}
	s.exec("DELETE FROM registrations WHERE seq >= 2")
	s.register(9, "newcomer", "", "11:40:00") // its number was one before
	if _, err := s.try(s.take("12:00:00"), ""); err == nil || !strings.Contains(err.Error(), "lost: REASON") {
		t.Errorf("a loss that is not said: %v", err)
	}
	loaded := s.verify("12:00:00", "lost: a disk")
	s.wantCounts(loaded, [5]int{1, 2, 0, 0, 0})
	if c := loaded.Current().Corrections; len(c) != 3 || c[0].Was != 2 || c[1].Reason != "3 verified registrations lost: a disk" {
		t.Errorf("the board says of it %+v", c)
	}
	if found := s.audit(); len(found) > 0 {
		t.Errorf("after that the audit finds %q", found)
	}
	s.register(3, "lark", "", "12:30:00")
	s.wantCounts(s.verify("13:00:00", "registrations: [{agent_name: lark, decision: vouch, reason: again}, {agent_name: newcomer, earlier: true, decision: own, reason: mine}]"), [5]int{1, 2, 0, 0, 1})
	verifications := s.site().Verifications
	if d := verifications[len(verifications)-1].Decisions; len(d) != 2 || d[1].Corrects != day+"-2" {
		t.Errorf("it corrects a verification whose coverage counts no more: %+v", d)
	}
	s.exec("DELETE FROM registrations WHERE seq = 1")
	if found := s.audit(); len(found) != 2 || !strings.Contains(found[0], "registration number 1 is gone") {
		t.Errorf("another loss: %q", found)
	}
}

// A store that was restored from a backup gives numbers again. What it recorded since is new, and
// is decided as such. What was verified and is gone is published, also if no number falls.
func TestRestored(t *testing.T) {
	for _, c := range []struct {
		since []string // who registers after the restore
		want  [5]int
		audit string
	}{
		{[]string{"tern-1", "tern-2", "hen"}, [5]int{1, 3, 0, 0, 2}, "registrations number 3 to 4 hold other records than were verified: the store was restored from before " + day + "T11:00:00Z"},
		{[]string{"hen", "owl"}, [5]int{1, 4, 0, 0, 0}, "registrations number 3 to 4 hold other records than were verified: the store was restored from before " + day + "T11:00:00Z"},
		{[]string{"hen"}, [5]int{1, 3, 0, 0, 0}, "registration number 3 holds another record than was verified: the store was restored from before " + day + "T11:00:00Z\nregistration number 4 is gone"},
		{nil, [5]int{1, 2, 0, 0, 0}, "registrations number 3 to 4 are gone"},
	} {
		s := newService(t)
		s.content["service.yaml"].Data = bytes.Replace(s.content["service.yaml"].Data, []byte("own_names: []"), []byte(`own_names: ["tern-*"]`), 1)
		for n := 1; n <= 4; n++ {
			s.register(n, fmt.Sprint("lark ", n), "", "10:00:00")
		}
		s.wantCounts(s.verify("11:00:00", "registrations: [{agent_name: lark 1, decision: vouch, reason: r}]"), [5]int{1, 4, 0, 0, 0})
		s.exec("DELETE FROM registrations WHERE seq > 2")
		for n, name := range c.since {
			s.register(n+10, name, "", "12:00:00")
		}
		if found := strings.ReplaceAll(strings.Join(s.audit(), "\n"), "verification "+day+": ", ""); found != c.audit {
			t.Errorf("%v: the audit finds\n%s\nwant\n%s", c.since, found, c.audit)
		}
		survey := s.take("13:00:00")
		decided, err := s.try(survey, "lost: a disk")
		if err != nil {
			t.Fatal(err)
		}
		if summary := summaryOf(survey, decided); !strings.Contains(summary, fmt.Sprintf("registrations: %d in the store, %d new since", 2+len(c.since), len(c.since))) {
			t.Errorf("%v:\n%s", c.since, summary)
		}
		loaded := s.put(survey, "lost: a disk")
		s.wantCounts(loaded, c.want)
		if l := loaded.Current().Corrections; len(l) != 1 || l[0].Was != 4 || l[0].Reason != "2 verified registrations lost: a disk" {
			t.Errorf("%v: the board says %+v", c.since, l)
		}
		if found := s.audit(); len(found) > 0 {
			t.Errorf("%v: after that the audit finds %q", c.since, found)
		}
		s.register(20, "finch", "", "13:30:00")
		if list := s.take("14:00:00").kinds[0].fresh; len(list) != 1 || list[0].ID != id(20) {
			t.Errorf("%v: new after that: %+v", c.since, list)
		}
	}
}

// What came after a template was made waits, whatever number it has.
func TestRestoredThrough(t *testing.T) {
	s := newService(t)
	s.register(1, "lark", "", "10:00:00")
	s.register(2, "owl", "", "10:00:00")
	s.verify("11:00:00", "")
	s.exec("DELETE FROM registrations WHERE seq = 2")
	s.register(3, "hen", "", "12:00:01") // with the number of one that was verified
	s.register(4, "wren", "", "11:59:00")
	survey, err := Survey(t.Context(), s.Store, s.site(), s.content, Scope{Through: moment("12:00:00")}, moment("13:00:00"))
	if err != nil {
		t.Fatal(err)
	}
	s.wantCounts(s.put(survey, "lost: a disk"), [5]int{0, 1, 0, 0, 0})
	s.wantCounts(s.verify("14:00:00", ""), [5]int{0, 3, 0, 0, 0})
}

// A store that is gone for good is replaced by another one, and its loss is published.
func TestNewStore(t *testing.T) {
	s := newService(t)
	s.register(1, "lark", "", "10:00:00")
	s.register(2, "owl", "", "10:00:00")
	s.charter(3, "Tern", "[]", "10:00:00")
	if _, err := Survey(t.Context(), s.Store, s.site(), s.content, Scope{NewStore: true}, moment("11:00:00")); err == nil || !strings.Contains(err.Error(), "leave --new-store out") {
		t.Errorf("before any store was verified: %v", err)
	}
	s.verify("11:00:00", "registrations: [{agent_name: lark, decision: vouch, reason: r}]")
	verifications := s.site().Verifications
	before := verifications[len(verifications)-1].Store
	s.exec("DELETE FROM registrations")
	s.exec("DELETE FROM charters")
	s.exec("UPDATE store SET id = 'another'")
	s.register(4, "hen", "", "10:30:00") // also of a time before
	survey, err := Survey(t.Context(), s.Store, s.site(), s.content, Scope{NewStore: true}, moment("12:00:00"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.try(survey, ""); err == nil || !strings.Contains(err.Error(), "store "+before+" is gone, with everything that was verified") {
		t.Errorf("without a reason: %v", err)
	}
	loaded := s.put(survey, "lost: a disk")
	s.wantCounts(loaded, [5]int{0, 1, 0, 0, 0})
	var said []string
	for _, c := range loaded.Current().Corrections {
		said = append(said, c.Reason)
	}
	if want := []string{"verified records lost: a disk", "2 verified registrations lost: a disk", "1 verified charter lost: a disk"}; !slices.Equal(said, want) {
		t.Errorf("the board says %q", said)
	}
	if found := s.audit(); len(found) > 0 {
		t.Errorf("the audit finds %q", found)
	}
	s.exec("UPDATE store SET id = '" + before + "'")
	if _, err := Audit(t.Context(), s.Store, s.site()); err == nil || !strings.Contains(err.Error(), "the verifications are of store another") {
		t.Errorf("the store before: %v", err)
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

// A walk goes through more records than are read at once.
func TestManyRecords(t *testing.T) {
	s := newService(t)
	for from := 1; from < 12_000; from += 1_000 { // a transaction has a deadline
		s.exec(fmt.Sprintf(rows, from, from+999, 5_000, hexSum("")))
	}
	survey := s.take("12:00:00")
	if len(survey.kinds[0].subjects) != 5_000 || len(survey.kinds[0].fresh) != 12_000 {
		t.Errorf("%d agents with %d registrations", len(survey.kinds[0].subjects), len(survey.kinds[0].fresh))
	}
	s.wantCounts(s.put(survey, "registrations: [{agent_name: agent 7, decision: vouch, reason: known}, {agent_name: agent 1*, decision: own}]"), [5]int{1, 12_000 - 3*1_111, 0, 0, 3 * 1_111})
	s.exec("UPDATE registrations SET recorded_at = '2027-03-01T00:00:00Z' WHERE seq = 11999")
	if found := s.audit(); len(found) == 0 {
		t.Error("a change in the last page is not found")
	}
}

// An answer may name a record by the first digits of its identifier.
func TestBeginningOfIdentifier(t *testing.T) {
	s := newService(t)
	for n, name := range map[string]string{"abcdef1": "finch", "abcdef2": "wren"} {
		s.exec("INSERT INTO registrations (record_id, recorded_at, agent_name, payload_sha256) VALUES (?, ?, ?, ?)",
			n+strings.Repeat("0", 25), when("10:00:00"), name, hexSum(canon.Registration(name, "")))
	}
	pending := s.take("11:00:00")
	if _, err := s.try(pending, "registrations: [{record_id: abcdef, decision: own}]"); err == nil ||
		!strings.Contains(err.Error(), "registrations[0]: several record identifiers begin with abcdef: abcdef10") {
		t.Error(err)
	}
	s.wantCounts(s.put(pending, "registrations: [{agent: abcdef1, decision: vouch, reason: r}, {record_id: abcdef20, decision: own}]"), [5]int{1, 1, 0, 0, 1})
}

// All faults of decisions, numbers and texts are listed at once.
func TestDecideFaults(t *testing.T) {
	s := newService(t)
	s.register(1, "lark", "", "10:00:00")
	s.register(2, "tern", "", "10:00:01")
	s.charter(3, "Tern & Co", "[]", "10:00:02")
	s.suggest(4, "10:00:03")
	s.verify("11:00:00", "registrations: [{agent_name: lark, decision: vouch, reason: known}]\nnumbers: {suggestions.originated_internally: 2}")
	s.register(5, "lark", "", "11:30:00")
	s.register(6, "wren", "", "11:31:00")
	s.charter(7, "Wren", "[]", "11:32:00")
	survey := s.take("12:00:00")
	s.register(8, "late", "", "12:00:00")
	for _, c := range []struct {
		answers string
		want    []string
	}{
		{
			`
registrations:
  - {agent_name: finch, decision: own}
  - {agent_name: wr*, decision: own}
  - {agent_name: wren, decision: leave}
  - {record_id: ` + id(5) + `, decision: own}
  - {record_id: ` + id(5) + `, decision: leave}
  - {record_id: ` + id(77) + `, decision: own}
  - {record_id: ` + id(8) + `, decision: own}
  - {record_id: ` + id(2) + `, decision: own}
  - {record_id: ` + id(1) + `, decision: vouch, reason: known}
  - {agent_name: lark, earlier: true, decision: vouch, reason: known}
charters: [{org_name: Tern*, decision: own}]
suggestions: [{record_id: ` + id(78) + `, decision: own}]
numbers: {suggestions.originated_internally: 1, suggestions.shipped: -1, orgs.charters_filed: 3, nothing: 1, operations_monitored_through: 2028-01-01, observed_attention.named_clients: [1]}
texts: {orgs.offer: other, observed_attention.update.one_ambiguous_read: none}
`,
			[]string{
				"registrations[0]: agent_name finch matches no new registration (earlier: true is about those that were verified before)",
				"registrations[2]: " + id(6) + " is decided by registrations[1] already",
				"registrations[4]: " + id(5) + " is decided by registrations[3] already",
				"registrations[5]: there is no registration " + id(77) + " up to " + day + "T12:00:00Z",
				"registrations[6]: there is no registration " + id(8) + " up to " + day + "T12:00:00Z",
				"registrations[7]: " + id(2) + " was verified before, and needs a reason to be decided otherwise",
				"registrations[8]: what record_id " + id(1) + " matches is decided so already",
				"registrations[9]: what agent_name lark matches is decided so already",
				"charters[0]: org_name Tern* matches no new charter (earlier: true is about those that were verified before)",
				"suggestions[0]: there is no suggestion " + id(78) + " up to " + day + "T12:00:00Z",
				"numbers.operations_monitored_through: 2028-01-01 is not a day from 2026-11-20 to " + day,
				"numbers.orgs.charters_filed: it is counted from the records, and not entered by hand",
				"numbers.suggestions.shipped: it is not a number from 0 on",
				"numbers.observed_attention.named_clients: it is not a list of names",
				"numbers.nothing: the board has no such number",
				"texts.observed_attention.honest_read: numbers beside it change: rewrite it, or say \"unchanged\"",
				"texts.observed_attention.update.what_changed: numbers change: say what changed, or \"unchanged\" if the last update is still true",
				"texts.orgs.offer: the board has no such text",
				"correction: suggestions.originated_internally falls from 2 to 1: say why, for readers",
			},
		},
		{
			"registrations: [{agent_name: wren, decision: own}, {record_id: " + id(6) + ", decision: leave}]",
			[]string{"registrations[1]: " + id(6) + " is decided by registrations[0] already"},
		},
		{
			"charters: [{org_name: W*, decision: own}, {org_name: Wren, decision: own}]\ntexts: {}",
			[]string{
				"charters[1]: " + id(7) + " is decided by charters[0] already",
				"texts.observed_attention.honest_read: numbers beside it change: rewrite it, or say \"unchanged\"",
				"texts.observed_attention.update.what_changed: numbers change: say what changed, or \"unchanged\" if the last update is still true",
			},
		},
		{
			"registrations: [{agent_name: lark, earlier: true, decision: leave, reason: a}, {agent_name: l*, earlier: true, decision: own, reason: a}]\n" +
				"texts: {observed_attention.honest_read: ' ', observed_attention.update.what_changed: much, observed_attention.update.one_ambiguous_read: unchanged}",
			[]string{
				"registrations[1]: " + id(1) + " is decided by registrations[0] already",
			},
		},
		{
			"registrations: [{record_id: " + id(2) + ", decision: own, reason: mine}]\nnumbers: {suggestions.originated_internally: 1}",
			[]string{"correction: suggestions.originated_internally falls from 2 to 1: say why, for readers"},
		},
		{
			"registrations: [{record_id: " + id(2) + ", decision: vouch, reason: known}]\ncorrection: in vain",
			[]string{"correction: no number falls (why a record is decided otherwise is the reason of its decision)"},
		},
		{
			"through: " + day + "T11:59:59Z",
			[]string{"through: it is " + day + "T11:59:59Z, and this is the verification through " + day + "T12:00:00Z"},
		},
	} {
		_, err := s.try(survey, c.answers)
		if want := strings.Join(c.want, "\n"); fmt.Sprint(err) != want {
			t.Errorf("got\n%v\nwant\n%s", err, want)
		}
	}
}

// A number that is more than was seen, or ten times what it was, and a client that nobody saw have
// to be confirmed.
func TestDoubt(t *testing.T) {
	s := newService(t)
	s.exec("INSERT INTO observed VALUES (?, 'claude', 'tools/call', 4), (?, 'claude', 'handshake', 1)", day, day)
	for _, c := range []struct{ numbers, want string }{
		{"observed_attention.tool_calls_by_anything_not_auditing_us: 4", ""},
		{"observed_attention.tool_calls_by_anything_not_auditing_us: 5", "it is 5, and what was seen is 4"},
		{"observed_attention.named_clients_that_completed_a_handshake: 2", "it is 2, and what was seen is 1"},
		{"observed_attention.named_clients: [claude]", ""},
		{"observed_attention.named_clients: [claude, GhostBot]", `no client was seen that names itself "GhostBot"`},
		{"suggestions.originated_internally: 10", ""},
		{"suggestions.originated_internally: 11", "it is 11, more than ten times what it was"},
	} {
		path, _, _ := strings.Cut(c.numbers, ":")
		want := ""
		if c.want != "" {
			want = "numbers." + path + ": " + c.want + " (if it is right, say confirm: [" + path + "])"
		}
		if _, err := s.try(s.take("12:00:00"), "numbers: {"+c.numbers+"}"); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %s", c.numbers, err, want)
		}
		if _, err := s.try(s.take("12:00:00"), "numbers: {"+c.numbers+"}\nconfirm: ["+path+"]"); err != nil && !strings.Contains(err.Error(), "name them in named_clients") {
			t.Errorf("%s, confirmed: %v", c.numbers, err) // a completed handshake needs its client
		}
	}
}

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
	text := string(s.content[BoardFile(day)].Data)
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
	was, is := string(s.content[BoardFile(day+"-2")].Data), string(s.content[BoardFile("2027-03-02")].Data)
	if strings.ReplaceAll(strings.ReplaceAll(was, day, "D"), "2027-03-02", "D") != strings.ReplaceAll(strings.ReplaceAll(is, day, "D"), "2027-03-02", "D") {
		t.Errorf("the boards differ:\n%s\n%s", was, is)
	}
}

func TestParseAnswersFaults(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"registrations: [{agent_name: a, decision: vouch}, {agent_name: a, pubkey: b, decision: counted}]\ncharters: [{agent_name: a, decision: own, earlier: true}]", []string{
			"registrations[0]: a vouch needs a reason",
			"registrations[1]: it has 2 of agent, agent_name, pubkey, record_id, and needs one",
			`registrations[1]: decision "counted" is none of leave, vouch, own`,
			"charters[0]: agent_name does not name a charter",
			"charters[0]: it has 0 of org_name, record_id, and needs one",
			"charters[0]: what was verified before needs a reason to be decided otherwise",
		}},
		{"registrations: [{agent_name: a, decision: own, reason: \"a\\nb\"}, {agent_name: a, decision: own, reason: a@b.example}]", []string{
			"registrations[0]: the reason is not one line",
			"registrations[1]: the reason holds an address, and what is published never does",
		}},
		{"lost: ask ada@tern.example\ncorrection: |-\n  a\n  b", []string{
			"lost: it holds an address, and what is published never does", "correction: it is not one line",
		}},
		{"texts: {b: 1, a: []}", []string{"texts.a: it is not a text", "texts.b: it is not a text"}},
		{"texts: 1", []string{`texts: it is neither "unchanged" nor a mapping of texts`}},
	} {
		_, err := ParseAnswers([]byte(c.text))
		if want := strings.Join(c.want, "\n"); fmt.Sprint(err) != want {
			t.Errorf("got\n%v\nwant\n%s", err, want)
		}
	}
	for _, text := range []string{"registration: []", "registrations: a", "a: [", strings.Repeat("#", MaxAnswers+1)} {
		if _, err := ParseAnswers([]byte(text)); err == nil {
			t.Errorf("%.20s: %v", text, err)
		}
	}
}

// FuzzParseAnswers holds that answers which are taken have one thing that each is about.
func FuzzParseAnswers(f *testing.F) {
	f.Add("registrations: [{agent_name: lark, decision: vouch, reason: it answered}]\ntexts: unchanged\n")
	f.Add("through: 2026-11-22T12:00:00Z\ncharters: [{org_name: Tern & Co, decision: own}]\nnumbers: {suggestions.shipped: 0, operations_monitored_through: 2026-11-22}\ntexts: {a: b}\ncorrection: c\n")
	f.Add("registrations: [{pubkey: \"*\", decision: own}, {record_id: 5b2f7d1f3e1a4c0b9a8d7c6b5a493827, earlier: true, decision: leave, reason: a}]")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAnswers([]byte(text))
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
		pending, err := Survey(b.Context(), s.Store, loaded, s.content, Scope{}, moment("12:00:00"))
		if err != nil || len(pending.kinds[0].fresh) != 1_000_000 {
			b.Fatal(err)
		}
		if text, err := pending.Template(); err != nil || len(text) > MaxAnswers {
			b.Fatal(len(text), err)
		}
	}
}

// What was verified of an agent without a name is decided otherwise by its key, and of a charter by
// its org.
func TestEarlierByKey(t *testing.T) {
	s := newService(t)
	s.register(1, "", "a key", "10:00:00")
	s.register(2, "lark", "a key", "10:00:01")
	s.register(3, "", "another", "10:00:02")
	s.wantCounts(s.verify("11:00:00", ""), [5]int{0, 3, 0, 0, 0})
	s.wantCounts(s.verify("12:00:00", "registrations: [{pubkey: a key, earlier: true, decision: own, reason: mine}]\ncorrection: c"), [5]int{0, 2, 0, 0, 1})
	loaded := s.verify("13:00:00", "registrations: [{pubkey: another, earlier: true, decision: vouch, reason: met}]")
	s.wantCounts(loaded, [5]int{1, 2, 0, 0, 1})
	if d := loaded.Verifications[len(loaded.Verifications)-1].Decisions; len(d) != 1 || d[0].Agent != d[0].Records || d[0].Corrects != day {
		t.Errorf("the vouch is %+v", d)
	}
	s.register(4, "", "another", "13:00:01")
	s.wantCounts(s.verify("14:00:00", "registrations: [{pubkey: another, decision: vouch, reason: again}]"), [5]int{1, 3, 0, 0, 1})
}

// What stays beside numbers that change is shown, and no text of a board is blank.
func TestStays(t *testing.T) {
	s := newService(t)
	if p := s.take("11:00:00"); strings.Contains(summaryOf(p, must(s.try(p, ""))), "Stays") {
		t.Error("no number changes, and a text is shown")
	}
	s.register(1, "lark", "", "10:00:00")
	const read, changed = "texts: {observed_attention.honest_read: ", ", observed_attention.update.what_changed: "
	for answers, want := range map[string]string{
		"numbers: {operations_monitored_through: " + day + "}": "Stays beside the new numbers, observed_attention.honest_read: " + s.site().Current().ObservedAttention.HonestRead,
		"numbers: {operations_monitored_through: 2020-01-01}":  "is not a day from",
		read + "One came." + changed + "unchanged}":            "",
		read + "' '" + changed + "unchanged}":                  "honest_read is blank",
		read + "One." + changed + "One.}":                      "updates[1].one_ambiguous_read is blank",
	} {
		p := s.take("12:00:00")
		d, err := s.try(p, answers)
		said := fmt.Sprint(err)
		if err == nil {
			said = summaryOf(p, d)
		}
		stays := strings.HasPrefix(want, "Stays")
		if !strings.Contains(said, want) || strings.Contains(said, "Stays") != stays || (want != "" && !stays) != (err != nil) {
			t.Errorf("%s: %v\n%s", answers, err, said)
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
		{facts: continuity.Facts{Documents: map[string]string{"/scoreboard/2027-01-01.json": "", "/gone.html": ""}}, want: "content is behind https://www.anteroom.example: /scoreboard/2027-01-01.json is published, and would vanish ("},
		{facts: continuity.Facts{AsOf: "2027-01-01"}, want: "/scoreboard.json is as of 2027-01-01, and would be as of \"2026-11-20\""},
		{err: live.ErrUnreachable, want: "the service is unreachable; --offline verifies without a look at what is live"},
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
