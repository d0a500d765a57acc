package site

import (
	"os"
	"strings"
	"testing"
)

const (
	firstKey  = "iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w="
	secondKey = "O2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik="
	thirdKey  = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
)

// withBlocks is the shipped service.yaml with other blocks of receipt_keys and log.
func withBlocks(t testing.TB, keys, log string) string {
	t.Helper()
	raw, err := os.ReadFile("../../content/service.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for name, block := range map[string]string{"\nreceipt_keys:\n": keys, "\nlog:\n": log} {
		before, rest, found := strings.Cut(text, name)
		_, after, more := strings.Cut(rest, "\n\n")
		if !found || !more {
			t.Fatalf("service.yaml has no block %q", name)
		}
		text = before + "\n" + block + "\n" + after
	}
	return text
}

const (
	noKeys = "receipt_keys:\n  current: \"\" # the public half of the signing key; without one, receipts are hash-committed only\n  retired: []\n"
	noLog  = "log:\n  keys: [] # without a key there is no log\n  witnesses: []\n"
)

// A rotation writes the block of the keys, whatever its layout was, and no other line.
func TestRotateKey(t *testing.T) {
	current := func(key string) string {
		return strings.Replace(noKeys, "\"\"", "\""+key+"\"", 1)
	}
	begun := strings.Replace(current(firstKey), "  retired", "  current_from: \"2026-11-20\"\n  retired", 1)
	retired := func(lines string) string {
		return strings.Replace(begun, "retired: []\n", "retired:\n"+lines, 1)
	}
	second := "    - public_key: \"" + secondKey + "\"\n"
	third := "    - public_key: \"" + thirdKey + "\"\n      retired_on: \"2026-01-31\"\n"
	for name, c := range map[string]struct{ before, after string }{
		"nothing published":  {noKeys, begun},
		"no value":           {"receipt_keys:\n    # above\n    current:\n\n    retired: [ ]  # none\n", begun},
		"a first is retired": {"receipt_keys:\n  current: " + secondKey + "\n  current_from: 2026-01-31\n  retired: []\n", retired(second + "      current_from: \"2026-01-31\"\n      retired_on: \"2026-11-20\"\n")},
		"a second is retired": {
			"receipt_keys:\n  retired:\n  - {public_key: " + thirdKey + ", retired_on: 2026-01-31, revoked: it leaked}\n  current: '" + secondKey + "'\n",
			retired(third + "      revoked: \"it leaked\"\n" + second + "      retired_on: \"2026-11-20\"\n"),
		},
		"the same key":     {current(firstKey), ""},
		"a retired key":    {"receipt_keys:\n  current: " + secondKey + "\n  retired:\n    - public_key: " + firstKey + "\n      retired_on: 2026-01-31\n", ""},
		"a faulty key":     {current("AAAA"), ""},
		"a name in quotes": {strings.Replace(noKeys, "receipt_keys", "\"receipt_keys\"", 1), ""},
	} {
		got, err := RotateKey([]byte(withBlocks(t, c.before, noLog)), firstKey, "2026-11-20")
		if want := withBlocks(t, c.after, noLog); (err == nil) != (c.after != "") || err == nil && string(got) != want {
			t.Errorf("%s: %v\ngot\n%s\nwant\n%s", name, err, got, want)
		}
	}
	crlf := strings.ReplaceAll(withBlocks(t, noKeys, noLog), "\n", "\r\n")
	if got, err := RotateKey([]byte(crlf), firstKey, "2026-11-20"); err != nil || string(got) != strings.ReplaceAll(withBlocks(t, begun, noLog), "\n", "\r\n") {
		t.Errorf("CRLF: %v\n%s", err, got)
	}
}

const (
	firstLogKey  = "www.base.example/log+f00902b2+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
	secondLogKey = "www.base.example/log/2+9e0a330f+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
)

// A key of the log becomes the last one.
func TestRotateLogKey(t *testing.T) {
	first := strings.Replace(noLog, "[] #", "#", 1)
	listed := func(keys ...string) string {
		return strings.Replace(first, "  witnesses", "    - \""+strings.Join(keys, "\"\n    - \"")+"\"\n  witnesses", 1)
	}
	for name, c := range map[string]struct{ before, after string }{
		"as it is shipped":   {noLog, listed(secondLogKey)},
		"one key":            {"log:\n  keys:\n  - " + firstLogKey + " # the first\n  # no more\n  witnesses: []\n", listed(firstLogKey, secondLogKey)},
		"the same key":       {"log:\n  keys:\n    - " + secondLogKey + "\n  witnesses: []\n", ""},
		"a key that is none": {"log:\n  keys:\n    - a+b+c\n  witnesses: []\n", ""},
	} {
		got, err := RotateLogKey([]byte(withBlocks(t, noKeys, c.before)), secondLogKey)
		if want := withBlocks(t, noKeys, c.after); (err == nil) != (c.after != "") || err == nil && string(got) != want {
			t.Errorf("%s: %v\ngot\n%s\nwant\n%s", name, err, got, want)
		}
	}
	text := strings.TrimRight(withBlocks(t, noKeys, ""), "\n") // a block that is missing comes at the end
	if got, err := RotateLogKey([]byte(text), firstLogKey); err != nil || string(got) != text+"\n\n"+listed(firstLogKey) {
		t.Errorf("no block: %v\n%s", err, got)
	}
}
