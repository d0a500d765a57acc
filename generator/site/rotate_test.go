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

	firstLogKey  = "www.base.example/log+f00902b2+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
	secondLogKey = "www.base.example/log-2+2a0d63b3+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop"
)

// A rotation writes the block of the keys, whatever its layout was, and no other line. Where the
// new block is "", it is refused.
func TestRotate(t *testing.T) {
	raw, err := os.ReadFile("../../content/service.yaml")
	if err != nil {
		t.Fatal(err)
	}
	keys := func(text []byte) ([]byte, error) { return RotateKey(text, firstKey, "2026-11-20") }
	log := func(text []byte) ([]byte, error) { return RotateLogKey(text, secondLogKey) }
	const (
		rotated = "receipt_keys:\n  current: " + firstKey + " # the public half of the signing key; without one, receipts are hash-committed only\n  current_from: '2026-11-20'\n  retired:"
		logHead = "log:\n  vkey: " + secondLogKey + " # without a key there is no log\n  witnesses: []\n"
	)
	for name, c := range map[string]struct {
		rotate        func([]byte) ([]byte, error)
		before, after string
	}{
		"comments at the margin": {keys, "receipt_keys:\n# one\n  current: \"\"\n# two\n\n  # three\n  retired: []\n# four\n", rotated + " []\n# four\n"},
		"a first is retired":     {keys, "receipt_keys:\n  current: " + secondKey + "\n  current_from: 2026-01-31\n  retired: []\n", rotated + "\n    - public_key: " + secondKey + "\n      current_from: '2026-01-31'\n      retired_on: '2026-11-20'\n"},
		"a second is retired": {
			keys, "receipt_keys:\n  retired:\n  - {public_key: " + thirdKey + ", retired_on: 2026-01-31, revoked: \"it: leaked\"}\n  current: '" + secondKey + "'\n",
			rotated + "\n    - public_key: " + thirdKey + "\n      retired_on: '2026-01-31'\n      revoked: 'it: leaked'\n    - public_key: " + secondKey + "\n      retired_on: '2026-11-20'\n",
		},
		"a name in quotes": {keys, "\"receipt_keys\":\n  retired: []\n", ""},

		"the key of another log":   {log, "log:\n  vkey: " + firstLogKey + " # the first\n  # no more\n  witnesses: []\n", logHead},
		"the same key of the log":  {log, "log:\n  vkey: " + secondLogKey + "\n  witnesses: []\n", ""},
		"a log key that is faulty": {log, "log:\n  vkey: a+b+c\n  witnesses: []\n", ""},
	} {
		text := func(block string) string {
			name, _, _ := strings.Cut(strings.Trim(c.before, `"`), ":")
			before, rest, _ := strings.Cut(string(raw), "\n"+strings.Trim(name, `"`)+":\n")
			_, after, found := strings.Cut(rest, "\n\n")
			if !found {
				t.Fatalf("service.yaml has no block %s", name)
			}
			return before + "\n" + block + "\n" + after
		}
		listed := strings.HasPrefix(name, "the same key")
		for _, lineEnd := range []string{"\n", "\r\n"} {
			got, err := c.rotate([]byte(strings.ReplaceAll(text(c.before), "\n", lineEnd)))
			if want := text(c.after); (err == nil) != (c.after != "") || err == nil && strings.ReplaceAll(string(got), "\r", "") != want {
				t.Errorf("%s: %v\ngot\n%s\nwant\n%s", name, err, got, want)
			}
			if said := err != nil && err.Error() == "service.yaml lists this key already"; said != listed {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	before, rest, _ := strings.Cut(string(raw), "\nlog:\n")
	_, after, _ := strings.Cut(rest, "\n\n")
	text := strings.TrimRight(before+"\n\n"+after, "\n") // a block that is missing comes at the end
	if got, err := log([]byte(text)); err != nil || string(got) != text+"\n"+logHead {
		t.Errorf("no block: %v\n%s", err, got)
	}
}
