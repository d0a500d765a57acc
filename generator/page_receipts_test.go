package generator_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"regexp"
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

// TestFrontPageReceipt: the front page shows an example, or the content's receipt, which is valid.
func TestFrontPageReceipt(t *testing.T) {
	showsAll(t, generate(t, shippedContent), "/index.html", `<p class="stamp ">Example`, "The service keeps no copy.")
	key := edgetest.PublicKey(edgetest.Key)
	h := keyedHost(t, generate(t, shippedContent))
	receipt := string(h.Do("POST", "/api/receipt", `{"agent_name":"a <b>","note":"[[service]]"}`, "host", "www.anteroom.example").Body)
	o := generate(t, overlay(t, edits{
		"service.yaml": replace(`current: ""`, "current: "+key),
		"receipt.json": func(string) string { return receipt },
	}))
	showsAll(t, o, "/index.html", `<p class="stamp valid">Valid <small>checked when this page was made`, "<dd>a &lt;b&gt;</dd>", "<dd>[[service]]</dd>", "The service signs it")
}

// The scripts of a page, with all that they import, are small on the wire.
func TestScriptsAreSmall(t *testing.T) {
	documents := documents(generate(t, shippedContent))
	imports := regexp.MustCompile(`(?:src=|from |import\()"(/[a-z./-]+js)"`)
	largest := 0
	for path, page := range documents {
		if !strings.HasSuffix(path, ".html") {
			continue
		}
		scripts := map[string]bool{}
		var load func(text []byte)
		load = func(text []byte) {
			for _, m := range imports.FindAllSubmatch(text, -1) {
				if name := string(m[1]); !scripts[name] {
					scripts[name] = true
					load(documents[name])
				}
			}
		}
		load(page)
		size := 0
		for name := range scripts {
			var zipped bytes.Buffer
			w := gzip.NewWriter(&zipped)
			_, _ = w.Write(documents[name])
			_ = w.Close()
			size += zipped.Len()
		}
		if largest = max(largest, size); size > 25_000 {
			t.Errorf("%s loads %d bytes of scripts: %v", path, size, scripts)
		}
	}
	if largest < 10_000 {
		t.Errorf("the largest scripts of a page have %d bytes", largest)
	}
}
