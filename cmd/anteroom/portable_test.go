package main

import (
	"regexp"
	"strings"
	"testing"
)

var (
	// ofBash matches what dash or the bash 3.2 of macOS do not know.
	ofBash = regexp.MustCompile(`EPOCHREALTIME|EPOCHSECONDS|\[\[|<\(|<<<|&>|\|&|\$\{\w+[,^@]|\becho -[en]|` +
		`\b(mapfile|readarray|coproc|declare|local)\b`)
	// ofGNU matches what the programs of BSD do not know.
	ofGNU = regexp.MustCompile(`\b(sha256sum|realpath|tac|seq|nproc|timeout)\b|\bsed\b.* -(i|r|-)|\bsed\b.*\\t|` +
		`\b(stat|date|readlink) -[cdf]|\bgrep -\w*P|-printf|-perm /|\bxargs -r|\bcurl -`)
)

// TestScriptsRunAnywhere: make run and make test need only what every system has. CI runs them with
// dash.
func TestScriptsRunAnywhere(t *testing.T) {
	read := func(name string) string { return string(mustRead(t, "../../"+name)) }
	starts := regexp.MustCompile(`(?m)^(?:run|test):.*\n\t@(build/\w+\.sh)$`).FindAllStringSubmatch(read("Makefile"), -1)
	if len(starts) != 2 {
		t.Fatalf("Makefile: make run and make test start %d scripts", len(starts))
	}
	for _, start := range starts {
		script := read(start[1])
		found := append(ofBash.FindAllString(script, -1), ofGNU.FindAllString(script, -1)...)
		if !strings.HasPrefix(script, "#!/bin/sh\n") || len(found) > 0 {
			t.Errorf("%s is no script of sh, or has %q", start[1], found)
		}
	}
}
