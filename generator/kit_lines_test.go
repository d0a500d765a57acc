//go:build full

package generator_test

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/respond"
)

// kitLine is a line of the page that fetches a program of the kit and runs it.
var kitLine = regexp.MustCompile(`(?m)^curl -sSf (\S+) \| (.*)$`)

// The lines that run the verify kit work as they are on the page, where the service publishes its
// key, and with the key instead of the placeholder, where it does not.
func TestKitLines(t *testing.T) {
	folder := t.TempDir()
	receipt := edgetest.NewFake(t).Do("POST", "/api/receipt", `{"note":"é"}`)
	if err := os.WriteFile(filepath.Join(folder, "receipt.json"), receipt.Body, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, output := range map[string]func() string{
		"with a published key": func() string { return "" },
		"without one":          func() string { return "--receipt-key PUBLIC_KEY " },
	} {
		content := shippedContent
		if output() == "" {
			content = overlay(t, withKey(t))
		}
		o := generate(t, content)
		lines := kitLine.FindAllStringSubmatch(string(document(t, o, "/receipts.html.md")), -1)
		if len(lines) != len(respond.Kit) {
			t.Errorf("%s: %d lines", name, len(lines))
		}
		for _, line := range lines {
			file := path.Base(line[1])
			if !strings.Contains(line[2], output()) || line[1] != "https://www.anteroom.example/verify/"+file {
				t.Errorf("%s: %s", name, line[0])
			}
			if err := os.WriteFile(filepath.Join(folder, file), document(t, o, "/verify/"+file), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("sh", "-c", "cat "+file+" | "+strings.ReplaceAll(line[2], "PUBLIC_KEY", edgetest.PublicKey(edgetest.Key)))
			cmd.Dir = folder
			if out, err := cmd.CombinedOutput(); err != nil || !strings.HasSuffix(string(out), "\nvalid receipt\n") {
				t.Errorf("%s: %s: %v\n%s", name, line[0], err, out)
			}
		}
	}
}
