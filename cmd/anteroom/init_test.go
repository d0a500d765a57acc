package main

import (
	"bufio"
	"bytes"
	"io"
	"os"
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

// A prompt shows nothing that would act on the terminal.
func TestAskIsVisible(t *testing.T) {
	var prompts bytes.Buffer
	term := cli.New(nil, io.Discard, &prompts)
	if _, err := term.Ask(t.Context(), bufio.NewReader(strings.NewReader("\n")), "a name", unseen, func(string) string { return "" }); err != nil {
		t.Error(err)
	}
	checkSeen(t, "a prompt", prompts.String())
	if _, err := term.Ask(t.Context(), bufio.NewReader(strings.NewReader("")), "a name", "", nil); err == nil || !strings.Contains(err.Error(), "read the answer: EOF") {
		t.Errorf("without an answer: %v", err)
	}
}
