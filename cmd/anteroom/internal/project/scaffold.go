package project

import (
	"bytes"
	"crypto/rand"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
	"time"
	"unicode"
	"unicode/utf8"

	"anteroom/content"
	"anteroom/edge/quote"
	"anteroom/generator/site"

	"go.yaml.in/yaml/v4"
)

// Vacant returns the path of dir, through symbolic links, if a new folder can be made there.
func Vacant(dir string) (string, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", dir, err)
	}
	entries, err := os.ReadDir(absolute)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if above, err := os.Stat(filepath.Dir(absolute)); err != nil || !above.IsDir() {
			return "", fmt.Errorf("make %s: no folder %s (make it first)", filepath.Base(absolute), filepath.Dir(dir))
		}
		return absolute, nil
	case err != nil || len(entries) > 0:
		return "", fmt.Errorf("%s is not an empty folder (name a folder that does not exist)", dir)
	}
	here, err := os.Stat(".")
	there, wrong := os.Stat(absolute)
	if err == nil && wrong == nil && os.SameFile(here, there) {
		return "", fmt.Errorf("%s is the working directory, which cannot be replaced (run this in the folder above)", dir)
	}
	return filepath.EvalSymlinks(absolute)
}

// Scaffold creates the files of a service in the vacant folder dir, or leaves it unchanged.
func Scaffold(dir string, s *Service, now time.Time) error {
	files, err := s.files(now)
	if err != nil {
		return err
	}
	return writeFolder(dir, files)
}

func writeFolder(dir string, files map[string][]byte) error {
	temporary, err := os.MkdirTemp(filepath.Dir(dir), ".anteroom-init-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	next := filepath.Join(temporary, "new")
	for name, text := range files {
		file := filepath.Join(next, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o666); err != nil {
			return err
		}
	}
	if info, err := os.Stat(dir); err == nil {
		// If dir is a link, the link is replaced.
		if err := errors.Join(os.Chmod(next, info.Mode()), os.Remove(dir)); err != nil {
			return err
		}
	}
	return os.Rename(next, dir)
}

func (s *Service) files(now time.Time) (map[string][]byte, error) {
	today := now.UTC().Format(time.DateOnly)
	expires := now.UTC().AddDate(1, 0, 0).Format(time.DateOnly)
	shipped, err := site.Load(content.Files)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{ignoredFile: gitignore, ".gitattributes": gitattributes}
	edits := s.edits(now.UTC(), today, expires)
	for _, pattern := range []string{"*.yaml", "pages/*.md"} {
		names, _ := fs.Glob(content.Files, pattern) // the patterns are valid
		for _, name := range names {
			text, err := content.Files.ReadFile(name)
			text = bytes.ReplaceAll(text, []byte(content.Host), []byte(s.Host))
			text = shippedKey.ReplaceAll(text, []byte("$1 []"))
			for _, e := range append(edits[name], edits[pattern]...) {
				if err == nil {
					text, err = e.apply(text)
				}
			}
			if err != nil {
				return nil, fmt.Errorf("write %s: %w", name, err)
			}
			files["content/"+name] = text
		}
	}
	board, err := content.Files.ReadFile("scoreboard/" + shipped.Current().File + ".yaml")
	if err == nil {
		files["content/scoreboard/"+today+".yaml"], err = firstBoard(board, today)
	}
	if err != nil {
		return nil, err
	}
	v := &site.Verification{Host: s.Host, Through: today + "T00:00:00Z", Told: map[string]int{}}
	for _, n := range site.Numbers {
		if n.Told {
			v.Told[n.Path] = 0
		}
	}
	for _, kind := range site.Kinds {
		v.Covers(kind).SHA256 = site.EmptyDigest
	}
	files["content/verifications/"+today+".yaml"] = v.Encode()

	if files["README.md"], err = execute(readme, s); err != nil {
		return nil, err
	}
	if files["anteroom.toml"], err = execute(settings, s); err != nil {
		return nil, err
	}
	// Equal namespaces in one account would share their counts.
	namespace := 100_000_000 + binary.LittleEndian.Uint32(random(4))%800_000_000
	files["wrangler.toml"], err = execute(wranglerConfig, &deployment{
		Worker: s.Worker, Host: s.Host, Apex: s.Apex(), Inbox: s.Contact, Sender: s.Sender,
		Writes: shipped.Service.Limits.WritesPerMinute, Namespace: namespace, PreviewNamespace: namespace + 1,
		Anteroom: "anteroom", Migrations: "build/migrations",
	})
	return files, err
}

// shippedKey is the key that signed the shipped receipt, with its comment.
var shippedKey = regexp.MustCompile(`(?m)^# The first retired one .*\n(receipt_keys:\n.*\n  retired:)(?:\n    .*)+`)

func (s *Service) edits(now time.Time, today, expires string) map[string][]edit {
	return map[string][]edit{
		"pages/*.md": {{"updated: ", today}},
		"service.yaml": {
			{"name: ", quoted(s.Name)},
			{"apex_host: ", quoted(s.Apex())},
			{"operator: ", quoted(s.Operator)},
			{"contact: ", quoted(s.Contact)},
			{"  key: ", quoted(hex.EncodeToString(random(16)))},
			{"  current: ", `""`},
			{"  from: ", quoted(s.Sender)},
			{"  to: ", quoted(s.Contact)},
			{"    - mailto:", s.Contact},
			{"  expires: ", expires + "T00:00:00Z"},
		},
		"mcp.yaml":      {{"name: ", quoted(identifier(s.Name, s.Apex()))}},
		"presence.yaml": {{"status: ", "online"}, {"away_message: ", `""`}, {"since: ", now.Format(time.RFC3339)}},
		"jobs.yaml":     {{"as_of: ", today}},
		"auditors.yaml": {{"as_of: ", today}},
	}
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return b
}

type deployment struct {
	Worker, Host, Apex          string
	Inbox, Sender               string // addresses of messages to the operator
	Writes                      int    // a minute, for one caller
	Namespace, PreviewNamespace uint32 // of the rate limits
	Anteroom                    string // the command that runs this program
	Migrations                  string // the folder of the migrations, for wrangler
}

// Dataset begins the names of the datasets of Analytics Engine, which consist of letters, digits
// and _, and begin with no digit.
func (d *deployment) Dataset() string {
	name := strings.ReplaceAll(d.Worker, "-", "_")
	if name[0] <= '9' {
		name = "worker_" + name
	}
	return name
}

var (
	//go:embed wrangler.toml.tmpl
	wranglerConfig string
	//go:embed settings.toml.tmpl
	settings string
	//go:embed service.md.tmpl
	readme string
	//go:embed gitignore.tmpl
	gitignore []byte
	//go:embed gitattributes.tmpl
	gitattributes []byte
)

func execute(text string, values any) ([]byte, error) {
	var b bytes.Buffer
	parsed, err := template.New("file").Parse(text)
	if err == nil {
		err = parsed.Execute(&b, values)
	}
	return b.Bytes(), err
}

// edit replaces the YAML value in the one line with this beginning, a key or a dash. All other
// bytes stay, comments too.
type edit struct{ beginning, value string }

func (e edit) apply(text []byte) ([]byte, error) {
	line := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(e.beginning) + `("[^"\n]*"|[^"'>|{\[&*!#\s].*?)( #.*)?$`)
	found := line.FindAllSubmatchIndex(text, -1)
	if len(found) != 1 {
		return nil, fmt.Errorf("found %d lines with a value after %q, want 1", len(found), e.beginning)
	}
	return bytes.Join([][]byte{text[:found[0][2]], []byte(e.value), text[found[0][3]:]}, nil), nil
}

func quoted(text string) string {
	line, _ := yaml.Dump(text, yaml.WithLineWidth(-1), yaml.WithQuotePreference(yaml.QuoteDouble)) // any text is YAML
	return strings.TrimSuffix(string(line), "\n")
}

func firstBoard(text []byte, today string) ([]byte, error) {
	board, err := site.ParseBoard("", text)
	if err != nil {
		return nil, err
	}
	for _, n := range site.Numbers {
		board.Set(n.Path, 0)
	}
	seen := &board.ObservedAttention
	board.AsOf, board.VerifiedThrough, board.MonitoredThrough, seen.AsOf = today, today, today, today
	seen.NamedClients, seen.Updates, board.Corrections = nil, nil, nil
	return board.Encode(), nil
}

type Service struct {
	Name     string
	Host     string `yaml:"canonical_host"`
	Contact  string // the operator's address
	Operator string // the operator's name
	Sender   string // of messages to the operator
	Worker   string // name of the worker on Cloudflare
}

func (s *Service) Apex() string { return strings.TrimPrefix(s.Host, "www.") }

const (
	maxServiceName  = 60
	maxOperatorName = 100
	maxWorkerName   = 40 // a label of a host holds 63, and environments add words to the name
)

type Question struct {
	Flag, Text string
	Value      *string
	Preset     func() string       // the default answer, or nil
	Optional   bool                // take the preset without asking
	Check      func(string) string // returns a description of a valid answer, or "" for one
}

// Questions lists the questions about a service. Presets depend only on earlier answers.
func (s *Service) Questions() []*Question {
	return []*Question{
		{Flag: "name", Text: "the name of the service", Value: &s.Name, Check: serviceName},
		{
			Flag: "host", Value: &s.Host,
			Text:  "the canonical host, www. and the domain; the domain alone redirects to it",
			Check: wwwHost,
		},
		{
			Flag: "contact", Text: "the operator's e-mail address, for callers and for messages of the service",
			Value: &s.Contact, Check: address,
		},
		{
			Flag: "operator", Text: "the operator's name", Value: &s.Operator, Check: oneLine(maxOperatorName),
			Preset: func() string { return "The " + s.Name + " operator" },
		},
		{
			Flag: "sender", Text: "the address that messages to the operator come from; bounces go to the operator's",
			Value: &s.Sender, Check: address,
			Preset: func() string { return "relay@" + s.Apex() },
		},
		{
			Flag: "worker", Text: "the name of the worker, should it run on Cloudflare",
			Value: &s.Worker, Check: workerName, Optional: true,
			Preset: func() string { return identifier(s.Name, s.Apex()) },
		},
	}
}

func address(text string) string { return site.Wanted("email", text) }

func serviceName(name string) string {
	if want := oneLine(maxServiceName)(name); want != "" {
		return want
	}
	if first, _ := utf8.DecodeRuneInString(name); !unicode.IsLetter(first) && !unicode.IsDigit(first) {
		return "want a letter or a digit at its beginning"
	}
	return ""
}

func oneLine(most int) func(string) string {
	return func(text string) string {
		switch {
		case strings.TrimSpace(text) == "":
			return "want a string"
		case !utf8.ValidString(text), strings.TrimSpace(text) != text,
			strings.ContainsFunc(text, func(r rune) bool { return r == '\t' || quote.Invisible(r) }):
			return "want one line without control and invisible characters, and no space around it"
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
	if !www && site.Wanted("host", "www."+host) == "" {
		return fmt.Sprintf("want www.%s, to which %[1]s redirects", host)
	}
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

func identifier(texts ...string) string {
	for _, text := range texts {
		words := strings.FieldsFunc(strings.ToLower(text),
			func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
		id := strings.Join(words, "-")
		if id = strings.TrimRight(id[:min(len(id), maxWorkerName)], "-"); id != "" {
			return id
		}
	}
	return ""
}
