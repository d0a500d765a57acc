package tlog_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"anteroom/generator/tlog"
)

var update = flag.Bool("update", false, "write the wanted texts")

// years is a log of four verifications and two keys, with corrections of what came before.
func years(t testing.TB) *published {
	day := func(name string, key int, entries ...[]tlog.Entry) addition {
		return addition{name, key, slices.Concat(entries...)}
	}
	return publish(t, nil,
		day("2026-11-20", 1, records("a", tlog.Registration, 300), records("a", tlog.Charter, 2), records("a", tlog.Suggestion, 1), records("a", tlog.Own, 4)),
		day("2026-11-21", 1, records("b", tlog.Registration, 400), []tlog.Entry{
			{Kind: tlog.Correction, Index: 7, To: tlog.Own}, {Kind: tlog.Vouched, Index: 12},
		}),
		day("2026-11-21-2", 1, records("c", tlog.Registration, 53)),
		day("2026-11-25", 1, records("d", tlog.Charter, 5), records("d", tlog.Registration, 500)),
		day("2027-01-02", 2, records("e", tlog.Registration, 20), []tlog.Entry{
			{Kind: tlog.Correction, Index: 8, To: tlog.None}, {Kind: tlog.Vouched, Index: 13},
		}),
	)
}

func check(t testing.TB, p *published, o tlog.Checking) *tlog.Report {
	t.Helper()
	o.Read, o.AtOnce = p.read, 3
	r, err := tlog.Check(&o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Files != p.reads.Load() && r.OK() && o.Kept == nil {
		t.Errorf("it says that %d files were read, and %d were", r.Files, p.reads.Load())
	}
	return r
}

// What a service publishes passes, and the report says what was found.
func TestCheck(t *testing.T) {
	p := years(t)
	r := check(t, p, tlog.Checking{})
	if !r.OK() {
		t.Fatalf("%+v %+v", r.Faults, r.Forks)
	}
	if len(r.Trees) != 2 || r.Trees[0].Size+r.Trees[1].Size != p.log.Size() || len(r.Verifications) != 5 || r.Verifications[4].Counts != p.log.Counts() {
		t.Errorf("%+v", r)
	}
	if int(r.Files) != len(p.files) {
		t.Errorf("%d files are published, and %d were read", len(p.files), r.Files)
	}
	if r := check(t, p.clone(), tlog.Checking{Keys: []string{p.log.Keys[1], p.log.Keys[0]}}); !r.OK() {
		t.Errorf("with the keys in another order: %+v", r.Faults)
	}
}

// Every published byte counts: a log of which any file was changed, cut off or taken away fails.
func TestCheckEveryFile(t *testing.T) {
	whole := years(t)
	lookups := 0
	for path, text := range whole.files {
		if strings.Contains(path, "/lookup/") {
			if lookups++; lookups > 5 { // they are many, and all alike
				continue
			}
		}
		flipped := bytes.Clone(text)
		flipped[len(flipped)/2] ^= 1
		for how, changed := range map[string][]byte{"flipped": flipped, "cut off": text[:len(text)-1], "empty": {}, "gone": nil} {
			p := whole.clone()
			if p.files[path] = changed; changed == nil {
				delete(p.files, path)
			}
			r, err := tlog.Check(&tlog.Checking{Read: p.read, AtOnce: 2})
			if path == tlog.KeysPath && how == "gone" {
				if !errors.Is(err, tlog.ErrNoLog) {
					t.Errorf("without keys: %v", err)
				}
				continue
			}
			if err != nil || r.OK() {
				t.Errorf("%s %s: %v, no fault", path, how, err)
			}
		}
	}
}

// tampered are logs that were tampered with, by what was done.
func tampered(t testing.TB) map[string]*published {
	whole := years(t)
	logs := map[string]*published{}
	change := func(name string, change func(p *published)) {
		p := whole.clone()
		change(p)
		logs[name] = p
	}
	replace := func(p *published, path, old, with string) {
		text := string(p.files[path])
		if !strings.Contains(text, old) {
			t.Fatalf("%s does not hold %q", path, old)
		}
		p.files[path] = []byte(strings.Replace(text, old, with, 1))
	}
	first := whole.log.Trees[0]
	hash := whole.log.HashAt(5)
	change("an entry counts as another kind", func(p *published) {
		replace(p, "/log/tile/entries/000", `{"kind":"registration"`, `{"kind":"registratiom"`)
	})
	change("a hash in a tile", func(p *published) {
		tile := bytes.Clone(p.files["/log/tile/0/001"])
		tile[40] ^= 1
		p.files["/log/tile/0/001"] = tile
	})
	change("a bundle is gone", func(p *published) { delete(p.files, "/log/tile/entries/001") })
	change("a bundle and its tile are gone", func(p *published) {
		delete(p.files, "/log/tile/entries/001")
		delete(p.files, "/log/tile/0/001")
	})
	change("an older board was rewritten", func(p *published) {
		replace(p, "/scoreboard/2026-11-20.json", `"charters_filed":2`, `"charters_filed":3`)
	})
	change("the newest board has other numbers", func(p *published) {
		replace(p, "/scoreboard.json", `"charters_filed":7`, `"charters_filed":8`)
	})
	change("a record is missing in the look-up", func(p *published) {
		path := tlog.LookupPath(hash)
		lines := strings.SplitAfter(string(p.files[path]), "\n")
		p.files[path] = []byte(strings.Join(slices.DeleteFunc(lines, func(line string) bool { return strings.HasPrefix(line, hash) }), ""))
	})
	change("the look-up has another index", func(p *published) {
		replace(p, tlog.LookupPath(hash), hash+" 5 ", hash+" 6 ")
	})
	change("the look-up has another verification", func(p *published) {
		replace(p, tlog.LookupPath(hash), hash+" 5 2026-11-20 ", hash+" 5 2026-11-21 ")
	})
	change("the look-up hides a correction", func(p *published) {
		corrected := whole.log.HashAt(7)
		replace(p, tlog.LookupPath(corrected), corrected+" 7 2026-11-20 registration own", corrected+" 7 2026-11-20 registration")
	})
	change("the look-up has what was not logged", func(p *published) {
		path := tlog.LookupPath(hash)
		p.files[path] = append(bytes.Clone(p.files[path]), hash[:3]+strings.Repeat("f", 61)+" 5 2026-11-20 registration\n"...)
	})
	change("another key is published", func(p *published) {
		_, key := signer(t, 3)
		p.files[tlog.KeysPath] = append(bytes.Clone(p.files[tlog.KeysPath]), key+"\n"...)
	})
	change("the policy is for another key", func(p *published) {
		p.files[tlog.PolicyPath("/log")] = p.files[tlog.PolicyPath("/log/2")]
	})
	change("an older checkpoint is in the place of the newest", func(p *published) {
		p.files[tlog.CheckpointPath("/log")] = p.files[tlog.CheckpointOf("/log", 308)]
	})
	change("the tree under the first key is gone", func(p *published) { delete(p.files, tlog.CheckpointPath(first.Path())) })
	return logs
}

// What is said of each way of tampering is in testdata/faults.txt.
func TestCheckFaults(t *testing.T) {
	var b strings.Builder
	logs := tampered(t)
	names := make([]string, 0, len(logs))
	for name := range logs {
		names = append(names, name)
	}
	slices.Sort(names)
	_, key := signer(t, 1)
	_, second := signer(t, 2)
	for _, name := range names {
		fmt.Fprintf(&b, "=== %s\n", name)
		r := check(t, logs[name], tlog.Checking{Keys: []string{key, second}})
		if r.OK() {
			t.Errorf("%s: no fault", name)
		}
		for _, f := range r.Faults {
			fmt.Fprintf(&b, "%s: %s\n", f.Path, f.What)
		}
		for _, f := range r.Forks {
			fmt.Fprintf(&b, "fork of %s: %s\n", f.Origin, f.What)
		}
		if r.MoreFaults > 0 {
			fmt.Fprintf(&b, "and %d more\n", r.MoreFaults)
		}
	}
	golden(t, "faults.txt", b.String())
}

// golden compares a text with a file of testdata, or writes that.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || string(want) != got {
		t.Errorf("%s (-update writes it): %v\n%s", file, err, got)
	}
}

// From a kept checkpoint on only what came after it is read, unless that is about what came before.
func TestCheckSince(t *testing.T) {
	p := years(t)
	for _, c := range []struct {
		stage int
		from  int64 // that the check begins at
	}{
		{0, 0}, // a correction and a vouching came after it
		{1, 0}, // so they did here, under the second key
		{3, 0},
		{4, 0}, // of the second tree
	} {
		r := check(t, p.clone(), tlog.Checking{Kept: p.log.Stages[c.stage].Checkpoint})
		if !r.OK() || r.From != c.from || len(r.Verifications) != 5 {
			t.Errorf("since stage %d: from %d, %+v %+v", c.stage, r.From, r.Faults, r.Forks)
		}
	}
	const first = 66100
	quiet := func(sizes ...int) *published {
		var additions []addition
		for i, n := range sizes {
			day := fmt.Sprintf("2026-11-%02d", i+1)
			additions = append(additions, addition{day, 1, records(day, tlog.Registration, n)})
		}
		return publish(t, nil, additions...)
	}
	for _, sizes := range [][]int{{255, 1, 300}, {511, 1, 1}, {0, 0}, {3, 5}, {first, 5, 600, 3}, {65534, 3}} {
		p := quiet(sizes...)
		for i, s := range p.log.Stages {
			q := p.clone()
			r := check(t, q, tlog.Checking{Kept: s.Checkpoint})
			if !r.OK() || r.From != s.Size || len(r.Verifications) != len(sizes)-i-1 {
				t.Errorf("%v since %d: from %d, %d verifications, %+v %+v", sizes, s.Size, r.From, len(r.Verifications), r.Faults, r.Forks)
			}
			if sizes[0] == first && i == 2 && r.Files > 30 {
				t.Errorf("%d files are read for four entries", r.Files)
			}
		}
	}
	// What is wrong behind the kept checkpoint is found.
	p = quiet(300, 300, 400)
	for _, path := range []string{
		"/log/checkpoint", "/log/checkpoints/1003", "/log/tile/0/002", "/log/tile/0/003.p/235", "/log/tile/1/000.p/3",
		"/log/tile/entries/002", "/log/tile/entries/003.p/235", "/log/verifications/2026-11-03.tlog-proof", "/scoreboard/2026-11-03.json",
		tlog.LookupPath(p.log.HashAt(700)),
	} {
		q := p.clone()
		changed := bytes.Clone(p.files[path])
		changed[len(changed)*2/3] ^= 1
		q.files[path] = changed
		if r, err := tlog.Check(&tlog.Checking{Read: q.read, Kept: p.log.Stages[1].Checkpoint}); err != nil || r.OK() {
			t.Errorf("%s: %v, no fault", path, err)
		}
	}
}

// Two trees under one key are a fork, and both notes are the evidence.
func TestCheckFork(t *testing.T) {
	honest := years(t)
	day := func(n int) []addition {
		return []addition{{"2026-11-20", 1, records("other", tlog.Registration, 307)}, {"2026-11-21", 1, records("other", tlog.Charter, n)}}
	}
	other := publish(t, nil, day(402)...)
	for name, c := range map[string]struct {
		p    *published
		kept []byte
		want string
	}{
		"of one size": {honest, other.log.Stages[0].Checkpoint, "the tree of 1271 entries does not begin with that of 308"},
		"of the size": {publish(t, nil, addition{"2026-11-20", 1, records("mine", tlog.Own, 307)}), other.log.Stages[0].Checkpoint, "two trees of 308 entries are signed"},
		"among the others": {func() *published {
			p := honest.clone()
			p.files["/log/checkpoints/308"] = other.log.Stages[0].Checkpoint
			return p
		}(), nil, "the tree of 1271 entries does not begin with that of 308"},
	} {
		r := check(t, c.p, tlog.Checking{Kept: c.kept})
		if len(r.Forks) != 1 || r.Forks[0].What != c.want {
			t.Errorf("%s: %+v %+v", name, r.Forks, r.Faults)
			continue
		}
		_, key := signer(t, 1)
		for _, text := range r.Forks[0].Notes {
			if _, err := tlog.Open([]byte(text), []string{key}, nil); err != nil {
				t.Errorf("%s: %v in\n%s", name, err, text)
			}
		}
	}
	// An old state of a log is at fault, and proves nothing against whoever has the key.
	r := check(t, publish(t, nil, day(1)...), tlog.Checking{Kept: other.log.Stages[1].Checkpoint})
	if want := (tlog.PublishFault{Path: "/log/checkpoint", What: "is of 310 entries, and one of 711 was signed before: this is an old state of the log"}); len(r.Forks) > 0 || !slices.Equal(r.Faults, []tlog.PublishFault{want}) {
		t.Errorf("an old state: %+v %+v", r.Forks, r.Faults)
	}
	// A kept checkpoint of another service is none to check with.
	foreign := bytes.ReplaceAll(other.log.Stages[0].Checkpoint, []byte("www.base.example"), []byte("www.else.example"))
	if _, err := tlog.Check(&tlog.Checking{Read: honest.read, Kept: foreign}); !errors.Is(err, tlog.ErrKept) {
		t.Errorf("error %v", err)
	}
}

// What cannot be read ends the check, with what was found up to there.
func TestCheckUnread(t *testing.T) {
	whole := years(t)
	lookups := 0
	for path := range whole.files {
		if strings.Contains(path, "/lookup/") {
			if lookups++; lookups > 3 {
				continue
			}
		}
		unread := errors.New("the line is cut")
		read := func(p string) ([]byte, error) {
			if p == path {
				return nil, unread
			}
			return whole.read(p)
		}
		if r, err := tlog.Check(&tlog.Checking{Read: read, AtOnce: 4}); !errors.Is(err, unread) || r == nil || len(r.Faults) > 0 {
			t.Errorf("%s: %v, %+v", path, err, r)
		}
	}
}

// A check ends where it has found enough.
func TestCheckBounds(t *testing.T) {
	p := years(t)
	for path := range p.files {
		if strings.Contains(path, "/tile/entries") {
			delete(p.files, path)
		}
	}
	for path := range p.files {
		if strings.Contains(path, "/tile/0/") {
			delete(p.files, path)
		}
	}
	if r, err := tlog.Check(&tlog.Checking{Read: p.read}); err != nil || r.OK() || len(r.Faults) > 100 || r.Files > 10 {
		t.Errorf("%v, %+v", err, r)
	}
}

// FuzzCheckFile gives a check any text in the place of one of the published files.
func FuzzCheckFile(f *testing.F) {
	p := years(f)
	paths := []string{
		"/log/vkey", "/log/policy", "/log/checkpoint", "/log/checkpoints/308", "/log/tile/entries/000", "/log/tile/0/000",
		"/log/verifications/2026-11-20.tlog-proof", "/scoreboard.json", tlog.LookupPath(p.log.HashAt(0)), "/log/tile/1/000.p/1",
	}
	for i, path := range paths {
		if p.files[path] == nil {
			f.Fatalf("there is no %s", path)
		}
		f.Add(uint(i), p.files[path])
		f.Add(uint(i), []byte("# 1\n— x AAAA\n"))
	}
	f.Fuzz(func(t *testing.T, which uint, text []byte) {
		path := paths[which%uint(len(paths))]
		read := func(asked string) ([]byte, error) {
			if asked == path {
				return text, nil
			}
			return p.read(asked)
		}
		r, err := tlog.Check(&tlog.Checking{Read: read, Keys: p.log.Keys, AtOnce: 2})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return
		}
		if r.OK() && path != "/scoreboard.json" && path != "/log/policy" && !bytes.Equal(text, p.files[path]) && !bytes.HasPrefix(text, p.files[path][:len(p.files[path])/2]) {
			t.Errorf("%s passes as %q", path, text)
		}
	})
}
