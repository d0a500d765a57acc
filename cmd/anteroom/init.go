package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/template"
	"time"
	"unicode"
	"unicode/utf8"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/content"
	"anteroom/edge/api"
	"anteroom/edge/native/disk"
	"anteroom/edge/quote"
	"anteroom/generator"
	"anteroom/generator/site"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"
)

// service is what tells a new service from every other.
type service struct {
	Name     string
	Host     string // the canonical one
	Contact  string // the operator's address
	Operator string // the operator's name
	Sender   string // of messages to the operator
	Worker   string // name of the worker on Cloudflare
}

// Apex is the host that redirects to the canonical one.
func (s *service) Apex() string { return strings.TrimPrefix(s.Host, "www.") }

// Limits of the names that init takes, in characters.
const (
	maxServiceName  = 60
	maxOperatorName = 100
	maxWorkerName   = 40 // a label of a host holds 63, and environments put words behind the name
)

// question asks for one value of a service, on a terminal or by a flag.
type question struct {
	flag, what string
	value      *string
	preset     func() string       // the answer where none is given; nil where there is no such answer
	check      func(string) string // says what is wanted instead; "" of a good answer
}

// questions are all questions about a service. The last alone is answered by its preset where no
// flag answers it.
func (s *service) questions() []question {
	format := func(name string) func(string) string {
		return func(text string) string { return site.Wanted(name, text) }
	}
	return []question{
		{"name", "the name of the service", &s.Name, nil, serviceName},
		{"host", "its canonical host: www. and the bare domain, which redirects to it", &s.Host, nil, wwwHost},
		{"contact", "the operator's e-mail address, for callers and for messages of the service", &s.Contact, nil, format("email")},
		{"operator", "the operator's name", &s.Operator, func() string { return "The " + s.Name + " operator" }, oneLine(maxOperatorName)},
		{"sender", "the address that messages to the operator come from", &s.Sender, func() string { return "relay@" + s.Apex() }, format("email")},
		{"worker", "the name of the worker, should it run on Cloudflare", &s.Worker, func() string { return identifier(s.Name, s.Apex()) }, workerName},
	}
}

// serviceName takes a line that a paragraph of Markdown can begin with, as paragraphs of the pages
// do.
func serviceName(name string) string {
	if want := oneLine(maxServiceName)(name); want != "" {
		return want
	}
	if first, _ := utf8.DecodeRuneInString(name); !unicode.IsLetter(first) && !unicode.IsDigit(first) {
		return "want a letter or a digit at its beginning"
	}
	return ""
}

// oneLine takes a text that is shown in one line, of at most so many characters.
func oneLine(most int) func(string) string {
	return func(text string) string {
		switch {
		case strings.TrimSpace(text) == "":
			return "want a text"
		case !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r == '\t' || quote.Invisible(r) }):
			return "want one line without control and invisible characters"
		case strings.TrimSpace(text) != text:
			return "want no space around it"
		case utf8.RuneCountInString(text) > most:
			return fmt.Sprintf("want %d characters at most", most)
		case strings.Contains(text, "[["):
			return "want no [[, which begins a placeholder"
		}
		return ""
	}
}

func wwwHost(host string) string {
	apex, www := strings.CutPrefix(host, "www.")
	if !www || site.Wanted("host", host) != "" || site.Wanted("host", apex) != "" {
		return "want www. and a bare domain in lower case, as in www.example.org"
	}
	return ""
}

func workerName(name string) string {
	if len(name) > maxWorkerName {
		return fmt.Sprintf("want %d characters at most", maxWorkerName)
	}
	return site.Wanted("id", name)
}

// identifier makes a name of lower-case letters, digits and single hyphens from the first of the
// texts that holds one of them.
func identifier(texts ...string) string {
	for _, text := range texts {
		words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
		id := strings.Join(words, "-")
		if id = strings.TrimRight(id[:min(len(id), maxWorkerName)], "-"); id != "" {
			return id
		}
	}
	return ""
}

func initCommand(t *cli.Terminal) *cobra.Command {
	s := &service{}
	questions := s.questions()
	var yes bool
	cmd := &cobra.Command{
		Use:   "init DIR",
		Short: "Begin a service of your own in a new folder",
		Long: `Init makes a folder with everything that a service of your own begins with: content/ with neutral texts
and a first scoreboard of zeros, wrangler.toml for Cloudflare, .gitignore, and a README.md with the next
steps. On a terminal it asks for what no flag says. DIR must not exist, or be empty; it is made as a
whole, or not at all.

  anteroom init tern --name Tern --host www.tern.example --contact ada@tern.example --yes
  cd tern
  anteroom generate
  anteroom serve

SOURCE_DATE_EPOCH, in seconds, replaces the time that dates are taken from.`,
		Args: cobra.ExactArgs(1),
		RunE: cli.WithExitCode(func(cmd *cobra.Command, args []string) error {
			dir, err := vacantFolder(args[0])
			var faults []error
			if err != nil {
				faults = append(faults, err)
			}
			var open []*question // those without an answer
			for i := range questions {
				switch q := &questions[i]; {
				case *q.value == "":
					open = append(open, q)
				case q.check(*q.value) != "":
					faults = append(faults, fmt.Errorf("--%s %q: %s", q.flag, *q.value, q.check(*q.value)))
				}
			}
			ask := !yes && t.Interactive && slices.ContainsFunc(open, func(q *question) bool { return q.flag != "worker" })
			if !ask {
				for _, q := range open {
					if q.preset == nil || !yes && q.flag != "worker" {
						faults = append(faults, fmt.Errorf("--%s is missing: %s", q.flag, q.what))
					}
				}
			}
			if faults != nil {
				return cli.Usage(errors.Join(faults...))
			}
			lines := bufio.NewReader(t.In)
			for _, q := range open {
				preset := ""
				if q.preset != nil {
					preset = q.preset()
				}
				if *q.value = preset; ask {
					if *q.value, err = t.Ask(cmd.Context(), lines, q.what, preset, q.check); err != nil {
						return fmt.Errorf("init %s: %w", args[0], err)
					}
				} else if want := q.check(preset); want != "" {
					faults = append(faults, fmt.Errorf("--%s is missing, and %q cannot stand for it: %s", q.flag, preset, want))
				}
			}
			if faults != nil {
				return cli.Usage(errors.Join(faults...))
			}
			now, err := currentTime()
			if err != nil {
				return err
			}
			files, err := s.files(now.UTC())
			if err == nil {
				err = makeFolder(dir, files)
			}
			if err != nil {
				return hintPermission(fmt.Errorf("init %s: %w", args[0], err))
			}
			t.Printf("%s: %s, a service of your own (its README.md has the next steps). Go on with:", args[0], s.Name)
			for _, step := range []string{"cd " + args[0], "anteroom generate", "anteroom serve"} {
				t.Printf("  %s", step)
			}
			return nil
		}),
	}
	for _, q := range questions {
		cmd.Flags().StringVar(q.value, q.flag, "", q.what)
	}
	cmd.Flags().SetAnnotation("host", cli.OnlyHere, []string{"true"}) // serve has a --host too, for other hosts
	cmd.Flags().BoolVar(&yes, "yes", false, "ask nothing: what no flag says is as it would be proposed")
	return cmd
}

// vacantFolder gives the path of the folder that dir names, through symbolic links. The error says
// why no new folder can stand there.
func vacantFolder(dir string) (string, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", dir, err)
	}
	entries, err := os.ReadDir(absolute)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Lstat(absolute); err == nil {
			return "", fmt.Errorf("%s is a link to nothing (name a folder that does not exist)", dir)
		}
		if above, err := os.Stat(filepath.Dir(absolute)); err != nil || !above.IsDir() {
			return "", fmt.Errorf("there is no folder %s to make %s in (make it first)", filepath.Dir(dir), filepath.Base(absolute))
		}
		return absolute, nil
	case err != nil:
		return "", fmt.Errorf("%s is no empty folder: %w (name a folder that does not exist)", dir, err)
	case len(entries) > 0:
		return "", fmt.Errorf("%s is not empty (name a folder that does not exist)", dir)
	}
	here, err := os.Stat(".")
	there, wrong := os.Stat(absolute)
	if err == nil && wrong == nil && os.SameFile(here, there) {
		return "", fmt.Errorf("%s is the working directory, which cannot be replaced (run this in the folder above)", dir)
	}
	return filepath.EvalSymlinks(absolute)
}

// makeFolder puts a folder with these files at dir, where there is none or an empty one. The folder
// is written beside dir, checked as generate checks it, and renamed when it is on the disk.
func makeFolder(dir string, files map[string][]byte) error {
	temporary, err := os.MkdirTemp(filepath.Dir(dir), ".anteroom-init-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	next := filepath.Join(temporary, "new")
	folders := map[string]bool{next: true}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		folder := filepath.Join(next, filepath.Dir(name))
		folders[folder] = true
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return err
		}
		if err := writeSynced(filepath.Join(next, name), files[name]); err != nil {
			return err
		}
	}
	begun, err := site.Load(os.DirFS(filepath.Join(next, "content")))
	if err == nil {
		_, err = generator.Generate(begun, api.Routes)
	}
	if err != nil {
		return contentFaults(filepath.Join(dir, "content"), err)
	}
	if info, err := os.Stat(dir); err == nil {
		if err := os.Chmod(next, info.Mode()); err != nil {
			return err
		}
	}
	for folder := range folders {
		if err := disk.SyncFolder(folder); err != nil {
			return err
		}
	}
	if err := syscall.Rename(next, dir); err != nil { // os.Rename would not replace an empty folder
		return fmt.Errorf("rename the finished folder: %w", err)
	}
	return disk.SyncFolder(filepath.Dir(dir))
}

// writeSynced writes a new file, which others may read, through to the disk. An error leaves no new
// file behind.
func writeSynced(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, disk.Sync(f), f.Close()); err != nil {
		os.Remove(name)
	}
	return err
}

// files are the files of a new service, by their paths in its folder.
func (s *service) files(now time.Time) (map[string][]byte, error) {
	today := now.Format(time.DateOnly)
	expires := now.AddDate(1, 0, 0).Format(time.DateOnly)
	key := make([]byte, 16)
	rand.Read(key) // never fails
	edits := map[string][]edit{
		"service.yaml": {
			{"name", s.Name},
			{"canonical_host", s.Host},
			{"apex_host", s.Apex()},
			{"operator", s.Operator},
			{"contact", s.Contact},
			{"indexnow.key", hex.EncodeToString(key)},
			{"receipt_keys.current", ""},
			{"relay.from", s.Sender},
			{"relay.to", s.Contact},
			{"relay.webhook", ""},
			{"security.contacts.0", "mailto:" + s.Contact},
			{"security.contacts.1", "https://" + s.Host + "/field-guide.html#security"},
			{"security.expires", expires + "T00:00:00Z"},
		},
		"mcp.yaml":      {{"name", identifier(s.Name, s.Apex())}},
		"presence.yaml": {{"status", "online"}, {"away_message", ""}, {"since", now.Format(time.RFC3339)}},
		"jobs.yaml":     {{"as_of", today}},
		"auditors.yaml": {{"as_of", today}},
	}
	files := map[string][]byte{}
	for _, pattern := range []string{"*.yaml", "pages/*.md"} {
		names, err := fs.Glob(content.Files, pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			text, err := content.Files.ReadFile(name)
			if err != nil {
				return nil, err
			}
			wanted := edits[name]
			if path.Ext(name) == ".md" {
				wanted = []edit{{"updated", today}}
			}
			for _, e := range wanted {
				if text, err = e.apply(text); err != nil {
					return nil, fmt.Errorf("write %s: %w", name, err)
				}
			}
			files["content/"+name] = text
		}
	}
	shipped, err := site.Load(content.Files)
	if err != nil {
		return nil, fmt.Errorf("read the texts that the program carries: %w", err)
	}
	board, err := content.Files.ReadFile("scoreboard/" + shipped.Current().File + ".yaml")
	if err == nil {
		files["content/scoreboard/"+today+".yaml"], err = firstBoard(board, today)
	}
	if err != nil {
		return nil, fmt.Errorf("write the first board: %w", err)
	}
	maps.Copy(files, firstVerification(s.Host, today))

	files[".gitignore"] = gitignore
	about := struct {
		*service
		Today, Expires string
	}{s, today, expires}
	if files["README.md"], err = execute("README.md", serviceReadme, about); err != nil {
		return nil, err
	}
	deployed := newDeployment(&shipped.Service, s)
	if files["wrangler.toml"], err = execute("wrangler.toml", wranglerTemplate, deployed); err != nil {
		return nil, err
	}
	return files, nil
}

// firstVerification is the verification of a service that has no records yet, beside its first
// board.
func firstVerification(host, today string) map[string][]byte {
	v := &site.Verification{Host: host, Through: today + "T00:00:00Z", Told: map[string]int{}}
	for _, kind := range site.Kinds {
		v.Covers(kind).SHA256 = site.EmptyDigest
	}
	return map[string][]byte{"content/verifications/" + today + ".yaml": v.Encode()}
}

// firstBoard makes a board of zeros out of another service's: the words that explain the counts
// stay, and those that tell what was observed begin anew.
func firstBoard(board []byte, today string) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Load(board, &document); err != nil {
		return nil, err
	}
	beginCounts(&document, today)
	observed, err := find(&document, "observed_attention")
	if err != nil {
		return nil, err
	}
	clients, err := find(observed, "named_clients")
	if err != nil {
		return nil, err
	}
	clients.Content, clients.Style = nil, yaml.FlowStyle
	updates, err := find(observed, "updates")
	if err != nil {
		return nil, err
	}
	updates.Content = updates.Content[:1]
	for _, e := range []edit{
		{"honest_read", "The service is new. What has come since, the numbers say."},
		{"updates.0.what_changed", "The service began, and nothing was observed."},
		{"updates.0.one_ambiguous_read", "None. An observation that can be read in two ways would be recorded here and counted nowhere."},
	} {
		node, err := find(observed, e.path)
		if err != nil {
			return nil, err
		}
		node.SetString(e.value)
	}
	return yaml.Dump(&document, yaml.WithLineWidth(120), yaml.WithCompactSeqIndent(false), yaml.WithQuotePreference(yaml.QuoteDouble))
}

// beginCounts makes every number in a board 0 and every date today's.
func beginCounts(node *yaml.Node, today string) {
	switch node.ShortTag() {
	case "!!int":
		node.Value = "0"
	case "!!timestamp":
		node.Value = today
	}
	for _, n := range node.Content {
		beginCounts(n, today)
	}
}

// find gives the value at a path in a YAML document, by keys, and by numbers in lists:
// security.contacts.0.
func find(node *yaml.Node, path string) (*yaml.Node, error) {
	if node.Kind == yaml.DocumentNode {
		node = node.Content[0]
	}
	for _, key := range strings.Split(path, ".") {
		var below *yaml.Node
		switch node.Kind {
		case yaml.SequenceNode:
			if number, err := strconv.ParseUint(key, 10, 31); err == nil && int(number) < len(node.Content) {
				below = node.Content[number]
			}
		case yaml.MappingNode:
			for pair := range slices.Chunk(node.Content, 2) {
				if pair[0].Value == key {
					below = pair[1]
				}
			}
		}
		if below == nil {
			return nil, fmt.Errorf("there is no %s", path)
		}
		node = below
	}
	return node, nil
}

// edit gives a new value to a text at a path of a YAML file, which stands in one line. All else
// stays, byte for byte.
type edit struct{ path, value string }

func (e edit) apply(text []byte) ([]byte, error) {
	var document yaml.Node
	if err := yaml.Load(frontMatter(text), &document); err != nil {
		return nil, err
	}
	node, err := find(&document, e.path)
	if err != nil {
		return nil, err
	}
	lines := slices.Collect(bytes.Lines(text))
	line := string(lines[node.Line-1])
	before, rest := line[:node.Column-1], line[node.Column-1:] // before it stands ASCII
	written := node.Value
	if node.Style&yaml.DoubleQuotedStyle != 0 {
		written = `"` + written + `"`
	}
	behind, found := strings.CutPrefix(rest, written)
	if node.Kind != yaml.ScalarNode || !found {
		return nil, fmt.Errorf("%s is not written in one line", e.path)
	}
	lines[node.Line-1] = []byte(before + scalar(e.value) + behind)
	return bytes.Join(lines, nil), nil
}

// frontMatter is the YAML at the beginning of a page, and the whole of any other text.
func frontMatter(text []byte) []byte {
	if end := bytes.Index(text, []byte("\n---\n")); end >= 0 {
		return text[:end]
	}
	return text
}

// scalar writes a text as a YAML scalar in one line, in quotes only where it needs them.
func scalar(text string) string {
	var document yaml.Node
	if err := yaml.Load([]byte("key: "+text), &document); err == nil && document.Content[0].Kind == yaml.MappingNode {
		value := document.Content[0].Content[1]
		asText := value.ShortTag() == "!!str" || value.ShortTag() == "!!timestamp"
		if value.Kind == yaml.ScalarNode && value.Style == 0 && value.Value == text && asText && value.LineComment == "" {
			return text
		}
	}
	return strconv.Quote(text)
}

// deployment is what wrangler.toml says of a service.
type deployment struct {
	Worker, Host, Apex          string
	Inbox, Sender               string // addresses of messages to the operator
	Writes                      int    // a minute, for one caller
	Namespace, PreviewNamespace uint32 // of the rate limits; in one account, equal ones share their counts
	Anteroom                    string // the command that runs this program
	Migrations                  string // the folder of the migrations, for wrangler
}

// Dataset begins the names of the datasets of Analytics Engine: a query wants letters, digits and
// _, and no digit first.
func (d *deployment) Dataset() string {
	name := strings.ReplaceAll(d.Worker, "-", "_")
	if name[0] <= '9' {
		name = "worker_" + name
	}
	return name
}

// newDeployment is what the wrangler.toml of a new service says. The limit is that of the shipped
// content, which becomes the new service's.
func newDeployment(shipped *site.Service, s *service) *deployment {
	var random [4]byte
	rand.Read(random[:]) // never fails
	namespace := 100_000_000 + binary.LittleEndian.Uint32(random[:])%800_000_000
	return &deployment{
		Worker: s.Worker, Host: s.Host, Apex: s.Apex(), Inbox: s.Contact, Sender: s.Sender,
		Writes: shipped.Limits.WritesPerMinute, Namespace: namespace, PreviewNamespace: namespace + 1, Anteroom: "anteroom",
		Migrations: "build/" + migrationsFolder,
	}
}

// Files that init writes, besides the content.
var (
	//go:embed wrangler.toml.tmpl
	wranglerTemplate string
	//go:embed service.md.tmpl
	serviceReadme string
	//go:embed gitignore.tmpl
	gitignore []byte
)

// execute fills in a template.
func execute(name, text string, values any) ([]byte, error) {
	parsed, err := template.New(name).Parse(text)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := parsed.Execute(&b, values); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
