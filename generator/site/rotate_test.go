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

// service is the shipped service.yaml with another block of receipt_keys.
func service(t testing.TB, block string) string {
	t.Helper()
	text, err := os.ReadFile("../../content/service.yaml")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), "receipt_keys:\n")
	_, after, more := strings.Cut(rest, "\n\n")
	if !found || !more {
		t.Fatal("service.yaml has no block receipt_keys")
	}
	return before + block + "\n" + after
}

// Whatever the layout, the lines that hold no key stay as they are.
func TestRotateKey(t *testing.T) {
	for _, test := range []struct{ name, before, after string }{
		{
			"nothing published",
			"receipt_keys:\n  current: \"\" # a remark\n  retired: []\n",
			"receipt_keys:\n  current: \"" + firstKey + "\" # a remark\n  current_from: \"2026-11-20\"\n  retired: []\n",
		},
		{
			"no value, no current_from, a list with a remark",
			"receipt_keys:\n    # above\n    current:\n    # between\n    retired: [ ]  # none\n",
			"receipt_keys:\n    # above\n    current: \"" + firstKey + "\"\n    current_from: \"2026-11-20\"\n    # between\n    retired: [ ]  # none\n",
		},
		{
			"a first key is retired",
			"receipt_keys:\n  current: " + secondKey + "   # ours\n  current_from: 2026-01-31\n  retired: [] # none\n",
			"receipt_keys:\n  current: \"" + firstKey + "\"   # ours\n  current_from: \"2026-11-20\"\n  retired: # none\n" +
				"    - public_key: \"" + secondKey + "\"\n      current_from: \"2026-01-31\"\n      retired_on: \"2026-11-20\"\n",
		},
		{
			"a second one, without a known day, in another order",
			"receipt_keys:\n  retired:\n  # the first\n  - {public_key: " + thirdKey + ", retired_on: 2026-01-31} # lost\n  # end\n  current_from:\n  current: '" + secondKey + "'\n",
			"receipt_keys:\n  retired:\n  # the first\n  - {public_key: " + thirdKey + ", retired_on: 2026-01-31} # lost\n" +
				"  - public_key: \"" + secondKey + "\"\n    retired_on: \"2026-11-20\"\n  # end\n  current_from: \"2026-11-20\"\n  current: \"" + firstKey + "\"\n",
		},
		{
			"CRLF",
			"receipt_keys:\r\n  current: " + secondKey + "\r\n  retired:\r\n    - public_key: " + thirdKey + "\r\n      retired_on: 2026-01-31\r\n",
			"receipt_keys:\r\n  current: \"" + firstKey + "\"\r\n  current_from: \"2026-11-20\"\r\n  retired:\r\n    - public_key: " + thirdKey + "\r\n      retired_on: 2026-01-31\r\n" +
				"    - public_key: \"" + secondKey + "\"\r\n      retired_on: \"2026-11-20\"\r\n",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := RotateKey([]byte(service(t, test.before)), firstKey, "2026-11-20")
			if want := service(t, test.after); err != nil || string(got) != want {
				t.Errorf("%v\ngot\n%s\nwant\n%s", err, got, want)
			}
		})
	}

	// At the end of a file without a line break.
	head := strings.Replace(service(t, "receipt_keys_were_here: x\n"), "receipt_keys_were_here: x\n", "", 1)
	text := strings.TrimRight(head, "\n") + "\nreceipt_keys:\n  retired: []\n  current: " + secondKey
	if got, err := RotateKey([]byte(text), firstKey, "2026-11-20"); err != nil || !strings.HasSuffix(string(got), "current_from: \"2026-11-20\"\n") {
		t.Errorf("the last line: %v\n%s", err, got)
	}

	for name, block := range map[string]string{
		"a mapping in braces":  "receipt_keys: {current: " + secondKey + ", retired: []}\n",
		"a list in brackets":   "receipt_keys:\n  current: " + secondKey + "\n  retired: [{public_key: " + thirdKey + ", retired_on: 2026-01-31}]\n",
		"a value of two lines": "receipt_keys:\n  current:\n    " + secondKey + "\n  retired: []\n",
		"a list of two lines":  "receipt_keys:\n  current: " + secondKey + "\n  retired: [\n  ]\n",
		"a block value":        "receipt_keys:\n  current: >-\n    " + secondKey + "\n  retired: []\n",
		"no current":           "receipt_keys:\n  retired: []\n",
		"the same key":         "receipt_keys:\n  current: " + firstKey + "\n  retired: []\n",
		"a retired key":        "receipt_keys:\n  current: " + secondKey + "\n  retired:\n    - public_key: " + firstKey + "\n      retired_on: 2026-01-31\n",
		"a faulty key":         "receipt_keys:\n  current: AAAA\n  retired: []\n",
		"no block":             "",
	} {
		if got, err := RotateKey([]byte(service(t, block)), firstKey, "2026-11-20"); err == nil || got != nil {
			t.Errorf("%s: %s", name, got)
		}
	}
}

const (
	firstLogKey  = "www.base.example/log+f00902b2+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
	secondLogKey = "www.base.example/log/2+9e0a330f+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
)

// withLog is the shipped service.yaml with another block of the log.
func withLog(t testing.TB, block string) string {
	t.Helper()
	text, err := os.ReadFile("../../content/service.yaml")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), "\nlog:\n")
	_, after, more := strings.Cut(rest, "\n\n")
	if !found || !more {
		t.Fatal("service.yaml has no block log")
	}
	return before + "\n" + block + "\n" + after
}

// A key of the log stands behind the others, and the lines that hold none stay as they are.
func TestRotateLogKey(t *testing.T) {
	for _, test := range []struct{ name, before, after string }{
		{
			"as it is shipped",
			"log:\n  keys: [] # none\n  witnesses: []\n",
			"log:\n  keys: # none\n    - \"" + secondLogKey + "\"\n  witnesses: []\n",
		},
		{
			"behind the witnesses",
			"log:\n    witnesses: []\n    keys: []\n    # none\n",
			"log:\n    witnesses: []\n    keys:\n      - \"" + secondLogKey + "\"\n    # none\n",
		},
		{
			"one key, CRLF",
			"log:\r\n  keys:\r\n  - " + firstLogKey + " # the first\r\n  # no more\r\n  witnesses: []\r\n",
			"log:\r\n  keys:\r\n  - " + firstLogKey + " # the first\r\n  - \"" + secondLogKey + "\"\r\n  # no more\r\n  witnesses: []\r\n",
		},
		{"nothing in it", "log: # none\n", "log: # none\n  keys:\n    - \"" + secondLogKey + "\"\n  witnesses: []\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := RotateLogKey([]byte(withLog(t, test.before)), secondLogKey)
			if want := withLog(t, test.after); err != nil || string(got) != want {
				t.Errorf("%v\ngot\n%s\nwant\n%s", err, got, want)
			}
		})
	}

	// Where there is no block, it stands at the end.
	text := strings.TrimRight(withLog(t, ""), "\n")
	if got, err := RotateLogKey([]byte(text), firstLogKey); err != nil || string(got) != text+"\n\nlog:\n  keys:\n    - \""+firstLogKey+"\"\n  witnesses: []\n" {
		t.Errorf("no block: %v\n%s", err, got)
	}

	for name, block := range map[string]string{
		"a mapping in braces":  "log: {keys: [], witnesses: []}\n",
		"a list in brackets":   "log:\n  keys: [" + firstLogKey + "]\n  witnesses: []\n",
		"a list of two lines":  "log:\n  keys: [\n  ]\n  witnesses: []\n",
		"the same key":         "log:\n  keys:\n    - " + secondLogKey + "\n  witnesses: []\n",
		"a faulty key":         "log:\n  keys:\n    - a+b+c\n  witnesses: []\n",
		"a value of two lines": "log:\n  keys:\n    - >-\n      " + firstLogKey + "\n  witnesses: []\n",
	} {
		if got, err := RotateLogKey([]byte(withLog(t, block)), secondLogKey); err == nil || got != nil {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// FuzzRotateKey: an edit of any text gives the same service with another key, or an error.
func FuzzRotateKey(f *testing.F) {
	for _, block := range []string{
		"receipt_keys:\n  current: \"\"\n  retired: []\n",
		"receipt_keys:\n  current: " + secondKey + "\n  retired:\n  - public_key: " + thirdKey + "\n    retired_on: 2026-01-31\n",
	} {
		f.Add(service(f, block))
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := RotateKey([]byte(text), firstKey, "2026-11-20")
		if err != nil {
			return
		}
		before, _ := decodeService([]byte(text))
		after, err := decodeService(got)
		if err != nil || after.ReceiptKeys.Current != firstKey {
			t.Fatalf("%q becomes %q: %v", text, got, err)
		}
		added := len(after.ReceiptKeys.Retired) - len(before.ReceiptKeys.Retired)
		if before.ReceiptKeys.Current != "" != (added == 1) || added > 1 {
			t.Errorf("%d keys were retired: %q", added, got)
		}
	})
}
