package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/content"
	"anteroom/edge/api"
	"anteroom/edge/native/disk"
	"anteroom/generator"
	"anteroom/generator/site"
)

// tern is a service that is not the shipped one.
func tern() *service {
	return &service{
		Name: "Tern", Host: "www.tern.test", Contact: "ada@tern.test", Operator: "Ada of Tern", Sender: "post@tern.test", Worker: "tern",
	}
}

// newYear is a moment of a day on which nothing was published.
var newYear = time.Date(2027, 1, 1, 10, 20, 30, 0, time.UTC)

// newFiles are the files of a new service, with its documents under public/.
func newFiles(t *testing.T, s *service) (map[string][]byte, *site.Site) {
	t.Helper()
	files, err := s.files(newYear)
	if err != nil {
		t.Fatal(err)
	}
	fsys := fstest.MapFS{}
	for name, text := range files {
		if below, found := strings.CutPrefix(name, "content/"); found {
			fsys[below] = &fstest.MapFile{Data: text}
		}
	}
	loaded, err := site.Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	output, err := generator.Generate(loaded, api.Routes)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range output.Documents {
		files["public"+d.Path] = d.Content()
	}
	return files, loaded
}

// Nothing of the service that the program carries is left in a new one. The vectors are the same
// for every service, dates included.
func TestNewServiceIsItsOwn(t *testing.T) {
	shipped, err := site.Load(content.Files)
	if err != nil {
		t.Fatal(err)
	}
	files, loaded := newFiles(t, tern())
	c := &shipped.Service
	foreign := []string{c.Name, c.ApexHost, c.Contact, c.Operator, c.IndexNow.Key, c.Relay.From, c.Security.Expires, shipped.Presence.Since, shipped.Jobs.AsOf, shipped.Auditors.AsOf}
	for _, board := range shipped.Scoreboards {
		foreign = append(foreign, board.AsOf)
	}
	for _, page := range shipped.Pages {
		foreign = append(foreign, page.Updated)
	}
	commands := []string{"--help"}
	for _, command := range rootCommand(cli.New(nil, io.Discard, io.Discard)).Commands() {
		commands = append(commands, command.Name())
	}
	command := regexp.MustCompile("`anteroom`|" + `\banteroom (` + strings.Join(commands, "|") + `)\b`)
	checking := regexp.MustCompile(`\banteroom log (prove|check)\b`)
	for name, text := range files {
		for _, words := range foreign {
			if bytes.Contains(text, []byte(words)) && !strings.HasPrefix(name, "public/vectors/") || strings.Contains(name, words) {
				t.Errorf("%s holds %q", name, words)
			}
		}
		// Who runs the service reads of the program's commands, and its callers of those alone that
		// check the public log.
		text = checking.ReplaceAll(text, nil)
		if !strings.HasPrefix(name, "public/") && name != ".gitignore" {
			text = command.ReplaceAll(text, nil)
		}
		if at := bytes.Index(bytes.ToLower(text), []byte("anteroom")); at >= 0 {
			t.Errorf("%s names the shipped service: %.60q", name, text[at:])
		}
	}
	board := loaded.Current()
	if board.File != "2027-01-01" || len(loaded.Scoreboards) != 1 || len(board.ObservedAttention.Updates) != 1 ||
		board.ObservedAttention.Updates[0].Date != "2027-01-01" || len(board.ObservedAttention.NamedClients) > 0 {
		t.Errorf("the first board: %+v", board)
	}
	if n := board.Excluded.Records + board.PilotWaitlist.RegistrationsRecorded + board.Orgs.ChartersFiled + board.Suggestions.ReceivedExternal + board.Suggestions.OriginatedInternally; n > 0 {
		t.Errorf("the first board claims counts: %+v", board)
	}
	s := &loaded.Service
	for what, got := range map[string]struct{ got, want string }{
		"name": {s.Name, "Tern"}, "canonical host": {s.CanonicalHost, "www.tern.test"}, "apex": {s.ApexHost, "tern.test"},
		"operator": {s.Operator, "Ada of Tern"}, "contact": {s.Contact, "ada@tern.test"}, "relay.from": {s.Relay.From, "post@tern.test"},
		"relay.to": {s.Relay.To, "ada@tern.test"}, "webhook": {s.Relay.Webhook, ""}, "key": {s.ReceiptKeys.Current, ""},
		"expires": {s.Security.Expires, "2028-01-01T00:00:00Z"}, "since": {loaded.Presence.Since, "2027-01-01T10:20:30Z"},
		"status": {loaded.Presence.Status, "online"}, "mcp name": {loaded.MCP.Name, "tern"},
		"security": {strings.Join(s.Security.Contacts, " "), "mailto:ada@tern.test https://www.tern.test/field-guide.html#security"},
		"jobs":     {loaded.Jobs.AsOf, "2027-01-01"}, "auditors": {loaded.Auditors.AsOf, "2027-01-01"},
	} {
		if got.got != got.want {
			t.Errorf("%s is %q, want %q", what, got.got, got.want)
		}
	}
	if len(s.PreviewHosts)+len(s.ReceiptKeys.Retired)+len(s.Log.Keys)+len(s.Log.Witnesses)+len(loaded.Log.Stages)+loaded.Jobs.Counts["open"]+loaded.Jobs.Counts["completed"]+loaded.Auditors.Counts["claimed"] > 0 {
		t.Error("it has hosts, keys, jobs or audits of the shipped service")
	}
	if text := files["content/service.yaml"]; bytes.Count(text, []byte("#")) != bytes.Count(mustRead(t, "../../content/service.yaml"), []byte("#")) {
		t.Errorf("service.yaml lost a comment:\n%s", text)
	}
	again, _ := newFiles(t, tern())
	for _, name := range []string{"content/service.yaml", "wrangler.toml"} {
		if bytes.Equal(files[name], again[name]) {
			t.Errorf("%s of two services: what is random is the same", name)
		}
	}
}

func mustRead(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The template of wrangler.toml gives the repository's own file for the repository's own values.
func TestWranglerTemplate(t *testing.T) {
	s, err := site.Load(content.Files)
	if err != nil {
		t.Fatal(err)
	}
	c := &s.Service
	got, err := execute("wrangler.toml", wranglerTemplate, &deployment{
		Worker: "anteroom", Host: c.CanonicalHost, Apex: c.ApexHost, Inbox: c.Relay.To, Sender: c.Relay.From,
		Writes: c.Limits.WritesPerMinute, Namespace: 417263051, PreviewNamespace: 417263052, Anteroom: "go run ./cmd/anteroom", Migrations: "edge/store/migrations",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := mustRead(t, "../../wrangler.toml")
	for i, line := range slices.Collect(bytes.Lines(got)) {
		if lines := slices.Collect(bytes.Lines(want)); i >= len(lines) || !bytes.Equal(line, lines[i]) {
			t.Fatalf("line %d of the template gives %q, and wrangler.toml has another (write both)", i+1, line)
		}
	}
	if !bytes.Equal(got, want) {
		t.Error("wrangler.toml has more lines than its template")
	}
}

// A query of Analytics Engine takes the name of a dataset without quotes.
func TestDataset(t *testing.T) {
	for worker, want := range map[string]string{"tern": "tern", "tern-co-2": "tern_co_2", "2-terns": "worker_2_terns"} {
		if got := (&deployment{Worker: worker}).Dataset(); got != want {
			t.Errorf("%s: %s, want %s", worker, got, want)
		}
	}
}

// Whatever is answered on a terminal, a bad answer is asked for again, and an empty one is what
// stands in brackets.
func TestInitAsks(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", now)
	dir := filepath.Join(t.TempDir(), "tern")
	answers := "\nTern\ntern.test\nwww.tern.test\nada\n ada@tern.test \n\n\nTern 2\ntern-2\n"
	var out, prompts bytes.Buffer
	term := cli.New(strings.NewReader(answers), &out, &prompts)
	term.Interactive = true
	cmd := rootCommand(term)
	cmd.SetArgs([]string{"init", dir})
	if err := cmd.Execute(); err != nil {
		t.Fatalf("%v\n%s", err, &prompts)
	}
	want := `the name of the service: want a text
the name of the service: its canonical host: www. and the bare domain, which redirects to it: want www. and a bare domain in lower case, as in www.example.org
its canonical host: www. and the bare domain, which redirects to it: the operator's e-mail address, for callers and for messages of the service: want a bare address: name@anteroom.example
the operator's e-mail address, for callers and for messages of the service: the operator's name [The Tern operator]: the address that messages to the operator come from [relay@tern.test]: the name of the worker, should it run on Cloudflare [tern]: want lower-case letters, digits and single hyphens
the name of the worker, should it run on Cloudflare [tern]: `
	if prompts.String() != want {
		t.Errorf("asked:\n%s\nwant:\n%s", &prompts, want)
	}
	s, err := loadContent(filepath.Join(dir, "content"))
	if err != nil {
		t.Fatal(err)
	}
	if c := &s.Service; c.Name != "Tern" || c.Operator != "The Tern operator" || c.Relay.From != "relay@tern.test" || c.Contact != "ada@tern.test" {
		t.Errorf("the answers are lost: %+v", c)
	}
	if text := mustRead(t, filepath.Join(dir, "wrangler.toml")); !bytes.Contains(text, []byte(`name = "tern-2-preview"`)) {
		t.Errorf("the worker's name is lost:\n%s", text)
	}
}

// Where the answers end, or the user interrupts, nothing is written.
func TestInitWithoutAnswers(t *testing.T) {
	interrupted, stop := context.WithCancel(t.Context())
	stop()
	never, _ := io.Pipe()
	for what, c := range map[string]struct {
		ctx   context.Context
		stdin io.Reader
		want  string
	}{
		"an end":       {t.Context(), strings.NewReader("Tern\n"), "read the answer: EOF"},
		"an interrupt": {interrupted, never, "interrupted"},
	} {
		dir := t.TempDir()
		term := cli.New(c.stdin, io.Discard, io.Discard)
		term.Interactive = true
		cmd := rootCommand(term)
		cmd.SetArgs([]string{"init", filepath.Join(dir, "tern")})
		err := cmd.ExecuteContext(c.ctx)
		if failed := (cli.Failure{}); !errors.As(err, &failed) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", what, err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: left %v", what, left)
		}
	}
}

// At every sync, where a kill or a loss of power may end the program, there is no folder or a whole
// one; and a sync that fails leaves nothing.
func TestInitIsAllOrNothing(t *testing.T) {
	files, err := tern().files(newYear)
	if err != nil {
		t.Fatal(err)
	}
	before := disk.Sync
	t.Cleanup(func() { disk.Sync = before })
	syncs, failAt := 0, -1
	dir := ""
	disk.Sync = func(f *os.File) error {
		syncs++
		for name, text := range files {
			if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
				break
			}
			if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, text) {
				t.Fatalf("at sync %d %s is not whole: %v", syncs, name, err)
			}
		}
		if syncs == failAt {
			return syscall.EIO
		}
		return before(f)
	}
	dir = filepath.Join(t.TempDir(), "tern")
	if err := makeFolder(dir, files); err != nil {
		t.Fatal(err)
	}
	all := syncs
	if all < len(files)+4 {
		t.Errorf("%d syncs for %d files, their four folders and the one above", all, len(files))
	}
	for failAt = 1; failAt < all; failAt++ {
		parent := t.TempDir()
		dir, syncs = filepath.Join(parent, "tern"), 0
		if err := makeFolder(dir, files); !errors.Is(err, syscall.EIO) {
			t.Fatalf("sync %d of %d fails: %v", failAt, all, err)
		}
		if left, _ := os.ReadDir(parent); len(left) > 0 {
			t.Fatalf("sync %d of %d fails: left %v", failAt, all, left)
		}
	}
}

// Content that generate refuses is not put in place, and its fault names the file that was asked
// for.
func TestInitChecksWhatItWrites(t *testing.T) {
	files, err := tern().files(newYear)
	if err != nil {
		t.Fatal(err)
	}
	files["content/presence.yaml"] = []byte("status: gone\n")
	parent := t.TempDir()
	dir := filepath.Join(parent, "tern")
	err = makeFolder(dir, files)
	if faulty := (cli.ContentError{}); !errors.As(err, &faulty) || faulty.Folder != filepath.Join(dir, "content") {
		t.Errorf("faulty content: %v", err)
	}
	if left, _ := os.ReadDir(parent); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// An empty folder keeps its mode; one that is filled meanwhile keeps what it holds.
func TestInitInAnEmptyFolder(t *testing.T) {
	files, err := tern().files(newYear)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "tern")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	link := dir + "-link"
	if err := os.Symlink("tern", link); err != nil {
		t.Fatal(err)
	}
	vacant, err := vacantFolder(link)
	if err != nil || filepath.Base(vacant) != "tern" {
		t.Fatalf("through a link: %s, %v", vacant, err)
	}
	if err := makeFolder(vacant, files); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if err := makeFolder(dir, map[string][]byte{}); err == nil {
		t.Error("a folder without content is put in place")
	}
	if err := os.Remove(filepath.Join(dir, "README.md")); err != nil {
		t.Fatal(err)
	}
	if err := makeFolder(dir, files); !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, syscall.EEXIST) {
		t.Errorf("a folder that was filled: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "README.md")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that was filled is replaced: %v", err)
	}
}

func TestIdentifier(t *testing.T) {
	for name, want := range map[string]string{
		"Tern": "tern", "  Tern & Co. 2 ": "tern-co-2", "Küste": "k-ste", "北海道": "www-hokkaido", "---": "www-hokkaido",
		strings.Repeat("ab ", 20): "ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-ab-a", strings.Repeat("a", 39) + " b": strings.Repeat("a", 39),
	} {
		got := identifier(name, "www.Hokkaido")
		if got != want || workerName(got) != "" {
			t.Errorf("%q gives %q, want %q", name, got, want)
		}
	}
}

// Every fault of an answer has a wish.
func TestAnswers(t *testing.T) {
	checks := map[string]func(string) string{}
	for _, q := range tern().questions() {
		if want := q.check(*q.value); want != "" {
			t.Errorf("--%s %s: %s", q.flag, *q.value, want)
		}
		checks[q.flag] = q.check
	}
	for flag, bad := range map[string][]string{
		"name":     {"", " ", "a ", "a\tb", "a\nb", "a\x00", "a\u202eb", "a\xff", strings.Repeat("é", 61), "a [[service]]", "# a", "<!-- a"},
		"operator": {"\x7f", strings.Repeat("a", 101)},
		"host":     {"", "tern.test", "www.tern", "WWW.tern.test", "www.-a.test", "https://www.tern.test", "www.tern.test.", "www.tern.test:80", "www." + strings.Repeat("a.", 130) + "test"},
		"contact":  {"", "ada", "Ada <ada@tern.test>", "ada@tern", "a@b.test\r\nBcc: c@d.test"},
		"sender":   {"@tern.test", "a..b@tern.test"},
		"worker":   {"", "Tern", "a--b", "-a", strings.Repeat("a", 41)},
	} {
		for _, text := range bad {
			if checks[flag](text) == "" {
				t.Errorf("--%s %q is taken", flag, text)
			}
		}
	}
	if want := checks["name"](strings.Repeat("é", 60)); want != "" {
		t.Errorf("a name of 60 characters: %s", want)
	}
}

// Whatever a name holds, the YAML in which it is written gives it back, and nothing else changes.
func FuzzEdit(f *testing.F) {
	for _, name := range []string{
		"Tern", "true", "12", "null", "a: b", "a #b", `a "b"`, "a'", "2026-11-21", "é", `a\b`, "a:", "0x1", "1e3", "a\u00a0b", "a😀",
		"1. a", "a](b) <b> \\", `a"}], "b"`, "a <!-- b", "a | b",
	} {
		f.Add(name)
	}
	text := []byte("# before\nname: Anteroom\nother: [a, b] # behind\nquoted: \"\" # behind\n")
	f.Fuzz(func(t *testing.T, name string) {
		if serviceName(name) != "" || strings.ContainsAny(name, "\ufdd0\ufdd1\ufdd2\ufffe\uffff") {
			return // the loader refuses these characters, and init says so
		}
		for path, want := range map[string]string{
			"name":   "# before\nname: " + scalar(name) + "\nother: [a, b] # behind\nquoted: \"\" # behind\n",
			"quoted": "# before\nname: Anteroom\nother: [a, b] # behind\nquoted: " + scalar(name) + " # behind\n",
		} {
			edited, err := edit{path, name}.apply(text)
			if err != nil || string(edited) != want {
				t.Fatalf("%s: %q, %v", path, edited, err)
			}
		}
		s := tern()
		s.Name = name
		if _, loaded := newFiles(t, s); loaded.Service.Name != name {
			t.Errorf("%q is written as %s, and read as %q", name, scalar(name), loaded.Service.Name)
		}
	})
}

// A path that is not there, and a text in several lines, are not edited.
func TestEditRefuses(t *testing.T) {
	for _, c := range []struct{ text, path string }{
		{"a: b\n", "c"},
		{"a: b\n", "a.c"},
		{"a: [b]\n", "a.1"},
		{"a: [b]\n", "a.-1"},
		{"b: a\n", "a"},
		{"a: >-\n  b\n", "a"},
		{"a: 'b'\n", "a"},
		{"a:\n  b: c\n", "a"},
		{"a: b\n   c\n", "a"},
		{"{", "a"},
	} {
		if text, err := (edit{c.path, "new"}).apply([]byte(c.text)); err == nil {
			t.Errorf("%q at %s becomes %q", c.text, c.path, text)
		}
	}
	page := "---\ntitle: A\nupdated: 2026-11-20\n---\nupdated: 2026-11-20 `{`: \"\n"
	text, err := edit{"updated", "2027-01-01"}.apply([]byte(page))
	if want := strings.Replace(page, "2026-11-20", "2027-01-01", 1); err != nil || string(text) != want {
		t.Errorf("a page: %q, %v", text, err)
	}
}

// What is asked shows nothing of a name that would act on the terminal.
func TestAskIsVisible(t *testing.T) {
	var prompts bytes.Buffer
	term := cli.New(nil, io.Discard, &prompts)
	if _, err := term.Ask(t.Context(), bufio.NewReader(strings.NewReader("\n")), "a name", unseen, func(string) string { return "" }); err != nil {
		t.Error(err)
	}
	checkSeen(t, "a prompt", prompts.String())
}
