package tlog_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"anteroom/generator/tlog"

	"golang.org/x/mod/sumdb/note"
)

// signNote signs any text as a note.
func signNote(t testing.TB, text string, signers ...note.Signer) []byte {
	t.Helper()
	signed, err := note.Sign(&note.Note{Text: text}, signers...)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// signedText is what the checkpoint of a stage signs.
func signedText(s *stage) string {
	body, _, _ := strings.Cut(string(s.checkpoint), "\n\n")
	return body + "\n"
}

// swapLines exchanges two lines of a stage, which count from 0 on.
func swapLines(s *stage, i, j int) {
	lines := slices.Collect(strings.Lines(string(s.lines)))
	lines[i], lines[j] = lines[j], lines[i]
	s.lines = []byte(strings.Join(lines, ""))
}

func replaceIn(s *stage, old, replacement string) {
	s.lines = bytes.Replace(s.lines, []byte(old), []byte(replacement), 1)
}

// Every fault of a stage is named, with its line where it has one.
func TestFaults(t *testing.T) {
	signer, _ := keyOf(t, 1)
	stranger, _ := namedKey(t, tlog.Origin(host, 1), 77)
	other, _ := namedKey(t, "other.example/log", 78)
	root := func(s *stage) string { return strings.Split(string(s.checkpoint), "\n")[2] }
	for name, c := range map[string]struct {
		change func(s *stage) // the second stage: five entries
		want   string
	}{
		"nothing":                  {func(*stage) {}, ""},
		"a line that is no JSON":   {func(s *stage) { replaceIn(s, "{", "[") }, "1: the entry is no JSON object: "},
		"an empty line":            {func(s *stage) { s.lines = append([]byte("\n"), s.lines...) }, "1: the entry is no JSON object: "},
		"white space":              {func(s *stage) { replaceIn(s, `"kind":"vouched"`, `"kind": "vouched"`) }, "4: it is written otherwise than the log writes it\n"},
		"white space in a record":  {func(s *stage) { replaceIn(s, `"kind":"charter"`, `"kind": "charter"`) }, "2: its entry is no SHA-256, or it is written otherwise than the log writes it\n"},
		"a carriage return":        {func(s *stage) { replaceIn(s, "}\n", "}\r\n") }, "1: its entry is no SHA-256, or it is written otherwise"},
		"a hash in capitals":       {func(s *stage) { s.lines = bytes.ToUpper(s.lines[:200]) }, "1: there is no kind"},
		"a hash that is too short": {func(s *stage) { replaceIn(s, `"}`, `a"}`) }, "1: its entry is no SHA-256"},
		"an unknown kind":          {func(s *stage) { replaceIn(s, "charter", "chapter") }, `2: there is no kind "chapter" of entry` + "\n"},
		"one more member":          {func(s *stage) { replaceIn(s, `,"index":2}`, `,"index":2,"to":"own"}`) }, "4: it is written otherwise"},
		"the same member twice":    {func(s *stage) { replaceIn(s, `,"index":2}`, `,"index":1,"index":2}`) }, "4: it is written otherwise"},
		"a member of another name": {func(s *stage) { replaceIn(s, `"index":2}`, `"Index":2}`) }, "4: it is written otherwise"},
		"a number with a fraction": {func(s *stage) { replaceIn(s, `"index":2}`, `"index":2.0}`) }, "4: the entry is no JSON object"},
		"a line without end":       {func(s *stage) { s.lines = s.lines[:len(s.lines)-1] }, "5: the entry has no end within 65535 bytes\n"},
		"a line that is too long":  {func(s *stage) { s.lines = append(bytes.Repeat([]byte("x"), tlog.MaxEntry+9), s.lines...) }, "1: the entry has no end within 65535 bytes\n"},
		"a line that is a little too long": {func(s *stage) {
			s.lines = append(bytes.Repeat([]byte("x"), tlog.MaxEntry+1), s.lines...)
			replaceIn(s, "{", "\n{")
		}, "1: the entry has more than 65535 bytes\n"},
		"an index behind it":      {func(s *stage) { replaceIn(s, `"index":2}`, `"index":20}`) }, "4: it is about entry 20, and there are 5 before it\n"},
		"a correction of nothing": {func(s *stage) { replaceIn(s, `"to":"own"`, `"to":"gone"`) }, "3: entry 0 cannot count as \"gone\"\n"},
		"two verifications": {func(s *stage) {
			s.lines = append(s.lines, s.lines[bytes.LastIndex(s.lines[:len(s.lines)-1], []byte("\n"))+1:]...)
		}, "6: an entry stands behind the verification, which is the last\n"},
		"an entry behind the verification":   {func(s *stage) { swapLines(s, 3, 4) }, "4: it says"},
		"a record behind the verification":   {func(s *stage) { s.lines = append(s.lines, s.lines[:bytes.IndexByte(s.lines, '\n')+1]...) }, "6: an entry stands behind the verification, which is the last\n"},
		"no verification":                    {func(s *stage) { s.lines = s.lines[:bytes.LastIndex(s.lines[:len(s.lines)-1], []byte("\n"))+1] }, "4: the last entry is no verification\n"},
		"no entry":                           {func(s *stage) { s.lines = nil }, "1: the last entry is no verification\n"},
		"counts that are not those":          {func(s *stage) { replaceIn(s, `"charters_filed":1`, `"charters_filed":2`) }, "5: it says charters_filed 2, and the entries give charters_filed 1\n"},
		"the board of another verification":  {func(s *stage) { replaceIn(s, "/scoreboard/2026-11-21.json", "/scoreboard/2026-11-20.json") }, "5: the verification is that of /scoreboard/2026-11-20.json, as of 2026-11-21\n"},
		"another day":                        {func(s *stage) { replaceIn(s, `"as_of":"2026-11-21"`, `"as_of":"2026-11-22"`) }, "5: the verification is that of /scoreboard/2026-11-21.json, as of 2026-11-22\n"},
		"a month for a day":                  {func(s *stage) { replaceIn(s, `"as_of":"2026-11-21"`, `"as_of":"2026-11"`) }, "5: the verification is that of /scoreboard/2026-11-21.json, as of 2026-11\n"},
		"another name":                       {func(s *stage) { s.name = "2026-11-21-2" }, "5: the verification is that of /scoreboard/2026-11-21.json, as of 2026-11-21\n"},
		"the checkpoint of a tree under way": {func(s *stage) { replaceIn(s, "\n", "\n{\"kind\":\"log\",\"checkpoint\":\"\"}\n") }, "2: the first entry of a tree under a new key, and no other, is the last checkpoint of the tree before\n"},

		"an entry changed":      {func(s *stage) { replaceIn(s, `"entry":"`+s.hash(0)[:1], `"entry":"`+other1(s.hash(0)[:1])) }, "0: it signs another tree: an entry up to here was changed since\n"},
		"a board changed":       {func(s *stage) { replaceIn(s, `"board_sha256":"`, `"board_sha256":"0`) }, "0: it signs another tree"},
		"entries swapped":       {func(s *stage) { swapLines(s, 0, 1) }, "4: it vouches for entry 2, which is no registration\n"},
		"other entries swapped": {func(s *stage) { swapLines(s, 2, 3) }, "0: it signs another tree"},
		"an entry gone":         {func(s *stage) { replaceIn(s, string(s.lines[:bytes.IndexByte(s.lines, '\n')+1]), "") }, "3: it vouches for entry 2, which is no registration\n"},
		"a correction gone":     {func(s *stage) { replaceIn(s, `{"kind":"correction","index":0,"to":"own"}`+"\n", "") }, "4: it says"},
		"an entry that counts for nothing": {func(s *stage) {
			replaceIn(s, `{"kind":"vouched"`, `{"kind":"correction","index":0,"to":"none"}`+"\n"+`{"kind":"correction","index":0,"to":"own"}`+"\n"+`{"kind":"vouched"`)
		}, "0: it signs a tree of 7 entries, and there are 9\n"},

		"no checkpoint":                 {func(s *stage) { s.checkpoint = nil }, "0: open checkpoint: malformed note\n"},
		"a checkpoint that is too long": {func(s *stage) { s.checkpoint = bytes.Repeat([]byte("x"), 1<<17) }, "0: open checkpoint: it has more than 65536 bytes\n"},
		"a bit in the signature":        {func(s *stage) { s.checkpoint[len(s.checkpoint)-20] ^= 1 }, "0: open checkpoint: "},
		"another size":                  {func(s *stage) { s.checkpoint = bytes.Replace(s.checkpoint, []byte("\n7\n"), []byte("\n8\n"), 1) }, "0: open checkpoint: invalid signature"},
		"another size, signed": {func(s *stage) {
			s.checkpoint = signNote(t, strings.Replace(signedText(s), "\n7\n", "\n8\n", 1), signer)
		}, "0: it signs a tree of 8 entries, and there are 7\n"},
		"the size of the stage before": {func(s *stage) {
			s.checkpoint = signNote(t, strings.Replace(signedText(s), "\n7\n", "\n2\n", 1), signer)
		}, "0: it signs a tree of 2 entries, and there are 7\n"},
		"another root, signed": {func(s *stage) {
			s.checkpoint = signNote(t, strings.Replace(signedText(s), root(s)[:2], "AA", 1), signer)
		}, "0: it signs another tree"},
		"a root in another form of base64": {func(s *stage) {
			s.checkpoint = signNote(t, strings.Replace(signedText(s), root(s), root(s)[:42]+other1(root(s)[42:43])+"=", 1), signer)
		}, "0: "},
		"a key of the same name": {func(s *stage) { s.checkpoint = signNote(t, signedText(s), stranger) }, "0: open checkpoint: no known key has signed it\n"},
		"the key of another log": {func(s *stage) { s.checkpoint = signNote(t, signedText(s), other) }, "0: open checkpoint: no known key has signed it\n"},
		"the origin of another log": {func(s *stage) {
			s.checkpoint = signNote(t, strings.Replace(signedText(s), host, "other.example", 1), signer)
		}, `0: open checkpoint: it is of "other.example/log", and no key of that name has signed it` + "\n"},
		"a size with a zero before it": {func(s *stage) {
			s.checkpoint = signNote(t, strings.Replace(signedText(s), "\n7\n", "\n07\n", 1), signer)
		}, "0: open checkpoint: its size is no number, or its root no SHA-256 in base64\n"},
		"a size below zero": {func(s *stage) {
			s.checkpoint = signNote(t, strings.Replace(signedText(s), "\n7\n", "\n-7\n", 1), signer)
		}, "0: open checkpoint: its size is no number"},
		"a size that is no number": {func(s *stage) {
			s.checkpoint = signNote(t, strings.Replace(signedText(s), "\n7\n", "\nseven\n", 1), signer)
		}, "0: open checkpoint: its size is no number"},
		"a root that is too short": {func(s *stage) { s.checkpoint = signNote(t, strings.Replace(signedText(s), root(s), "AAAA", 1), signer) }, "0: open checkpoint: its size is no number"},
		"a line more":              {func(s *stage) { s.checkpoint = signNote(t, signedText(s)+"more\n", signer) }, "0: open checkpoint: a checkpoint has three lines: origin, size and root\n"},
	} {
		b := empty(t, 1)
		b.add(t, 1, "2026-11-20", recordOf(tlog.Registration, 0))
		b.add(t, 1, "2026-11-21", recordOf(tlog.Registration, 1), recordOf(tlog.Charter, 2),
			tlog.Entry{Kind: tlog.Correction, Index: 0, To: tlog.Own}, tlog.Entry{Kind: tlog.Vouched, Index: 2})
		c.change(&b.stages[1])
		if _, faults := readAll(b.Keys, nil, b.stages); (faults == nil) != (c.want == "") || !strings.HasPrefix(told(faults), c.want) {
			t.Errorf("%s: %swant %s", name, told(faults), c.want)
		}
	}
	b := treeOf(t, 3, 5)
	for name, stages := range map[string][]stage{
		"only the second stage": b.stages[1:],
		"the stages swapped":    {b.stages[1], b.stages[0]},
		"the first stage twice": {b.stages[0], b.stages[0]},
	} {
		if _, faults := readAll(b.Keys, nil, stages); faults == nil {
			t.Errorf("%s: no fault", name)
		}
	}
	if _, faults := readAll([]string{"a key"}, nil, b.stages); !strings.HasPrefix(told(faults), `0: open checkpoint: key "a key": `) {
		t.Errorf("a key that is none: %s", told(faults))
	}
}

// hash is the hash in a line of a stage.
func (s *stage) hash(line int) string {
	return strings.Split(strings.Split(string(s.lines), "\n")[line], `"entry":"`)[1][:64]
}

// other1 is another digit than this, in hexadecimal and base64 alike.
func other1(digit string) string {
	if digit == "a" {
		return "b"
	}
	return "a"
}

// A second key begins a second tree, which holds the end of the first one.
func TestRotation(t *testing.T) {
	b := empty(t, 3)
	b.add(t, 1, "2026-11-20", recordOf(tlog.Registration, 0), recordOf(tlog.Charter, 1))
	b.add(t, 1, "2026-11-21", recordOf(tlog.Own, 2))
	b.add(t, 3, "2026-11-22", recordOf(tlog.Suggestion, 3), tlog.Entry{Kind: tlog.Vouched, Index: 0}, tlog.Entry{Kind: tlog.Correction, Index: 3, To: tlog.Registration})
	b.add(t, 3, "2026-11-22-2", recordOf(tlog.Registration, 4), tlog.Entry{Kind: tlog.Correction, Index: 1, To: tlog.Own})
	l, faults := readAll(b.Keys, nil, b.stages)
	if faults != nil {
		t.Fatal(told(faults))
	}
	if len(l.Trees) != 2 || l.Trees[0].First != 0 || l.Trees[1].First != 5 || l.Trees[1].Size() != 8 || l.Trees[1].Path() != "/log/3" || l.Trees[1].Key != l.Keys[2] {
		t.Fatalf("%d trees, %+v", len(l.Trees), l.Trees)
	}
	first, err := tlog.ParseEntry(l.Trees[1].Entry(0))
	if err != nil || first.Kind != tlog.Previous || first.Checkpoint != string(b.stages[1].checkpoint) {
		t.Errorf("the second tree begins with %+v, %v", first, err)
	}
	for name, c := range map[string]struct {
		change func(stages []stage)
		want   string
	}{
		"the checkpoint before the last one": {func(s []stage) {
			s[2].lines = bytes.Replace(s[2].lines, quoted(s[1].checkpoint), quoted(s[0].checkpoint), 1)
		}, "1: it holds another checkpoint than the last one of the tree before\n"},
		"no checkpoint first": {func(s []stage) { s[2].lines = s[2].lines[bytes.IndexByte(s[2].lines, '\n')+1:] }, "1: the first entry of a tree under a new key, and no other, is the last checkpoint of the tree before\n"},
		"a checkpoint second": {func(s []stage) { swapLines(&s[2], 0, 1) }, "1: the first entry of a tree under a new key"},
		"a checkpoint in a later stage": {func(s []stage) {
			s[3].lines = append(slices.Clone(s[2].lines[:bytes.IndexByte(s[2].lines, '\n')+1]), s[3].lines...)
		}, "1: the first entry of a tree under a new key"},
		"the older key again": {func(s []stage) { s[3] = s[1] }, "0: it is of www.base.example/log, which comes before the key of the checkpoint before it\n"},
	} {
		stages := slices.Clone(b.stages)
		c.change(stages)
		if _, faults := readAll(b.Keys, nil, stages); !strings.HasPrefix(told(faults), c.want) {
			t.Errorf("%s: %swant %s", name, told(faults), c.want)
		}
	}
	for _, older := range []int{1, 2} {
		signer, _ := keyOf(t, older)
		if _, _, err := b.Append("2026-11-23", []tlog.Entry{verification("2026-11-23")}, signer); err == nil || !strings.Contains(err.Error(), "older than the one that signed last") {
			t.Errorf("key %d signs again: %v", older, err)
		}
	}

	if want := (tlog.Counts{Vouched: 1, Registrations: 3, Suggestions: 1, Own: 1}); l.Counts() != want {
		t.Errorf("%+v, want %+v", l.Counts(), want)
	}
	wanted := map[string]bool{tlog.RecordHash("none", ""): true}
	for n := range 5 {
		wanted[recordOf("", n).Hash] = n != 2
	}
	found := l.Find(wanted)
	if at := []int64{found[recordOf("", 1).Hash], found[recordOf("", 3).Hash]}; len(found) != 4 || at[0] != 1 || at[1] != 6 {
		t.Errorf("found %v", found)
	}
	for hash, index := range found {
		if l.HashAt(index) != hash {
			t.Errorf("entry %d is that of %s, not %s", index, l.HashAt(index), hash)
		}
	}
	if at := l.VouchedAt(); len(at) != 1 || at[0] != 7 || l.CountsAs(7) != tlog.Vouched || l.CountsAs(3) != tlog.Registration {
		t.Errorf("vouched for at %v", at)
	}
}

// quoted is a checkpoint as it stands in an entry.
func quoted(checkpoint []byte) []byte {
	return bytes.ReplaceAll(checkpoint, []byte("\n"), []byte(`\n`))
}

// The key of a log is named after its host.
func TestCheckKey(t *testing.T) {
	for name, want := range map[string]string{
		"www.base.example/log":     "",
		"www.base.example/log/2":   "",
		"www.base.example/log/10":  "",
		"www.base.example/log/1":   "its name is",
		"www.base.example/log/0":   "its name is",
		"www.base.example/log/02":  "its name is",
		"www.base.example/log/":    "its name is",
		"www.base.example/logs":    "its name is",
		"www.base.example":         "its name is",
		"https://base.example/log": "its name is",
		"WWW.base.example/log":     "its name is",
	} {
		_, key := namedKey(t, name, 1)
		if origin, err := tlog.CheckKey(key); (err == nil) != (want == "") || err == nil && origin != name || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %q, %v", name, origin, err)
		}
	}
	if _, err := tlog.CheckKey("www.base.example/log"); err == nil || !strings.HasPrefix(err.Error(), "it is no verifier key") {
		t.Errorf("no key: %v", err)
	}
	_, key := keyOf(t, 1)
	if _, err := tlog.CheckKey(strings.Replace(key, "log+", "log+0", 1)); err == nil {
		t.Error("the hash of another key is taken")
	}
	for n, want := range map[int]string{1: "h.example/log", 2: "h.example/log/2", 12: "h.example/log/12"} {
		if got := tlog.Origin("h.example", n); got != want {
			t.Errorf("key %d is named %s, want %s", n, got, want)
		}
	}
}

// A proof is refused for whatever it does not prove.
func TestProofRefused(t *testing.T) {
	b := treeOf(t, 7)
	p, err := b.Stages[0].Prove(3)
	if err != nil {
		t.Fatal(err)
	}
	text, entry := string(p.Append(nil)), b.Trees[0].Entry(3)
	line := func(n int) string { return strings.Split(text, "\n")[n] }
	for name, c := range map[string]struct{ old, new, want string }{
		"nothing":                       {"", "", ""},
		"another header":                {"@v1", "@v2", `read proof: its first line is not "c2sp.org/tlog-proof@v1"`},
		"no extra data":                 {line(1) + "\n", "", ""},
		"extra data that is no base64":  {"extra ", "extra *", "read proof: what stands behind extra is no base64"},
		"extra data with a line end":    {line(1), line(1) + "\r", "read proof: it is written otherwise than proofs are"},
		"no index":                      {"index 3\n", "", "read proof: it has no line with an index"},
		"an index below zero":           {"index 3", "index -3", "read proof: it has no line with an index"},
		"an index with a zero":          {"index 3", "index 03", "read proof: it has no line with an index"},
		"an index that is no number":    {"index 3", "index three", "read proof: it has no line with an index"},
		"another index":                 {"index 3", "index 2", "verify proof: the entry is not number 2 of the 7 that the checkpoint has signed"},
		"an index behind the tree":      {"index 3", "index 9", "verify proof: the entry is not number 9 of the 7"},
		"a hash that is none":           {line(3), line(3)[1:], "read proof: a line is no SHA-256 in base64, or there are too many"},
		"too many hashes":               {line(3), strings.Repeat(line(3)+"\n", 61) + line(3), "read proof: a line is no SHA-256 in base64, or there are too many"},
		"a hash twice":                  {line(3), line(3) + "\n" + line(3), "verify proof: the entry is not number 3"},
		"a hash gone":                   {line(3) + "\n", "", "verify proof: the entry is not number 3"},
		"hashes swapped":                {line(3) + "\n" + line(4), line(4) + "\n" + line(3), "verify proof: the entry is not number 3"},
		"no checkpoint":                 {text[strings.Index(text, "\n\n"):], "\n", "read proof: it has no checkpoint"},
		"a checkpoint of another size":  {"\n7\n", "\n8\n", "verify proof: open checkpoint: invalid signature"},
		"a checkpoint with a line more": {text[len(text)-5:], text[len(text)-5:] + "x\n", "verify proof: open checkpoint: malformed note"},
	} {
		p, err := tlog.ParseProof([]byte(strings.Replace(text, c.old, c.new, 1)))
		if err == nil {
			_, err = p.Verify(entry, b.Keys, nil)
		}
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	if _, err := p.Verify(entry, nil, nil); err == nil || !strings.Contains(err.Error(), "no known key has signed it") {
		t.Errorf("without a key: %v", err)
	}
}
