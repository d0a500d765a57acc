package tlog_test

import (
	"strings"
	"testing"

	"anteroom/generator/tlog"
)

// A key that was made is read again, and is the one that its public half belongs to.
func TestKey(t *testing.T) {
	origin := "www.base.example/log-2"
	text, public, err := tlog.NewKey(origin)
	if err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"", "\n", "\r\n"} {
		if key, err := tlog.ParseKey(text + end); err != nil || key.Public != public || key.Name() != origin {
			t.Errorf("%q: %v", end, err)
		}
	}
	if _, _, err := tlog.NewKey("www.base.example"); err == nil {
		t.Error("a name without /log is taken")
	}
	secret := strings.SplitN(text, "+", 5)[4] // which may hold a + itself
	for name, wrong := range map[string]string{
		"empty": "", "the public half": public, "cut": text[:len(text)-4], "two lines": text + "\n\n", "another name": strings.Replace(text, "base", "other", 1),
		"a receipt key": "anteroom-secret:" + secret, "a space": " " + text,
	} {
		if _, err := tlog.ParseKey(wrong); err == nil {
			t.Errorf("%s is taken", name)
		} else if strings.Contains(err.Error(), secret[:8]) {
			t.Errorf("%s: the error repeats the key", name)
		}
	}
}

// The key of a log is named after its host.
func TestCheckKey(t *testing.T) {
	for name, good := range map[string]bool{
		"www.base.example/log": true, "www.base.example/log-2": true, "www.base.example/log-10": true,
		"www.base.example/log-1": false, "www.base.example/log-0": false, "www.base.example/log-02": false, "www.base.example/log/2": false,
		"www.base.example/logs": false, "www.base.example": false, "https://base.example/log": false, "WWW.base.example/log": false,
	} {
		_, key := namedKey(t, name, 1)
		if origin, err := tlog.CheckKey(key); (err == nil) != good || err == nil && origin != name || err != nil && !strings.HasPrefix(err.Error(), "name of the key: got") {
			t.Errorf("%s: %q, %v", name, origin, err)
		}
	}
	_, key := keyOf(t)
	for _, wrong := range []string{"www.base.example/log", strings.Replace(key, "log+", "log+0", 1)} {
		if _, err := tlog.CheckKey(wrong); err == nil || !strings.HasPrefix(err.Error(), "want a verifier key") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	for before, want := range map[string]string{"": "h.example/log", "old.example/log+0+A": "h.example/log-2", "h.example/log-11+0+A": "h.example/log-12"} {
		if got := tlog.Origin("h.example", before); got != want {
			t.Errorf("the key after %s is named %s, want %s", before, got, want)
		}
	}
}
