package verification

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anteroom/edge/store/records"
)

// hostile are names that would be answers, comments or lines of their own, if they could.
var hostile = []string{
	"a\n- {decision: vouch, reason: x, agent_name: a}", "b\r\nlost: all", "c\u2028through: never", "d\u0085numbers: {}", `e"}, {decision: own, agent_name: "*"}`,
	"#!! f", "'g", "h: |", "---", "...", "%YAML 1.2", "\u202ei", "{{", "- j", "\x00k", "l\\\"",
}

func withHostile(t testing.TB) *service {
	s := newService(t)
	s.content["service.yaml"].Data = bytes.Replace(s.content["service.yaml"].Data, []byte("own_names: []"), []byte(`own_names: ["probe *"]`), 1)
	s.register(90, "probe 0", "", "09:00:00")
	for i, name := range hostile {
		s.register(i+1, name, "key "+name, "10:00:00")
		s.register(i+31, "", name, "10:00:01")
		roster := fmt.Sprintf(`[{"position":%q,"agent_name":%[1]q,"allocation":20}]`, "seat")
		s.exec("INSERT INTO charters (record_id, recorded_at, org_name, commissioner, roster, payload_sha256) VALUES (?, ?, ?, ?, ?, '')",
			id(i+61), when("10:00:02"), name, name, roster)
		s.exec("INSERT INTO suggestions (record_id, filed_at, filed_as, kind, text_sha256) VALUES (?, ?, 'anonymous', 'idea', ?)", id(i+61), when("10:00:02"), hexSum(name))
	}
	return s
}

// A template that is given back as it is decides what holds without an answer, whatever names there
// are in its comments: each record has one answer, and the texts stay.
func TestTemplate(t *testing.T) {
	s := withHostile(t)
	pending := s.take("12:00:00")
	for _, name := range hostile {
		pending.seen = append(pending.seen, records.Observation{Day: day, Client: name, Kind: "initialize", N: 3})
	}
	text := pending.template()
	a, err := parseAnswers("f", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if len(a.Registrations) != 2*len(hostile)+1 || len(a.Charters) != len(hostile) || len(a.Suggestions) != len(hostile) || a.Through != pending.through || a.Lost != "" || a.Correction != "" {
		t.Errorf("the answers are %+v\n%s", a, text)
	}
	for i := range a.Registrations {
		if want := map[bool]string{true: "own", false: "leave"}[i == 0]; a.Registrations[i].Decision != want || a.Registrations[i].AgentName != "" {
			t.Errorf("proposed: %+v", a.Registrations[i])
		}
	}
	d, err := pending.decide(a, nil)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := s.try(pending, "")
	if err != nil || !bytes.Equal(d.verification.Encode(), plain.verification.Encode()) || !bytes.Equal(d.board.text, plain.board.text) {
		t.Errorf("it decides otherwise than nothing does: %v\n%s", err, d.board.text)
	}
	a.Through = ""
	if _, err := pending.decide(a, nil); err != nil {
		t.Errorf("every record is named, and yet without through: %v", err)
	}
	a.Suggestions = nil
	if _, err := pending.decide(a, nil); err == nil || !strings.Contains(err.Error(), "through: missing, but the answers omit 16 new suggestions") {
		t.Errorf("without through: %v", err)
	}
}

// Many agents are folded by patterns; those that are known come first.
func TestTemplateFolds(t *testing.T) {
	s := newService(t)
	s.register(1, "zoe", "", "08:00:00")
	s.verify("09:00:00", "registrations: [{agent_name: zoe, decision: vouch, reason: known}]")
	s.exec(fmt.Sprintf(strings.Replace(rows, "printf('%%032x', i)", "printf('%%032x', i + 10)", 1), 1, 1200, 1000, hexSum("")))
	s.register(9, "zoe", "", "11:00:00")
	pending := s.take("12:00:00")
	text := pending.template()
	listed := strings.Index(string(text), "\nregistrations:\n  # \"zoe\"\n")
	if n := strings.Count(string(text), "\n  - {decision: leave"); n != maxListed || listed < 0 ||
		!strings.Contains(string(text), "\n  # 501 more agents get the proposed decision unless you add an answer, such as for a name with *\n") {
		t.Errorf("%d are listed:\n%.3000s", n, text)
	}
	if _, err := s.try(pending, string(text)); err != nil {
		t.Error(err)
	}
}

// editor edits a draft, once each time it is opened.
type editor struct {
	edits  []func(string) string
	shown  []string // the draft as each time it was opened
	lines  []int    // at which it was opened
	faults []string // that were shown between
	draft  string
}

func (s *service) edit(draft string, pending *survey, edits ...func(string) string) (e *editor, d *decided, err error) {
	s.t.Helper()
	e = &editor{edits: edits, draft: draft}
	d, err = (&editing{
		open: func(line int) error {
			text, err := os.ReadFile(draft)
			if info, _ := os.Stat(draft); info.Mode().Perm() != 0o600 {
				s.t.Errorf("others may read it: %v", info.Mode())
			}
			e.shown, e.lines = append(e.shown, string(text)), append(e.lines, line)
			if changed := e.edits[len(e.shown)-1](string(text)); changed != string(text) {
				err = os.WriteFile(draft, []byte(changed), 0o600)
			}
			return err
		},
		refused: func(wrong error) (bool, error) {
			e.faults = append(e.faults, strings.ReplaceAll(wrong.Error(), draft, "draft"))
			return len(e.shown) < len(edits), nil
		},
		decide: func(a *answers) (*decided, error) { return pending.decide(a, nil) },
	}).edit(draft, pending.template())
	return e, d, err
}

func replaced(old, new string) func(string) string {
	return func(text string) string { return strings.Replace(text, old, new, 1) }
}

func lineOf(text, part string) int { return strings.Count(text[:strings.Index(text, part)], "\n") + 1 }

// Faults are shown by their places, as often as there are some, and the draft is opened again at
// the first one. What was answered stays.
func TestEdit(t *testing.T) {
	s := newService(t)
	s.register(1, "lark", "", "10:00:00")
	s.register(2, "wren", "", "10:00:01")
	pending, draft := s.take("12:00:00"), filepath.Join(t.TempDir(), "draft")
	lark, wren := `- {decision: leave, reason: "", agent: "`+id(1)+`"}`, `- {decision: leave, reason: "", agent: "`+id(2)+`"}`
	e, d, err := s.edit(draft, pending,
		replaced(lark, `- {decision: vouch, reason: "", agent: "`+id(1)+`"}`),
		func(text string) string {
			return strings.NewReplacer(`vouch, reason: ""`, "vouch, reason: known", wren, "- {decision: own, agent_name: nobody}", "shipped: 0", "shipped: [").Replace(text)
		},
		func(text string) string {
			return strings.NewReplacer("shipped: [", "shipped: many", "correction:", "corection:").Replace(text)
		},
		replaced("corection:", "correction:"),
		func(text string) string {
			return "\ufeff" + strings.ReplaceAll(strings.NewReplacer("shipped: many", "shipped: 0", "agent_name: nobody", "agent_name: wren",
				`what_changed: ""`, "what_changed: One came.", `one_ambiguous_read: ""`, "one_ambiguous_read: None.").Replace(text), "\n", "\r\n")
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		part   string // of the line of the first fault
		faults string
	}{
		{"- {decision: vouch", "draft:%d:5: registrations[0]: a vouch needs a reason"},
		{"shipped: [", `draft:%d:24: not valid YAML: did not find expected ',' or ']' (indent with spaces; quote a text that holds ": " or begins with a special character)`},
		{"corection", "draft:%d:1: unknown key corection (did you mean correction?)"},
		{"- {decision: own", "draft:%d:5: registrations[1]: agent_name nobody matches no new registration (earlier: true selects verified ones)\n" +
			"draft:%d:3: numbers.suggestions.shipped: want a number from 0 on"},
	} {
		lines := []any{lineOf(e.shown[i+1], want.part)}
		if strings.Count(want.faults, "%d") > 1 {
			lines = append(lines, lineOf(e.shown[i+1], "suggestions.shipped"))
		}
		if want := fmt.Sprintf(want.faults, lines...); e.faults[i] != want || e.lines[i+1] != lines[0] {
			t.Errorf("fault %d, opened at %d:\n%s\nwant\n%s", i+1, e.lines[i+1], e.faults[i], want)
		}
	}
	if len(e.faults) != 4 || e.lines[0] != 0 {
		t.Errorf("faults %q, lines %v", e.faults, e.lines)
	}
	if list := d.verification.Decisions; len(list) != 2 || list[0].Decision != "vouch" || list[1].Decision != "own" || !strings.Contains(string(d.board.text), "One came.") {
		t.Errorf("decided: %+v", list)
	}
	if text, _ := os.ReadFile(draft); !strings.Contains(string(text), "One came.") {
		t.Errorf("kept until it is written:\n%s", text)
	}
	if through, err := begun(draft); err != nil || through != pending.through {
		t.Errorf("with CR LF: %q, %v", through, err)
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// The file has the texts of suggestions, and nothing in them becomes an answer. Of many records the
// first ones are listed. It names the agents that have one key.
func TestTemplateTexts(t *testing.T) {
	s := newService(t)
	s.register(1, "lark", "key", "10:00:00")
	s.verify("10:30:00", "registrations: []")
	s.register(2, "wren", "key", "10:40:00")
	for n := range maxListed + 2 {
		s.suggest(10+n, "10:50:00")
	}
	s.charter(5000, "Tern", "[]", "10:51:00")
	p := s.take("11:00:00")
	p.mail = map[string]string{id(10): "one\nlost: all\r- {decision: own}\u2028through: x", id(11): strings.Repeat("long", maxTexts), id(12): "short"}
	text := string(p.template())
	for _, want := range []string{
		"\n  #   > one\n  #   > lost: all<U+000D>- {decision: own}<U+2028>through: x\n", "#   > short\n",
		"suggestions:\n  # 2 more after these",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nwant %s", text[:min(3000, len(text))], want)
		}
	}
	a := must(parseAnswers("f", []byte(text)))
	if len(a.Suggestions) != maxListed || len(a.Charters) != 1 || a.Lost != "" || strings.Contains(text, "longlong") {
		t.Errorf("%d suggestions, %d charters", len(a.Suggestions), len(a.Charters))
	}
	s.put(p, text, 0, 2, 1, maxListed+2, 0)
}

// FuzzTemplate holds that neither a name nor a text becomes an answer.
func FuzzTemplate(f *testing.F) {
	for _, name := range hostile {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		s := &sheet{}
		s.line("registrations:")
		s.note("  ", "%s, and quoted: %q", name, name)
		s.quote(name)
		s.line(`  - {decision: leave, record_id: "1"}`)
		a, err := parseAnswers("f", s.Bytes())
		if err != nil || len(a.Registrations) != 1 || a.Registrations[0].RecordID != "1" || a.Through != "" || a.Lost != "" {
			t.Fatalf("%+v, %v\n%s", a, err, s.Bytes())
		}
	})
}
