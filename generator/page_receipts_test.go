package generator_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/edgetest"
	"anteroom/edge/respond"
)

// withKey is the shipped content of a service that publishes the key of the hosts in tests.
func withKey(t *testing.T) edits {
	return edits{
		"service.yaml": replace(`current: ""`, fmt.Sprintf("current: %q", edgetest.PublicKey(edgetest.Key))),
	}
}

// withRevoked is the shipped service.yaml with another retired key, which was revoked.
func withRevoked(service string) string {
	key := edgetest.PublicKey(edgetest.RetiredKey)
	return replace("  retired:\n", "  retired:\n    - {public_key: "+key+", retired_on: 2026-10-31, revoked: It leaked.}\n")(service)
}

// The page and every program have the keys of the service with their days, and no others, whether
// one of them is current or not. A program knows that a revoked one never counts.
func TestPublishedKeys(t *testing.T) {
	const retired = "FoUN+HAAMZm6qQxwf51oQfavAeWJKDhGEYIClXvpvD8=@2026-11-01..2026-11-20"
	current, revoked := edgetest.PublicKey(edgetest.Key), edgetest.PublicKey(edgetest.RetiredKey)+"@revoked"
	withoutKeys := func(service string) string {
		return regexp.MustCompile(`(?m)^  retired:(\n    .*)+`).ReplaceAllString(service, "  retired: []")
	}
	inDocument := regexp.MustCompile(`\b[A-Za-z0-9+/]{43}=(@[0-9a-z.-]+)?`)
	for _, c := range []struct {
		edit func(string) string
		page []string
		kit  []string
	}{
		{replace("anything", ""), []string{retired}, []string{retired}},
		{withKey(t)["service.yaml"], []string{current, retired}, []string{current, retired}},
		{withRevoked, []string{retired}, []string{retired, revoked}},
		{withoutKeys, nil, nil},
	} {
		content := overlay(t, nil)
		content["service.yaml"].Data = []byte(c.edit(string(content["service.yaml"].Data)))
		if c.kit == nil {
			delete(content, "receipt.json")
		}
		o := generate(t, content)
		for _, p := range append([]string{"/receipts.html", "/receipts.html.md"}, respond.Kit...) {
			want := c.page
			if slices.Contains(respond.Kit, p) {
				want = c.kit
			}
			got := []string{}
			for _, key := range inDocument.FindAllString(string(document(t, o, p)), -1) {
				if !slices.Contains(got, key) {
					got = append(got, key)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s has %q, want %q", p, got, want)
			}
		}
	}
}

// A reader without scripts finds a command in the place of each form, and no word about a form.
func TestFormsWithoutScripts(t *testing.T) {
	content, log := logged(t)
	documents := made(t, content, log)
	forms := regexp.MustCompile(`(?s)<form .*?</form>|<div[^>]* hidden.*?</div>`)
	for path, command := range map[string]string{
		"/receipts.html": "/verify/verify.py | python3 - --receipt-key PUBLIC_KEY receipt.json",
		"/log.html":      "/verify/verify.py | python3 - --counted answer.json",
		"/index.html":    "curl -sS -X POST https://www.anteroom.example/api/receipt",
	} {
		page := string(documents[path])
		rest := forms.ReplaceAllString(page, "")
		if rest == page || strings.Contains(rest, "<input") {
			t.Errorf("%s: no form, or one that is not found here", path)
		}
		_, instead, _ := strings.Cut(rest, `class="needs-script"`)
		if before, _, _ := strings.Cut(instead, "</figure>"); !strings.Contains(before, command) {
			t.Errorf("%s lacks %s in the place of the form", path, command)
		}
		if word := regexp.MustCompile(`[^<>]*\bforms?\b[^<>]*`).FindString(rest); word != "" {
			t.Errorf("%s: without scripts it says %q", path, word)
		}
	}
}
