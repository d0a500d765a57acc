package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"anteroom/cmd/anteroom/internal/cli"

	"github.com/spf13/pflag"
)

// Every command has a page, which names all of its flags and holds its text whole.
func TestManual(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", now)
	folder, again := filepath.Join(t.TempDir(), "man1"), t.TempDir()
	pages, err := writeManual(folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writeManual(again); err != nil {
		t.Fatal(err)
	}
	seen := 0
	for cmd := range cli.Commands(rootCommand(cli.New(nil, io.Discard, io.Discard))) {
		if cmd.Name() == "help" {
			continue
		}
		seen++
		name := strings.ReplaceAll(cmd.CommandPath(), " ", "-") + ".1"
		page := mustRead(t, filepath.Join(folder, name))
		if other := mustRead(t, filepath.Join(again, name)); !bytes.Equal(page, other) {
			t.Errorf("%s differs when it is written again", name)
		}
		text := plainManual(string(page))
		cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			_, usage := pflag.UnquoteUsage(f)
			if name := cli.Variable(f); name != "" {
				usage += " [" + name + "]"
			}
			if !strings.Contains(text, "--"+f.Name) || !strings.Contains(text, words(usage)) {
				t.Errorf("%s does not say --%s %s", name, f.Name, usage)
			}
		})
		cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(text, "--"+f.Name) {
				t.Errorf("%s does not name --%s", name, f.Name)
			}
		})
		if !strings.Contains(text, words(cmd.Short)) || !strings.Contains(text, words(cmd.Long)) {
			t.Errorf("%s lacks a part of what --help says:\n%s\nwant\n%s", name, text, words(cmd.Long))
		}
		if strings.Contains(strings.ToLower(text), "auto generated") || !strings.HasPrefix(string(page), ".nh\n.TH ") || !strings.Contains(text, `"Nov 2026"`) {
			t.Errorf("%s begins %.100q", name, page)
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != seen || pages != seen {
		t.Errorf("%d files, %d pages, %v, want %d", len(entries), pages, err, seen)
	}
}

// Without a time there is no manual: that of its making would differ each time.
func TestManualWithoutTime(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "")
	p := &program{}
	if _, err := p.date(); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
		t.Errorf("error %v", err)
	}
	p.Version, p.Commit = "v0.0.0-20261123031656-c64d54fadacd+dirty", new("c64d54fadacdf55d8fa71c62abac3ec64196720a")
	if got := p.short(); got != "c64d54fadacd" {
		t.Errorf("short %q", got)
	}
	at := "2026-11-20T12:00:00Z"
	p.CommitTime = &at
	if date, err := p.date(); err != nil || date.Format("2006-01-02T15:04:05Z") != at {
		t.Errorf("%v, %v", date, err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "soon")
	if _, err := p.date(); err == nil {
		t.Error("a time that is none is taken")
	}
}

// plainManual is the text of a page, without the marks of man.
func plainManual(page string) string {
	var b strings.Builder
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, ".TH") || !strings.HasPrefix(line, ".") {
			b.WriteString(line)
		}
	}
	return words(strings.NewReplacer(`\fB`, "", `\fP`, "", `\fI`, "", `\fR`, "", `\&`, "", `\-`, "-", `\\`, `\`).Replace(b.String()))
}

// words joins the words of a text with single spaces.
func words(text string) string { return strings.Join(strings.Fields(text), " ") }

// No help is wider than a window.
func TestHelpWidth(t *testing.T) {
	var help bytes.Buffer
	root := rootCommand(cli.New(nil, &help, &help))
	root.SetOut(&help)
	for cmd := range cli.Commands(root) {
		help.Reset()
		if err := cmd.Help(); err != nil || help.Len() == 0 {
			t.Errorf("%s: %v, %d bytes", cmd.CommandPath(), err, help.Len())
		}
		for line := range strings.Lines(help.String()) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > helpWidth {
				t.Errorf("%s: %d characters: %s", cmd.CommandPath(), n, line)
			}
		}
	}
}
