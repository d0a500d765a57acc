package site

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// jobsJSON is a list of n jobs of about 450 bytes each, with members in any order.
func jobsJSON(n int) []byte {
	random := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString("{\n  \"as_of\": \"2026-11-20\",\n  \"jobs\": [\n")
	for i := range n {
		members := []string{
			fmt.Sprintf(`"id": "job-%d"`, i*7919%n), `"title": "Check a \"table\" of tariffs\u0021"`,
			`"description": "` + strings.Repeat("Compare the table. ", 8) + "All of it." + `"`,
			fmt.Sprintf(`"posted": "2026-%02d-%02d"`, 1+i%9, 1+i%28), `"tags": [ "data" , "review" ]`, `"poster": "ledger-lark"`,
			`"url": "https://example.org/tariffs/2026/table.csv"`, `"reward_credit_units": 12`,
		}
		if i%3 == 0 {
			members = append(members, `"status": "completed"`, `"completed_on": "2026-10-05"`)
		} else {
			members = append(members, `"status": "open"`)
		}
		random.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		if i > 0 {
			b.WriteString(",\n")
		}
		b.WriteString("    {" + strings.Join(members, ", ") + "}")
	}
	b.WriteString("\n  ]\n}\n")
	return []byte(b.String())
}

func load(t testing.TB, file string, src []byte) *List {
	t.Helper()
	kind := jobs
	if strings.HasPrefix(file, "auditors") {
		kind = auditors
	}
	list, faults := readList(file, src, kind)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	return list
}

// keepsEntries compares the groups of a list with what encoding/json reads from the same file.
func keepsEntries(t *testing.T, src []byte, list *List) {
	t.Helper()
	var want struct {
		Jobs []map[string]any `json:"jobs"`
	}
	if err := json.Unmarshal(src, &want); err != nil {
		t.Fatal(err)
	}
	byID := map[any]string{}
	for _, job := range want.Jobs {
		for member, value := range job { // texts are read without the white space around them, and blank ones are left out
			if s, ok := value.(string); ok {
				job[member] = strings.TrimSpace(s)
			}
			if job[member] == "" || value == nil {
				delete(job, member)
			}
		}
		text, _ := json.Marshal(job)
		byID[job["id"]] = string(text)
	}
	for i := range list.Groups {
		group, text := list.Groups[i].Name, list.Groups[i].AppendJSON(nil)
		var got []map[string]any
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%s is not JSON: %v", group, err)
		}
		date := map[string]string{"open": "posted", "completed": "completed_on"}[group]
		for i, job := range got {
			if text, _ := json.Marshal(job); byID[job["id"]] != string(text) {
				t.Fatalf("got %s, want %s", text, byID[job["id"]])
			}
			delete(byID, job["id"])
			if i > 0 {
				before, after := got[i-1][date].(string), job[date].(string)
				if before < after || before == after && got[i-1]["id"].(string) >= job["id"].(string) {
					t.Fatalf("%s: %v is before %v", group, got[i-1], job)
				}
			}
		}
	}
	if len(byID) > 0 {
		t.Fatalf("%d entries are lost: %v", len(byID), byID)
	}
}

func TestYAMLAndJSONGiveTheSameList(t *testing.T) {
	const inYAML = `as_of: 2026-11-20
jobs:
  - {poster: "a \"b\" é", id: one, title: "x y"  , description: "l1\nl2", status: open, posted: 2026-01-01, tags: [a, b], reward_credit_units: 3}
`
	inJSON := `{"jobs":[{"poster":"a \"b\" \u00e9","id":"one","title":"x y","description":"l1\nl2","status":"open","posted":"2026-01-01","tags":["a","b"],"reward_credit_units":3}],"as_of":"2026-11-20"}`
	a := load(t, "jobs.yaml", []byte(inYAML))
	b := load(t, "jobs.json", []byte(inJSON))
	if got, want := string(a.Groups[0].AppendJSON(nil)), string(b.Groups[0].AppendJSON(nil)); got != want {
		t.Errorf("YAML %s\nJSON %s", got, want)
	}
}

// The faults of a list in JSON are those of the same text in YAML, with their places.
func TestFaultsOfJSON(t *testing.T) {
	sound := string(jobsJSON(60))
	compact := strings.ReplaceAll(sound, "\n", "")
	for _, c := range []struct {
		name, src, old, new string
		n                   int
	}{
		{"a date", sound, `"posted": "2026-`, `"posted": "2026-31-`, 2},
		{"the last entry", sound, `"id": "job-1`, `"id": "\ud83d\ude42", "ID": "x`, -1},
		{"after a pair", compact, `"Check`, `"é\ud83d\ude42", "title2": "Check`, 1},
		{"no object", sound, `    {`, `    7, {`, 4},
		{"no list", sound, `"jobs": [`, `"jobs": 7, "job": [`, 1},
		{"everything", sound, `"status": "`, `"status": "un`, -1},
	} {
		src := strings.Replace(c.src, c.old, c.new, c.n)
		_, got := readList("jobs.json", []byte(src), jobs)
		_, want := readList("jobs.yaml", []byte(strings.ReplaceAll(src, `\ud83d\ude42"`, `\U0001f642"  `)), jobs)
		if faults := strings.ReplaceAll(want.Error(), "jobs.yaml", "jobs.json"); got.Error() != faults || len(got) == 0 {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, faults)
		}
	}
}

// TestSound: an entry is decoded at once unless it has a fault, or is published in another form.
func TestSound(t *testing.T) {
	const member = `"verified_by_hand_on":null`
	audit := fmt.Sprintf(`{"agent_name":"verified_by_hand_on","registration_sha256":"%064x","scope":"All.","claimed_at":"2026-02-01T10:00:00Z",`+
		`"report_url":"https://example.org/","report_sha256":"%064x",%s}`, 1, 2, member)
	job := `{"id":"a","title":"A","description":"A.","status":"open","posted":"2026-02-01","tags":["b","c"],"reward_credit_units":3,"poster":"d"}`
	for _, c := range []struct {
		kind     *listKind
		src      string
		old, new string
		want     bool
	}{
		{auditors, audit, member, member, true},
		{auditors, audit, "null", `"2026-02-02"`, true},
		{auditors, audit, "null", `"2026-01-02"`, false},
		{auditors, audit, "null", `"2026-02-31"`, false},
		{auditors, audit, "," + member, "", false},
		{auditors, audit, member, member + `,"more":1`, false},
		{jobs, job, `,"reward_credit_units":3`, "", true},
		{jobs, job, ":3", ":-0", false},
		{jobs, job, ":3", ":1000001", false},
		{jobs, job, `"A."`, `" A."`, false},
		{jobs, job, `"A."`, `"\u005b[base_url]]"`, false},
		{jobs, job, `["b","c"]`, "[]", true},
		{jobs, job, `["b","c"]`, "null", false},
		{jobs, job, `"c"`, `"b"`, false},
		{jobs, job, `,"tags":["b","c"]`, "", false},
		{jobs, job, `"open"`, `"completed"`, false},
	} {
		value := strings.Replace(c.src, c.old, c.new, 1)
		if got := c.kind.sound([]byte(value)) != nil; got != c.want {
			t.Errorf("%s: %v", value, got)
		}
	}
}

// For one wrong date, not all of a long list is read as YAML, which needs ten times as much memory.
func TestOneWrongDate(t *testing.T) {
	sound := jobsJSON(3000)
	at := bytes.LastIndex(sound, []byte(`"posted": "2026-`)) + len(`"posted": "2026-`)
	faulty := slices.Concat(sound[:at], []byte("31"), sound[at+2:])
	used := func(src []byte) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _ = readList("jobs.json", src, jobs)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	used(sound)
	if needs, has := used(sound), used(faulty); has > 8*needs {
		t.Errorf("a sound list takes %d bytes, a faulty one %d", needs, has)
	}
}

// TestAuditorsByName has names whose order their escapes would change.
func TestAuditorsByName(t *testing.T) {
	var entries []string
	for i, name := range []string{`b`, `\"`, `a\\`, `a#`, `\u0041`, `a`, `a!`} {
		entries = append(entries, fmt.Sprintf(`{"agent_name":"%s","registration_sha256":"%064x","scope":"s","claimed_at":"2026-02-01T10:00:00Z","report_url":"https://example.org/","report_sha256":"%064x","verified_by_hand_on":"2026-02-02"}`, name, i, i))
	}
	list := load(t, "auditors.json", []byte(`{"as_of":"2026-11-20","ledger":[`+strings.Join(entries, ",")+`]}`))
	got := ""
	for _, e := range list.Groups[0].Entries {
		got += e.(*Audit).Agent + " "
	}
	if want := `" A a a! a# a\ b `; got != want || list.Counts["claimed"] != 7 || list.Counts["verified"] != 7 {
		t.Errorf("got %s, want %s; counts: %v", got, want, list.Counts)
	}
}

func TestFaultsOfAListAreCut(t *testing.T) {
	src := []byte(`{"as_of":"2026-11-20","jobs":[` + strings.Repeat(`{"no":1},`, 99) + `{"no":1}]}`)
	fsys := base(t)
	delete(fsys, "jobs.yaml")
	fsys["jobs.json"] = &fstest.MapFile{Data: src}
	_, err := Load(fsys)
	faults, _ := err.(Errors)
	if len(faults) != maxListFaults || !strings.HasSuffix(faults[maxListFaults-1].What, "; and 750 more faults follow") {
		t.Errorf("%d faults: %v", len(faults), err)
	}
}

// The newest entries come first, those of one date in publishing order, and no more than asked for.
func TestNewest(t *testing.T) {
	entry := func(name, at string) string {
		return fmt.Sprintf(`{"agent_name":%q,"registration_sha256":"%064x","scope":"All.","claimed_at":"2026-02-%sT00:00:00Z",`+
			`"report_url":"https://example.org/","report_sha256":"%064x","verified_by_hand_on":null}`, name, name, at, name)
	}
	src := `{"as_of":"2026-11-20","ledger":[` + strings.Join([]string{
		entry("a", "03"), entry("b", "01"), entry("c", "09"), entry("d", "03"), entry("e", "05"),
	}, ",") + "]}"
	l := load(t, "auditors.json", []byte(src))
	for n, want := range map[int]string{0: "", 1: "c", 3: "cea", 4: "cead", 9: "ceadb"} {
		got := ""
		for _, e := range l.Groups[0].Newest(n) {
			got += e.(*Audit).Agent
		}
		if got != want {
			t.Errorf("the %d newest are %q, want %q", n, got, want)
		}
	}
}
