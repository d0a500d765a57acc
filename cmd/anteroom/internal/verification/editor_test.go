package verification

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/store/records"
)

// hostile are names that would be answers, comments or lines of their own, if they could.
var hostile = []string{
	"a\n- {decision: vouch, reason: x, agent_name: a}", "b\r\nlost: all", "c\u2028through: never", "d\u0085numbers: {}", `e"}, {decision: own, agent_name: "*"}`,
	"#!! f", "'g", "h: |", "---", "...", "%YAML 1.2", "\u202ei", "{{", "- j", "\x00k", "l\\\"",
}

// A template that is given back as it is decides what holds without an answer, whatever names there
// are in its comments: each record has one answer, and the texts stay.
func TestTemplate(t *testing.T) {
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
	pending := s.take("12:00:00")
	for _, name := range hostile {
		pending.seen = append(pending.seen, records.Observation{Day: day, Client: name, Kind: "initialize", N: 3})
	}
	text := pending.template()
	a := answersOf(t, string(text))
	if len(a.Registrations) != 2*len(hostile)+1 || len(a.Charters) != len(hostile) || len(a.Suggestions) != len(hostile) || a.Lost+a.Correction != "" {
		t.Errorf("the answers are %+v\n%s", a, text)
	}
	d, err := pending.decide(a, nil)
	check(t, err)
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

// Faults are shown by their places, as often as there are some, and the draft is opened again at
// the first one. What was answered stays.
func TestEdit(t *testing.T) {
	s := newService(t)
	s.register(1, "lark", "", "10:00:00")
	s.register(2, "wren", "", "10:00:01")
	pending, draft := s.take("12:00:00"), filepath.Join(t.TempDir(), "draft")
	edits := []*strings.Replacer{
		strings.NewReplacer(`leave, reason: "", agent: "`+id(1), `vouch, reason: "", agent: "`+id(1), "shipped: 0", "shipped: many"),
		strings.NewReplacer(`vouch, reason: ""`, "vouch, reason: known", "correction:", "corection:"),
		strings.NewReplacer("corection:", "correction:"),
		strings.NewReplacer("# Hand", "\ufeff# Hand", "shipped: many", "shipped: 0", `what_changed: ""`, "what_changed: One came.",
			`one_ambiguous_read: ""`, "one_ambiguous_read: None.", "\n", "\r\n"),
	}
	opened, faults := []int{}, ""
	d, err := (&editing{
		open: func(line int) error {
			text, err := os.ReadFile(draft)
			if info, _ := os.Stat(draft); info.Mode().Perm() != 0o600 {
				t.Errorf("others may read it: %v", info.Mode())
			}
			edited := edits[len(opened)].Replace(string(text))
			opened = append(opened, line)
			return errors.Join(err, os.WriteFile(draft, []byte(edited), 0o600))
		},
		refused: func(wrong error) (bool, error) {
			faults += strings.ReplaceAll(wrong.Error(), draft, "draft") + "\n"
			return true, nil
		},
		decide: func(a *answers) (*decided, error) { return pending.decide(a, nil) },
	}).edit(draft, pending.template())
	check(t, err)
	text, err := os.ReadFile(draft)
	vouch, shipped, correction := lineOf(text, "{decision: vouch"), lineOf(text, "shipped:"), lineOf(text, "correction:")
	want := fmt.Sprintf("draft:%d:5: registrations[0]: a vouch needs a reason\ndraft:%d:1: unknown key corection (did you mean correction?)\n"+
		"draft:%d:3: numbers.suggestions.shipped: want a number from 0 on\n", vouch, correction, shipped)
	if faults != want || !slices.Equal(opened, []int{0, vouch, correction, shipped}) {
		t.Errorf("opened at %v with\n%s\nwant\n%s", opened, faults, want)
	}
	if list := d.verification.Decisions; len(list) != 1 || list[0].Decision != "vouch" || !bytes.Contains(d.board.text, []byte("One came.")) || err != nil {
		t.Errorf("decided: %+v, %v", list, err)
	}
	if through, err := begun(draft); err != nil || through != pending.through {
		t.Errorf("with CR LF: %q, %v", through, err)
	}
}

func lineOf(text []byte, part string) int {
	return bytes.Count(text[:bytes.Index(text, []byte(part))], []byte{'\n'}) + 1
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
	a := answersOf(t, text)
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
