package site

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"anteroom/edge/api"
	"anteroom/edge/respond"
	"anteroom/generator/site/sitetest"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the wanted faults")

// base is the smallest content folder without a fault. Pages that every folder has, and words of
// what the tables of the program hold, are added to that of testdata/base.txtar.
func base(t testing.TB) fstest.MapFS {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/base.txtar")
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{"problems.yaml": {Data: problemsYAML()}}
	for _, f := range archive.Files {
		fsys[f.Name] = &fstest.MapFile{Data: f.Data}
	}
	for name, markers := range Markers {
		if file := "pages/" + name + ".md"; fsys[file] == nil {
			page := "---\ntitle: Page\ndescription: About it.\nupdated: 2026-01-31\n---\nText.\n"
			for _, marker := range markers {
				page += "\n" + Marker(marker) + "\n"
			}
			fsys[file] = &fstest.MapFile{Data: []byte(page)}
		}
	}
	words := fsys["mcp.yaml"]
	words.Data = slices.Clip(words.Data) // the archive continues behind it
	for i := range api.Tools {
		if name := "\n  " + api.Tools[i].Name + ": "; !strings.Contains(string(words.Data), name) {
			words.Data = append(words.Data, name[1:]+"{title: Tool, description: Words.}\n"...)
		}
	}
	sitetest.Verify(fsys)
	return fsys
}

func problemsYAML() []byte {
	var b strings.Builder
	b.WriteString("types:\n")
	for _, p := range respond.ProblemTypes {
		b.WriteString("  " + p.Slug + ": Words.\n")
	}
	b.WriteString("codes:\n")
	for _, code := range api.Codes {
		b.WriteString("  " + code + ": Words.\n")
	}
	b.WriteString("pages:\n")
	for _, p := range respond.ProblemTypes {
		b.WriteString("  " + p.Slug + ": {why: Words., next: Words., recorded: Words., detail: Words.}\n")
	}
	return []byte(b.String())
}

func TestBaseHasNoFault(t *testing.T) {
	s, err := Load(base(t))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(s.Jobs.Groups[1].AppendJSON(nil)), `[{"id":"two","title":"Second","description":"Done.","status":"completed","posted":"2026-02-01","completed_on":"2026-02-03","reward_credit_units":12,"tags":[],"poster":"ada"}]`; got != want {
		t.Errorf("completed jobs:\n got %s\nwant %s", got, want)
	}
	if s.Jobs.Counts["open"] != 1 || s.Jobs.Counts["completed"] != 1 || s.Auditors.Counts["claimed"] != 1 || s.Auditors.Counts["verified"] != 0 {
		t.Errorf("counts: %v, %v", s.Jobs.Counts, s.Auditors.Counts)
	}
}

// TestFaults runs the cases of testdata/faults. The file files.txtar there says how cases are
// written.
func TestFaults(t *testing.T) {
	families, err := filepath.Glob("testdata/faults/*.txtar")
	if err != nil || len(families) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, family := range families {
		archive, err := txtar.ParseFile(family)
		if err != nil {
			t.Fatal(err)
		}
		for i := range archive.Files {
			c := &archive.Files[i]
			t.Run(strings.TrimSuffix(filepath.Base(family), ".txtar")+"/"+c.Name, func(t *testing.T) {
				fsys := base(t)
				edits, want := split(string(c.Data))
				edit(t, fsys, edits)
				if !strings.Contains(edits, "@verify\n") {
					sitetest.Verify(fsys)
				}
				_, err := Load(fsys)
				faults, ok := err.(Errors)
				if !ok {
					t.Fatalf("want Errors, got %v", err)
				}
				if *update {
					c.Data = []byte(edits + "> " + strings.ReplaceAll(faults.Error(), "\n", "\n> ") + "\n")
				} else if faults.Error() != want {
					t.Errorf("got\n%s\nwant\n%s", faults, want)
				}
			})
		}
		if *update {
			if err := os.WriteFile(family, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// split separates the edits of a case from the faults that it wants.
func split(text string) (edits, want string) {
	var faults []string
	for line := range strings.Lines(text) {
		if fault, ok := strings.CutPrefix(line, "> "); ok {
			faults = append(faults, strings.TrimSuffix(fault, "\n"))
		} else {
			edits += line
		}
	}
	return edits, strings.Join(faults, "\n")
}

func edit(t *testing.T, fsys fstest.MapFS, edits string) {
	var file string
	var lines []string
	at := 0
	save := func() {
		if file != "" {
			fsys[file] = &fstest.MapFile{Data: []byte(strings.Join(lines, ""))}
		}
		file = ""
	}
	for line := range strings.Lines(edits) {
		switch words := strings.Fields(line); {
		case strings.HasPrefix(line, "@ "):
			save()
			file, lines, at = words[1], nil, 0
			if f, ok := fsys[file]; ok {
				lines = slices.Collect(strings.Lines(string(f.Data)))
			}
		case strings.HasPrefix(line, "@rm "):
			save()
			delete(fsys, words[1])
		case strings.HasPrefix(line, "@copy "):
			save()
			fsys[words[2]] = &fstest.MapFile{Data: fsys[words[1]].Data}
		case line == "@verify\n":
			save()
			sitetest.Verify(fsys)
		case strings.HasPrefix(line, "@sum "):
			save()
			setSum(fsys[words[1]])
		case line == "@sum\n":
			save()
			setSums(fsys)
		case strings.HasPrefix(line, "- "):
			found := slices.Index(lines[at:], line[2:])
			if found < 0 {
				t.Fatalf("%s has no line %q behind line %d", file, line[2:], at)
			}
			at += found
			lines = slices.Delete(lines, at, at+1)
		case strings.HasPrefix(line, "+ "):
			lines = slices.Insert(lines, at, line[2:])
			at++
		default:
			t.Fatalf("not an edit: %q", line)
		}
	}
	save()
}

func TestMissingFolder(t *testing.T) {
	_, err := Load(os.DirFS("testdata/none"))
	faults, ok := err.(Errors)
	if !ok || len(faults) != 1 || faults[0].File != "." {
		t.Fatalf("want one fault of the folder, got %v", err)
	}
}

func TestUnreadable(t *testing.T) {
	tests := []struct{ name, file, data, want string }{
		{"byte order mark", "llms.yaml", "\ufeffintro: [a]\n", "llms.yaml:1:1: contains the control character U+FEFF (remove it)"},
		{"not UTF-8", "llms.yaml", "intro:\n  - é\xff\n", "llms.yaml:2:6: not valid UTF-8 (save the file as UTF-8)"},
		{"control character", "llms.yaml", "intro: [\x00]\n", "llms.yaml:1:9: contains the control character U+0000 (remove it)"},
		{"a page not in UTF-8", "pages/privacy.md", "---\n\xc3", "pages/privacy.md:2:1: not valid UTF-8 (save the file as UTF-8)"},
		{"a list that is not UTF-8", "auditors.json", "{\"as_of\": \"\xff\"}", "auditors.json:1:12: not valid JSON: invalid UTF-8"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			fsys := base(t)
			fsys[test.file] = &fstest.MapFile{Data: []byte(test.data)}
			if _, err := Load(fsys); err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

// TestStatic: the operator's own files are published byte for byte at the paths they have in their
// folder, and what must not be published is refused.
func TestStatic(t *testing.T) {
	fsys := base(t)
	for _, name := range []string{"favicon.ico", ".well-known/a-b_c.d~e/F", "img/0"} {
		fsys["static/"+name] = &fstest.MapFile{Data: []byte("\x00\xff\r\n[[base_url]]" + name)}
	}
	s, err := Load(fsys)
	if err != nil || len(s.Static) != 3 || s.Static[0].Path != "/.well-known/a-b_c.d~e/F" || string(s.Static[1].Bytes) != "\x00\xff\r\n[[base_url]]favicon.ico" {
		t.Errorf("%v: %+v", err, s)
	}
	const name = ": not the name of a file to publish (use A-Z, a-z, 0-9 and - . _ ~ only, and begin no name at the top with _)"
	for file, c := range map[string]struct {
		file fstest.MapFile
		want string
	}{
		"static/a b":     {fstest.MapFile{Data: []byte("x")}, name},
		"static/é.png":   {fstest.MapFile{Data: []byte("x")}, name},
		"static/link":    {fstest.MapFile{Data: []byte("aup.yaml"), Mode: fs.ModeSymlink}, ": not a file: a link, or a pipe (put a copy of the file here)"},
		"pages/terms.md": {fstest.MapFile{Mode: fs.ModeNamedPipe}, ": cannot be read: terms.md is a pipe, a socket or a device, want a file"},
		"static/big":     {fstest.MapFile{Data: make([]byte, maxStatic+1)}, ": too large (a file has at most 25 MiB)"},
		"static/empty":   {fstest.MapFile{}, ": empty (write it)"},
		"static/b.sql":   {fstest.MapFile{Data: []byte("SQLite format 3\x00\x10")}, ":1:1: a database is here (everything in the content is published: move it away)"},
		"static/key":     {fstest.MapFile{Data: []byte("\x00anteroom-secret:AAAA")}, ":1:2: a secret receipt key is here (" + secretHint + "anteroom key rotate)"},
		"static":         {fstest.MapFile{Data: []byte("x")}, ": nothing reads this file ("},
	} {
		fsys := base(t)
		fsys[file] = &c.file
		if _, err := Load(fsys); err == nil || !strings.HasPrefix(err.Error(), file+c.want) {
			t.Errorf("%q: got %v, want %s", file, err, c.want)
		}
	}
	fsys["static/sqlite.wasm"] = &fstest.MapFile{Data: []byte("\x00asm SQLite format 3\x00")}
	if _, err := Load(fsys); err != nil {
		t.Errorf("a program that knows databases: %v", err)
	}
}

func TestSourceChangesWithEveryByteAndName(t *testing.T) {
	source := func(change func(fstest.MapFS)) string {
		fsys := base(t)
		change(fsys)
		s, err := Load(fsys)
		if err != nil {
			t.Fatal(err)
		}
		return string(s.Source)
	}
	seen := map[string]bool{}
	for n, change := range []func(fstest.MapFS){
		func(fstest.MapFS) {},
		func(f fstest.MapFS) { f["aup.yaml"].Data = append(f["aup.yaml"].Data, '\n') },
		func(f fstest.MapFS) { f["auditors.json"].Data = append(f["auditors.json"].Data, ' ') },
		func(f fstest.MapFS) { f["pages/more.md"] = f["pages/privacy.md"] },
		func(f fstest.MapFS) { f["pages/less.md"] = f["pages/privacy.md"] },
		func(f fstest.MapFS) { f["static/.well-known/a"] = &fstest.MapFile{Data: []byte("a")} },
		func(f fstest.MapFS) { f["static/.well-known/a"] = &fstest.MapFile{Data: []byte("b")} },
	} {
		if seen[source(change)] = true; len(seen) != n+1 {
			t.Errorf("%d folders have %d versions", n+1, len(seen))
		}
	}
	for _, name := range []string{
		".ignored", "pages/.privacy.md.swp", "pages/#privacy.md#", "scoreboard/2026-11-20.yaml.bak", "jobs.yaml.orig", "jobs.yaml.rej", "jobs.yaml.bck",
		"a.tmp", "a.swp", "old~/aup.yaml", "static/.htaccess", "static/.well-known/.a", "static/a/.well-known/b", ".well-known/a",
		"content.go", // makes the folder a Go package
	} {
		if !seen[source(func(f fstest.MapFS) { f[name] = f["aup.yaml"] })] {
			t.Errorf("%s, which is not content, changes the version", name)
		}
	}
	fsys := base(t)
	fsys["pages/content.go"] = fsys["aup.yaml"]
	if _, err := Load(fsys); err == nil || !strings.HasPrefix(err.Error(), "pages/content.go: nothing reads this file (") {
		t.Errorf("content.go in a folder below: %v", err)
	}
}

// Boards of one day are ordered by their number, and the last is current.
func TestBoardsOfOneDay(t *testing.T) {
	fsys := base(t)
	first := string(fsys["scoreboard/2026-01-31.yaml"].Data)
	want := []string{"2026-01-31"}
	for n := 2; n <= 11; n++ {
		name := "2026-01-31-" + strconv.Itoa(n)
		want = append(want, name)
		fsys["scoreboard/"+name+".yaml"] = &fstest.MapFile{Data: []byte(strings.Replace(first, "registrations_recorded: 3", "registrations_recorded: "+strconv.Itoa(3+n), 1))}
	}
	fsys["scoreboard/2026-01-30.yaml"] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(first, "2026-01-31", "2026-01-30"))}
	want = append([]string{"2026-01-30"}, want...)
	sitetest.Verify(fsys)
	s, err := Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range s.Scoreboards {
		names = append(names, s.Scoreboards[i].File)
	}
	if !slices.Equal(names, want) {
		t.Errorf("the order is %q, want %q", names, want)
	}
	if n := s.Current().PilotWaitlist.RegistrationsRecorded; n != 14 {
		t.Errorf("the current board has %d registrations recorded, want 14", n)
	}

	for _, name := range []string{"2026-01-31-1", "2026-01-31-02", "2026-01-31-", "2026-01-31-2-2", "2026-01-31-1000"} {
		fsys := base(t)
		fsys["scoreboard/"+name+".yaml"] = fsys["scoreboard/2026-01-31.yaml"]
		if _, err := Load(fsys); err == nil || !strings.Contains(err.Error(), "not the name of a hand verification") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
