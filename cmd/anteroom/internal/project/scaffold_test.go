package project

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"anteroom/content"
	"anteroom/generator/site"

	"go.yaml.in/yaml/v4"
)

func tern() *Service {
	return &Service{
		Name: "Tern", Host: "www.tern.test", Contact: "ada@tern.test", Operator: "Ada of Tern", Sender: "post@tern.test", Worker: "tern",
	}
}

// The repository of the program keeps line ends as that of a new service does.
func TestAttributes(t *testing.T) {
	here, err := os.ReadFile("../../../../.gitattributes")
	check(t, err)
	if files, _ := newFiles(t, tern()); !bytes.Equal(files[".gitattributes"], here) {
		t.Errorf(".gitattributes of a new service:\n%s\nand here:\n%s", files[".gitattributes"], here)
	}
}

var add = flag.Bool("add", false, "add the texts of this program to neutral.sha256")

// isNeutral reports whether a file of a service is a text, and neither settings nor data.
func isNeutral(name string) bool {
	switch name {
	case "content/service.yaml", "content/presence.yaml", "content/jobs.yaml", "content/auditors.yaml":
		return false
	}
	folder := path.Dir(name)
	return folder == "content" || folder == "content/pages" || name == ".gitattributes"
}

// TestNeutral: an upgrade of this program to the next recognizes each neutral text, whatever the
// names of the service.
func TestNeutral(t *testing.T) {
	for _, s := range []*Service{tern(), {Name: "A & B", Host: "www.a.test", Contact: "a@a.test", Operator: "A", Sender: "b@a.test", Worker: "a"}} {
		files, _ := newFiles(t, s)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			line := s.neutralLine(name, files[name])
			if !isNeutral(name) || strings.Contains(neutral, line) {
				continue
			}
			if !*add {
				t.Fatalf("neutral.sha256 lacks %s(run go test ./cmd/anteroom/internal/project -run TestNeutral -add)", line)
			}
			neutral += line
		}
	}
	if *add {
		check(t, os.WriteFile("neutral.sha256", []byte(neutral), 0o666))
	}
}

var newYear = time.Date(2027, 1, 1, 10, 20, 30, 0, time.UTC)

func newFiles(t *testing.T, s *Service) (map[string][]byte, *site.Site) {
	t.Helper()
	files, err := s.files(newYear)
	check(t, err)
	fsys := fstest.MapFS{}
	for name, text := range files {
		if below, found := strings.CutPrefix(name, "content/"); found {
			fsys[below] = &fstest.MapFile{Data: text}
		}
	}
	loaded, err := site.Load(fsys)
	check(t, err)
	return files, loaded
}

func mustRead(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	check(t, err)
	return text
}

// A new service has the values that it was given, a board of zeros, and secrets of its own.
func TestNewService(t *testing.T) {
	files, loaded := newFiles(t, tern())
	board := loaded.Current()
	counts := []int{
		board.Excluded.Records, board.PilotWaitlist.RegistrationsRecorded, board.Orgs.ChartersFiled, board.Suggestions.ReceivedExternal,
		board.Suggestions.OriginatedInternally, len(board.ObservedAttention.NamedClients), len(loaded.Service.PreviewHosts), len(loaded.Service.ReceiptKeys.Retired),
		len(loaded.Service.Log.Key), len(loaded.Log.Stages), loaded.Jobs.Counts["open"], loaded.Jobs.Counts["completed"], loaded.Auditors.Counts["claimed"],
	}
	if board.File != "2027-01-01" || len(loaded.Scoreboards) != 1 || len(board.ObservedAttention.Updates) != 0 || slices.Max(counts) > 0 {
		t.Errorf("the first board: %v, %+v", counts, board)
	}
	s := &loaded.Service
	for what, got := range map[string]struct{ got, want string }{ // the script init has the others
		"name": {s.Name, "Tern"}, "apex": {s.ApexHost, "tern.test"}, "relay.to": {s.Relay.To, "ada@tern.test"}, "key": {s.ReceiptKeys.Current, ""},
		"status": {loaded.Presence.Status, "online"}, "mcp name": {loaded.MCP.Name, "tern"},
		"security": {strings.Join(s.Security.Contacts, " "), "mailto:ada@tern.test https://www.tern.test/field-guide.html#security"},
		"jobs":     {loaded.Jobs.AsOf, "2027-01-01"}, "auditors": {loaded.Auditors.AsOf, "2027-01-01"},
	} {
		if got.got != got.want {
			t.Errorf("%s is %q, want %q", what, got.got, got.want)
		}
	}
	// The comment on the retired key goes with that key, and with the receipt that it signed.
	if text := files["content/service.yaml"]; bytes.Count(text, []byte("#")) != bytes.Count(mustRead(t, "../../../../content/service.yaml"), []byte("#"))-1 {
		t.Errorf("service.yaml lost a comment:\n%s", text)
	}
	if text := files["content/"+site.ReceiptFile]; text != nil || loaded.Receipt != nil {
		t.Errorf("a new service has the receipt %s", text)
	}
	if shipped, err := site.Load(content.Files); err != nil || shipped.Receipt == nil || shipped.Service.CanonicalHost != content.Host {
		t.Errorf("the shipped content of %s has no receipt (%v)", content.Host, err)
	}
	if n := bytes.Count(files["README.md"], []byte("\n")); n > 40 {
		t.Errorf("README.md has %d lines, want at most 40", n)
	}
	again, err := tern().files(newYear)
	if err != nil || bytes.Equal(files["content/service.yaml"], again["content/service.yaml"]) || bytes.Equal(files["wrangler.toml"], again["wrangler.toml"]) {
		t.Errorf("%v, or what is random is the same for two services", err)
	}
}

// The template of wrangler.toml gives the repository's own file for the repository's own values.
func TestWranglerTemplate(t *testing.T) {
	s, err := site.Load(content.Files)
	check(t, err)
	c := &s.Service
	got, err := execute(wranglerConfig, &deployment{
		Worker: "anteroom", Host: c.CanonicalHost, Apex: c.ApexHost, Inbox: c.Relay.To, Sender: c.Relay.From,
		Writes: c.Limits.WritesPerMinute, Namespace: 417263051, PreviewNamespace: 417263052, Anteroom: "go run ./cmd/anteroom", Migrations: "edge/store/migrations",
	})
	check(t, err)
	lines := strings.Split(string(mustRead(t, "../../../../wrangler.toml")), "\n")
	for i, line := range strings.Split(string(got), "\n") {
		if i >= len(lines) || line != lines[i] {
			t.Fatalf("line %d of the template gives %q, and wrangler.toml has another (write both)", i+1, line)
		}
	}
	for worker, want := range map[string]string{"tern": "tern", "tern-co-2": "tern_co_2", "2-terns": "worker_2_terns"} {
		if got := (&deployment{Worker: worker}).Dataset(); got != want {
			t.Errorf("the dataset of %s: %s, want %s", worker, got, want)
		}
	}
}

// A folder gets all files or none. An empty folder keeps its mode.
func TestWrite(t *testing.T) {
	files, err := tern().files(newYear)
	check(t, err)
	parent := t.TempDir()
	dir := filepath.Join(parent, "tern")
	check(t, os.Mkdir(dir, 0o700))
	check(t, os.Symlink("tern", dir+"-link"))
	vacant, err := Vacant(dir + "-link")
	if err != nil || filepath.Base(vacant) != "tern" {
		t.Fatalf("through a link: %s, %v", vacant, err)
	}
	check(t, writeFolder(vacant, files))
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	check(t, os.Remove(filepath.Join(dir, "README.md")))
	if err := writeFolder(dir, files); err == nil {
		t.Error("a folder that was filled meanwhile is replaced")
	}
	if left, _ := os.ReadDir(parent); len(left) != 2 {
		t.Errorf("left %v", left)
	}
}

func TestIdentifier(t *testing.T) {
	for name, want := range map[string]string{
		"Tern": "tern", "  Tern & Co. 2 ": "tern-co-2", "Küste": "k-ste", "北海道": "www-hokkaido", "---": "www-hokkaido",
		strings.Repeat("ab ", 20): "ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-a", strings.Repeat("a", 39) + " b": strings.Repeat("a", 39),
	} {
		if got := identifier(name, "www.Hokkaido"); got != want || workerName(got) != "" {
			t.Errorf("%q gives %q, want %q", name, got, want)
		}
	}
}

// Each bad answer is refused.
func TestAnswers(t *testing.T) {
	bad := map[string][]string{
		"name":     {"", " ", "a ", "a\tb", "a\nb", "a\x00", "a\u202eb", "a\xff", strings.Repeat("é", 61), "a [[service]]", "# a", "<!-- a"},
		"operator": {"\x7f", strings.Repeat("a", 101)},
		"host":     {"", "tern.test", "www.tern", "WWW.tern.test", "www.-a.test", "https://www.tern.test", "www.tern.test.", "www.tern.test:80", "www." + strings.Repeat("a.", 130) + "test"},
		"contact":  {"", "ada", "Ada <ada@tern.test>", "ada@tern", "a@b.test\r\nBcc: c@d.test"},
		"sender":   {"@tern.test", "a..b@tern.test"},
		"worker":   {"", "Tern", "a--b", "-a", strings.Repeat("a", 41)},
	}
	for _, q := range tern().Questions() {
		if want := q.Check(*q.Value); want != "" {
			t.Errorf("--%s %s: %s", q.Flag, *q.Value, want)
		}
		for _, text := range bad[q.Flag] {
			if q.Check(text) == "" {
				t.Errorf("--%s %q is taken", q.Flag, text)
			}
		}
	}
	if want := serviceName(strings.Repeat("é", 60)); want != "" {
		t.Errorf("a name of 60 characters: %s", want)
	}
}

// Whatever a name holds, the YAML in which it is written gives it back, and nothing else changes.
func FuzzEdit(f *testing.F) {
	for _, name := range []string{
		"Tern", "true", "12", "null", "a: b", "a #b", `a "b"`, "a'", "2026-11-21", "é", `a\b`, "a:", "0x1", "1e3", "a\u00a0b", "a😀", "$1", strings.Repeat("a b", 20),
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if serviceName(name) != "" || strings.ContainsAny(name, "\ufdd0\ufdd1\ufdd2\ufffe\uffff") {
			return // the loader refuses these characters, and generate says so
		}
		text := "# before\nname: Anteroom\nempty: \"\" # behind\n"
		want := strings.NewReplacer("Anteroom", quoted(name), `""`, quoted(name)).Replace(text)
		edited, err := edit{"name: ", quoted(name)}.apply([]byte(text))
		if err == nil {
			edited, err = edit{"empty: ", quoted(name)}.apply(edited)
		}
		var read struct{ Name, Empty string }
		if err == nil {
			err = yaml.Load(edited, &read)
		}
		if err != nil || string(edited) != want || read.Name != name || read.Empty != name {
			t.Fatalf("%q, %q, %v", edited, read, err)
		}
	})
}

// A line that is missing, that is there twice, or that has no text of one line is not edited.
func TestEditRefuses(t *testing.T) {
	for _, text := range []string{"b: c\n", "  a: b\n", "a: b\na: c\n", "a: >-\n  b\n", "a: 'b'\n", "a: [b]\n", "a:\n  b: c\n", "a: # b\n"} {
		if edited, err := (edit{"a: ", "new"}).apply([]byte(text)); err == nil {
			t.Errorf("%q becomes %q", text, edited)
		}
	}
}

// Texts of earlier releases are replaced if nobody has edited them, and removed if this program has
// no such text.
func TestUpdate(t *testing.T) {
	s, dir := tern(), t.TempDir()
	files, _ := newFiles(t, s)
	before := neutral
	t.Cleanup(func() { neutral = before })
	for name, text := range map[string]string{"content/pages/terms.md": "older", "content/pages/gone.md": "gone", "content/pages/old.md": "old"} {
		files[name] = []byte(text + " at " + s.Host)
		neutral += s.neutralLine(name, files[name])
	}
	files["content/pages/old.md"] = []byte("edited")
	for name, text := range files {
		check(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700), os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	report, err := Update(dir, newYear)
	want := []string{"content/pages/gone.md: removed", "content/pages/old.md: no longer used; remove it, as you edited it", "content/pages/terms.md: replaced"}
	if err != nil || !slices.Equal(report, want) {
		t.Errorf("%q, %v", report, err)
	}
	if again, err := Update(dir, newYear); err != nil || !slices.Equal(again, want[1:2]) {
		t.Errorf("again: %q, %v", again, err)
	}
}
