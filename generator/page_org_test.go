package generator_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// block finds the blocks of code of a page.
var block = regexp.MustCompile("(?s)```([a-z]+)(?: [^\n]*)?\n(.*?)\n```")

// blocks are the blocks of code of a page in one language.
func blocks(text, language string) (found []string) {
	for _, m := range block.FindAllStringSubmatch(text, -1) {
		if m[1] == language {
			found = append(found, m[2])
		}
	}
	return found
}

// The lines of the page that recompute the commitment say true of what the endpoint answers, and
// false of what was edited.
func TestOrgPageCalls(t *testing.T) {
	o := shipped()
	text := strings.ReplaceAll(string(document(t, o, "/org.html.md")), `\`, "") // without the escapes of Markdown
	body := blocks(text, "json")[0]
	name, _ := json.Marshal("Möwe \"& Söhne\" \u2028 <1>")
	filled := regexp.MustCompile(`"<[^"]*>"`).ReplaceAllLiteralString(body, string(name))
	answer := string(send(t, keyedHost(t, o), o, call{"POST", o.Snapshot.BaseURL() + "/api/org?dry_run=1", filled}).Body)
	for _, line := range blocks(text, "sh") {
		tool, _, _ := strings.Cut(line, " ")
		if !strings.Contains(line, "< answer.json") {
			continue
		}
		if _, err := exec.LookPath(tool); err != nil {
			t.Logf("%s is not here: %v", tool, err)
			continue
		}
		edited := strings.Replace(answer, `"allocation":30`, `"allocation":31`, 1)
		for text, want := range map[string]string{answer: "true true", edited: "false false"} {
			folder := t.TempDir()
			if err := os.WriteFile(filepath.Join(folder, "answer.json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			command := exec.Command("sh", "-c", line)
			command.Dir = folder
			printed, err := command.CombinedOutput()
			if got := strings.Fields(strings.ToLower(string(printed))); err != nil || strings.Join(got, " ") != want {
				t.Errorf("%s: %s %v, want %s of %s", tool, printed, err, want, text)
			}
		}
	}
}
