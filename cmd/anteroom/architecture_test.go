package main

import (
	"bytes"
	"encoding/json"
	"go/format"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestAddAnEndpoint does what the chapter of that name in ARCHITECTURE.md says, in a copy of the
// tree: what it says is all that is to be done, and no test of that copy wants more.
func TestAddAnEndpoint(t *testing.T) {
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	if lines := strings.Count(page, "\n"); lines > 220 {
		t.Errorf("the page has %d lines, and more than 220 are not read", lines)
	}
	_, chapter, _ := strings.Cut(page, "\n## Add an endpoint\n")
	chapter, _, found := strings.Cut(chapter, "\n## ")
	if !found {
		t.Fatal("there is no chapter on it")
	}
	dir := copyTree(t)
	touched := map[string]bool{}
	for _, step := range regexp.MustCompile("(?ms)^`([^`\n]+)`, ([^\n]+):\n```[a-z]*\n(.*?)^```$").FindAllStringSubmatch(chapter, -1) {
		file, where, block := step[1], step[2], step[3]
		insert(t, filepath.Join(dir, file), where, block)
		touched[strings.TrimSuffix(strings.TrimSuffix(file, ".go"), "_test")] = true
	}
	if len(touched) != 6 || strings.Count(chapter, "\n```\n") < 8 {
		t.Errorf("%d files are touched, where six are enough: %v", len(touched), touched)
	}

	program := filepath.Join(dir, "anteroom")
	command := func(name string, args ...string) {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
	}
	command("go", "build", "-ldflags=-w", "-o", program, "./cmd/anteroom")
	command(program, "generate")
	// These had lists of all endpoints or tools once.
	command("go", "test", "-vet=off", "./edge", "./edge/api", "./edge/edgetest", "./edge/endpoint/ping2", "./generator/site")
	command("go", "test", "-vet=off", "-run", "Tool|OpenAPI|Members", "./generator")

	_, address := startProgram(t, program, t.TempDir(), dir)
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string // in the answer
	}{
		{"GET", "/api/ping2?word=tern", "", 200, `{"pong":true,"word":"tern",`},
		{"GET", "/api/ping2", "", 200, `{"pong":true,"word":null,`},
		{"GET", "/api/ping2?word=%00", "", 400, `"contract":{"id":"ping"`},
		{"POST", "/api/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"service_ping2","arguments":{"word":"tern"}}}`, 200, `"structuredContent":{"pong":true,"word":"tern",`},
		{"POST", "/api/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, 200, `"name":"service_ping2"`},
		{"GET", "/openapi.json", "", 200, `"operationId":"ping"`},
		{"GET", "/llms.txt", "", 200, "- [GET ping2](https://www.anteroom.example/api/ping2): Whether the service is there."},
		{"GET", "/manifest.json", "", 200, `"/api/ping2"`},
		{"GET", "/field-guide.html.md", "", 200, "/api/ping2"},
	} {
		request, err := http.NewRequest(c.method, address+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || answer.StatusCode != c.status || !bytes.Contains(body, []byte(c.want)) {
			t.Errorf("%s %s: %d %.300s, %v, want %d with %s", c.method, c.path, answer.StatusCode, body, err, c.status, c.want)
		}
		if c.status == 400 {
			var problem struct {
				Contract struct {
					ID     string
					Fields []struct{ Name string }
				}
			}
			if err := json.Unmarshal(body, &problem); err != nil || problem.Contract.ID != "ping" || problem.Contract.Fields[0].Name != "word" {
				t.Errorf("the contract does not name the field: %v %s", err, body)
			}
		}
	}
}

// insert puts a block into a file, where a line of ARCHITECTURE.md says.
func insert(t *testing.T, file, where, block string) {
	t.Helper()
	text, err := os.ReadFile(file)
	lines := slices.Collect(strings.Lines(string(text)))
	anchor, quoted, _ := strings.Cut(where, "`")
	quoted, _, _ = strings.Cut(quoted, "`")
	at := slices.IndexFunc(lines, func(line string) bool { return strings.TrimSpace(line) == quoted })
	switch {
	case strings.HasPrefix(where, "a new file"):
		if err == nil {
			t.Fatalf("%s is there, and is no new file", file)
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		lines = []string{block}
	case err != nil:
		t.Fatal(err)
	case where == "at the end of the file":
		lines = append(lines, block)
	case at < 0:
		t.Fatalf("%s has no line %q", file, quoted)
	case anchor == "after the line ":
		lines = slices.Insert(lines, at+1, block)
	case anchor == "at the end of the list ":
		lines = slices.Insert(lines, at+slices.Index(lines[at:], "}\n"), block)
	default:
		t.Fatalf("%s: it is not said where to put it, but %q", file, where)
	}
	made := []byte(strings.Join(lines, ""))
	if filepath.Ext(file) == ".go" {
		if formatted, err := format.Source(made); err != nil || !bytes.Equal(formatted, made) {
			t.Errorf("%s: the page has it otherwise than gofmt: %v", file, err)
		}
	}
	if err := os.WriteFile(file, made, 0o644); err != nil {
		t.Fatal(err)
	}
}

// copyTree is a copy of the sources and of public/.
func copyTree(t *testing.T) string {
	t.Helper()
	dir, root := t.TempDir(), os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		made := []string{".git", "build/cache", "build/bundle", "build/out", "build/npm/node_modules", "data", "outbox"}
		switch {
		case err != nil:
			return err
		case slices.Contains(made, name) && entry.IsDir():
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(dir, name), 0o755)
		case !entry.Type().IsRegular():
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name), text, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
