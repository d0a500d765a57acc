package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anteroom/cmd/anteroom/internal/cli"
)

func mustRead(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// On a terminal a bad answer is asked for again, and an empty one takes what is in brackets.
func TestInitAsks(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", now)
	dir := filepath.Join(t.TempDir(), "tern")
	answers := "\nTern\ntern.test\nwww.tern.test\nada\n ada@tern.test \n\n\nTern 2\ntern-2\n"
	var out, prompts bytes.Buffer
	term := cli.New(strings.NewReader(answers), &out, &prompts)
	term.Interactive = true
	cmd := rootCommand(term)
	cmd.SetArgs([]string{"init", dir})
	if err := cmd.Execute(); err != nil {
		t.Fatalf("%v\n%s", err, &prompts)
	}
	want := `the name of the service: want a text
the name of the service: its canonical host: www. and the bare domain, which redirects to it: want www. and a bare domain in lower case, as in www.example.org
its canonical host: www. and the bare domain, which redirects to it: the operator's e-mail address, for callers and for messages of the service: want a bare address: name@anteroom.example
the operator's e-mail address, for callers and for messages of the service: the operator's name [The Tern operator]: the address that messages to the operator come from [relay@tern.test]: the name of the worker, should it run on Cloudflare [tern]: want lower-case letters, digits and single hyphens
the name of the worker, should it run on Cloudflare [tern]: `
	if prompts.String() != want {
		t.Errorf("asked:\n%s\nwant:\n%s", &prompts, want)
	}
	s, err := loadContent(filepath.Join(dir, "content"))
	if err != nil {
		t.Fatal(err)
	}
	if c := &s.Service; c.Name != "Tern" || c.Operator != "The Tern operator" || c.Relay.From != "relay@tern.test" || c.Contact != "ada@tern.test" {
		t.Errorf("the answers are lost: %+v", c)
	}
	if text := mustRead(t, filepath.Join(dir, "wrangler.toml")); !bytes.Contains(text, []byte(`name = "tern-2-preview"`)) {
		t.Errorf("the worker's name is lost:\n%s", text)
	}
}

// If the answers end, or the user interrupts, nothing is written.
func TestInitWithoutAnswers(t *testing.T) {
	interrupted, stop := context.WithCancel(t.Context())
	stop()
	never, _ := io.Pipe()
	for what, c := range map[string]struct {
		ctx   context.Context
		stdin io.Reader
		want  string
	}{
		"an end":       {t.Context(), strings.NewReader("Tern\n"), "read the answer: EOF"},
		"an interrupt": {interrupted, never, "interrupted"},
	} {
		dir := t.TempDir()
		term := cli.New(c.stdin, io.Discard, io.Discard)
		term.Interactive = true
		cmd := rootCommand(term)
		cmd.SetArgs([]string{"init", filepath.Join(dir, "tern")})
		err := cmd.ExecuteContext(c.ctx)
		if failed := (cli.Failure{}); !errors.As(err, &failed) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", what, err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: left %v", what, left)
		}
	}
}

// A prompt shows nothing that would act on the terminal.
func TestAskIsVisible(t *testing.T) {
	var prompts bytes.Buffer
	term := cli.New(nil, io.Discard, &prompts)
	if _, err := term.Ask(t.Context(), bufio.NewReader(strings.NewReader("\n")), "a name", unseen, func(string) string { return "" }); err != nil {
		t.Error(err)
	}
	checkSeen(t, "a prompt", prompts.String())
}
