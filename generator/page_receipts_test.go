package generator_test

import (
	"encoding/base64"
	"fmt"
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

// withKey is the shipped content of a service that publishes the key of the hosts in tests.
func withKey(t *testing.T) map[string]func(string) string {
	return map[string]func(string) string{
		"service.yaml": replace(`current: ""`, fmt.Sprintf("current: %q", edgetest.PublicKey(edgetest.Key))),
	}
}

// kitLine is a line of the page that fetches a program of the kit and runs it.
var kitLine = regexp.MustCompile(`(?m)^curl -sSf (\S+) \| (.*)$`)

// The lines that run the verify kit work as they stand on the page, where the service publishes its
// key, and with the key in the place of the placeholder, where it does not.
func TestKitLines(t *testing.T) {
	folder := t.TempDir()
	receipt := edgetest.NewFake(t).Do("POST", "/api/receipt", `{"note":"é"}`)
	if err := os.WriteFile(filepath.Join(folder, "receipt.json"), receipt.Body, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, output := range map[string]func() string{
		"with a published key": func() string { return "" },
		"without one":          func() string { return "--key PUBLIC_KEY " },
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

// The page has the keys of the service in its form, so that it needs no network; and every program
// has them.
func TestPublishedKeys(t *testing.T) {
	key, o := edgetest.PublicKey(edgetest.Key), generate(t, overlay(t, withKey(t)))
	for _, p := range append([]string{"/receipts.html", "/receipts.html.md"}, respond.Kit...) {
		if !strings.Contains(string(document(t, o, p)), key) {
			t.Errorf("%s lacks the key", p)
		}
	}
	base64Key := regexp.MustCompile(`[A-Za-z0-9+/]{43}=`)
	for _, p := range respond.Kit {
		for _, found := range base64Key.FindAllString(string(document(t, o, p)), -1) {
			if _, err := base64.StdEncoding.DecodeString(found); err == nil && found != key {
				t.Errorf("%s holds %s", p, found)
			}
		}
	}
}
