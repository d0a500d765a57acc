package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/quote"

	"github.com/charmbracelet/huh"
)

// form asks questions at a terminal: in plain text where it is dumb. The plain text is not that of
// package huh, which takes the end of the input for an answer.
type form struct {
	ctx   context.Context // its end leaves a plain question
	in    io.Reader
	lines *bufio.Reader // in, for plain questions
	out   io.Writer
	plain bool
}

func newForm(ctx context.Context, t *cli.Terminal) *form {
	term, out := os.Getenv("TERM"), t.Err
	if w, wrapped := out.(cli.WithoutSecrets); wrapped {
		out = w.Writer // forms want the terminal itself, to know its size
	}
	return &form{ctx: ctx, in: t.In, lines: bufio.NewReader(t.In), out: out, plain: term == "dumb" || term == ""}
}

// errLeft is the error of a question that was left unanswered.
var errLeft = errors.New("left without an answer")

func (f *form) run(field huh.Field) error {
	err := huh.NewForm(huh.NewGroup(field)).WithInput(f.in).WithOutput(f.out).Run()
	if errors.Is(err, huh.ErrUserAborted) || errors.Is(err, io.EOF) {
		return errLeft
	}
	return err
}

// ask asks a plain question until check finds nothing wrong with its answer, a line.
func (f *form) ask(question string, check func(string) error) (string, error) {
	type line struct {
		text string
		err  error
	}
	for {
		fmt.Fprint(f.out, question+" ")
		read := make(chan line, 1) // an interrupt ends the question and not the reading
		go func() {
			text, err := f.lines.ReadString('\n')
			read <- line{text, err}
		}()
		var got line
		select {
		case <-f.ctx.Done():
			got.err = errLeft
		case got = <-read:
		}
		if got.err != nil {
			fmt.Fprintln(f.out)
			return "", errLeft
		}
		answer := strings.TrimSpace(got.text)
		err := check(answer)
		if err == nil {
			return answer, nil
		}
		fmt.Fprintln(f.out, err)
	}
}

// choose gives the index of the option that was chosen. Options may hold text of strangers.
func (f *form) choose(title, description string, options []string) (chosen int, err error) {
	list := make([]huh.Option[int], len(options))
	for i, option := range options {
		options[i] = visibleLines(option)
		list[i] = huh.NewOption(options[i], i)
	}
	title, description = wrap(visibleLines(title)), wrap(visibleLines(description))
	if !f.plain {
		height := min(strings.Count(strings.Join(options, "\n"), "\n")+1, 15) + 2 + strings.Count(title+description, "\n") + 1
		return chosen, f.run(huh.NewSelect[int]().Title(title).Description(description).Options(list...).Height(height).Value(&chosen))
	}
	fmt.Fprintln(f.out, "\n"+title)
	if description != "" {
		fmt.Fprintln(f.out, description)
	}
	for i, option := range options {
		fmt.Fprintf(f.out, "%3d  %s\n", i+1, option)
	}
	answer, err := f.ask(fmt.Sprintf("Number, 1 to %d:", len(options)), func(s string) error {
		if n, err := strconv.Atoi(s); err != nil || n < 1 || n > len(options) {
			return fmt.Errorf("want a number from 1 to %d", len(options))
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	chosen, err = strconv.Atoi(answer)
	return chosen - 1, err
}

// line asks for a line of text. check finds what is wrong with it. At a dumb terminal an empty line
// leaves the text as it is.
func (f *form) line(title, text string, check func(string) error) (string, error) {
	title = visibleLines(title)
	if !f.plain {
		return text, f.run(huh.NewInput().Title(title).Value(&text).Validate(check))
	}
	question := title + ":"
	if text != "" {
		question = title + " [" + visibleLines(text) + "]:"
	}
	or := func(s string) string {
		if s == "" {
			return text
		}
		return s
	}
	answer, err := f.ask(question, func(s string) error { return check(or(s)) })
	if err != nil {
		return text, err
	}
	return or(answer), nil
}

// text asks for a longer text.
func (f *form) text(title, text string, check func(string) error) (string, error) {
	if f.plain {
		return f.line(title+", in one line", text, check)
	}
	return text, f.run(huh.NewText().Title(visibleLines(title)).Value(&text).CharLimit(4000).Lines(6).Validate(check))
}

// confirm asks a question that is answered by yes or no. At a dumb terminal an empty line is a no.
func (f *form) confirm(title string) (yes bool, err error) {
	title = visibleLines(title)
	if !f.plain {
		return yes, f.run(huh.NewConfirm().Title(title).Value(&yes))
	}
	answer, err := f.ask(title+" [y/N]:", func(s string) error {
		switch strings.ToLower(s) {
		case "", "y", "yes", "n", "no":
			return nil
		}
		return errors.New("want y or n")
	})
	return strings.HasPrefix(strings.ToLower(answer), "y"), err
}

// wrap breaks the lines of a text between words, so that they fit into 80 columns beside a frame.
func wrap(text string) string {
	const columns = 74
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		width := 0
		var b strings.Builder
		for i, word := range strings.Split(line, " ") {
			n := utf8.RuneCountInString(word)
			switch {
			case i > 0 && width+1+n > columns:
				b.WriteString("\n")
				width = n
			case i > 0:
				b.WriteString(" ")
				width += 1 + n
			default:
				width = n
			}
			b.WriteString(word)
		}
		lines = append(lines, b.String())
	}
	return strings.Join(lines, "\n")
}

// visibleLines makes what cannot be seen in the lines of a text visible.
func visibleLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i], _ = quote.Visible(line)
	}
	return strings.Join(lines, "\n")
}
