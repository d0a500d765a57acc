package main

import (
	"errors"
	"io"
	"os"
	"strings"

	"anteroom/edge/quote"

	"github.com/charmbracelet/huh"
)

// form asks questions at a terminal: in plain text where it is dumb.
type form struct {
	in    io.Reader
	out   io.Writer
	plain bool
}

func newForm(t *terminal) *form {
	term, out := os.Getenv("TERM"), t.err
	if w, wrapped := out.(withoutSecrets); wrapped {
		out = w.Writer // forms want the terminal itself, to know its size
	}
	return &form{in: t.in, out: out, plain: term == "dumb" || term == ""}
}

// errLeft is the error of a question that was left unanswered.
var errLeft = errors.New("left without an answer")

func (f *form) run(field huh.Field) error {
	err := huh.NewForm(huh.NewGroup(field)).WithAccessible(f.plain).WithInput(f.in).WithOutput(f.out).Run()
	if errors.Is(err, huh.ErrUserAborted) || errors.Is(err, io.EOF) {
		return errLeft
	}
	return err
}

// choose gives the index of the option that was chosen. Options may hold text of strangers.
func (f *form) choose(title, description string, options []string) (chosen int, err error) {
	list := make([]huh.Option[int], len(options))
	for i, option := range options {
		option, _ = quote.Visible(option)
		list[i] = huh.NewOption(option, i)
	}
	if f.plain && description != "" {
		title = description + "\n" + title
		description = ""
	}
	title, description = visibleLines(title), visibleLines(description)
	height := min(len(options), 15) + 2 + strings.Count(title+description, "\n") + 1
	return chosen, f.run(huh.NewSelect[int]().Title(title).Description(description).Options(list...).Height(height).Value(&chosen))
}

// line asks for a line of text. check finds what is wrong with it.
func (f *form) line(title, text string, check func(string) error) (string, error) {
	return text, f.run(huh.NewInput().Title(visibleLines(title)).Value(&text).Validate(check))
}

// text asks for a longer text.
func (f *form) text(title, text string, check func(string) error) (string, error) {
	if f.plain {
		return f.line(title, text, check)
	}
	return text, f.run(huh.NewText().Title(visibleLines(title)).Value(&text).CharLimit(4000).Lines(6).Validate(check))
}

// confirm asks a question that is answered by yes or no.
func (f *form) confirm(title string) (yes bool, err error) {
	return yes, f.run(huh.NewConfirm().Title(visibleLines(title)).Value(&yes))
}

// visibleLines makes what cannot be seen in the lines of a text visible.
func visibleLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i], _ = quote.Visible(line)
	}
	return strings.Join(lines, "\n")
}
