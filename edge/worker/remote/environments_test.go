package remote

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anteroom/edge/worker/cloudflare"
)

func TestEnvironments(t *testing.T) {
	file := filepath.Join(t.TempDir(), "wrangler.toml")
	names := func(text string) string {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := Environments(file)
		if err != nil {
			return err.Error()
		}
		return strings.Join(list, " ")
	}
	if list, err := Environments(file); list != nil || err != nil {
		t.Errorf("without a file: %q, %v", list, err)
	}
	const id = "8f2a7d3e-54c1-4b6f-9f0e-1c2d3e4f5a6b"
	for text, want := range map[string]string{
		"":                                   "",
		"[[env.apex.routes]]\npattern = 'a'": "",
		"[[d1_databases]]\nbinding = 'DB'\ndatabase_id = '" + id + "'":                                                                  "",
		"[[env.production.d1_databases]]\nbinding = 'DB'\ndatabase_id = '" + id + "'":                                                   "production",
		"[[env.production.d1_databases]]\nbinding = 'OTHER'\ndatabase_id = '" + id + "'":                                                "",
		"[[env.production.d1_databases]]\nbinding = 'DB'\ndatabase_id = ''":                                                             "",
		"[[env.a.d1_databases]]\nbinding = 'DB'\ndatabase_id = '" + cloudflare.PlaceholderID + "000001'":                                "",
		"[[env.b.d1_databases]]\nbinding = 'DB'\ndatabase_id = '" + id + "'\n[[env.a.d1_databases]]\nbinding = 'DB'\ndatabase_id = 'x'": "a b",
	} {
		if got := names(text); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if got := names("[env"); !strings.HasPrefix(got, "read "+file+": ") {
		t.Errorf("a file that is none: %q", got)
	}
}
