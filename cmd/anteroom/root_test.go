package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/cloudflare"

	"github.com/spf13/pflag"
)

// Every command is in a group, and its help fits a screen of 40 lines. A variable means one thing:
// flags of the same name are of one type and one kind of value.
func TestCommands(t *testing.T) {
	root := newRoot()
	meanings := map[string]string{}
	var help bytes.Buffer
	root.SetOut(&help)
	for _, cmd := range cli.Commands(root) {
		if cmd.Parent() == root && cmd.GroupID == "" {
			t.Errorf("%s is of no group", cmd.CommandPath())
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			value, _ := pflag.UnquoteUsage(f)
			if strings.HasSuffix(f.Name, "format") && !strings.Contains(value, "|") {
				t.Errorf("%s --%s: its usage has no `one|other` in backquotes", cmd.CommandPath(), f.Name)
			}
			name := cli.Variable(f)
			if meaning := value + " " + f.Value.Type(); name != "" {
				if before := meanings[name]; before != "" && before != meaning {
					t.Errorf("%s is a %s elsewhere, and a %s to %s: rename one flag, or list it as one of the command line alone", name, before, meaning, cmd.CommandPath())
				}
				meanings[name] = meaning
			}
		})
		if cmd.Short == "" {
			t.Errorf("help.txt has no text about %s", cmd.CommandPath())
		}
		help.Reset()
		if err := cmd.Help(); err != nil || help.Len() == 0 {
			t.Errorf("%s: %v, %d bytes", cmd.CommandPath(), err, help.Len())
		}
		if n := strings.Count(help.String(), "\n"); n >= 40 { // the last line of the screen is the prompt's
			t.Errorf("%s --help: %d lines", cmd.CommandPath(), n)
		}
		for line := range strings.Lines(help.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > helpWidth {
				t.Errorf("%s: %d characters: %s", cmd.CommandPath(), n, line)
			}
		}
	}
	for _, line := range regexp.MustCompile(`(?m)^# (.*)`).FindAllStringSubmatch(helpText, -1) {
		if cmd, _, err := root.Find(strings.Fields(line[1])[1:]); err != nil || cmd.CommandPath() != line[1] {
			t.Errorf("help.txt has a text about %s, which is not a command", line[1])
		}
	}
	deploy, _, err := root.Find([]string{"deploy"})
	check(t, err)
	for _, name := range cloudflare.Allowances {
		if !strings.Contains(deploy.Long, "\n  "+name+" ") {
			t.Errorf("deploy --help does not list --allow %s", name)
		}
	}
	if len(meanings) < 15 {
		t.Errorf("%d variables", len(meanings))
	}
}
