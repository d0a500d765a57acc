package cli

// The rules of printing:
//
//   - The result of a command is written to standard output, everything else to standard error.
//   - An error is one line: "anteroom: ", the failure in lower case without a full stop, and the
//     next step in brackets. Faults of the content precede it, one a line, as file:line:column.
//   - A warning has the same form, with "anteroom: warning: ".
//   - With --json an error is one JSON object on standard output too, unless a result was printed.
//   - A secret key given by mistake is never printed: standard error shows only its prefix.
//   - Any output may contain text of strangers. Invisible characters, and those that would act on
//     the terminal, are shown as <U+...>, and in JSON as \uXXXX.
//   - Only changes of published numbers are coloured, on a terminal without NO_COLOR.

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/quote"

	"github.com/mattn/go-isatty"
)

type Terminal struct {
	In          io.Reader
	Out         *bufio.Writer
	Stdout      io.Writer // to which Out writes
	Err         io.Writer
	Interactive bool // In and Err are terminals
	Colour      bool // Out may show colours
	JSON        bool // print JSON
	Now         func() time.Time

	sent       bool           // whether Out has written to Stdout
	interrupts chan os.Signal // for Context
}

func New(stdin io.Reader, stdout, stderr io.Writer) *Terminal {
	isTerminal := func(stream any) bool {
		f, ok := stream.(*os.File)
		return ok && isatty.IsTerminal(f.Fd())
	}
	t := &Terminal{
		In: stdin, Stdout: stdout, Now: time.Now,
		Err:         Filter{stderr, func(p []byte) []byte { return []byte(WithoutSecret(string(p))) }},
		Interactive: isTerminal(stdin) && isTerminal(stderr),
		Colour:      isTerminal(stdout) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
	}
	t.Out = bufio.NewWriter(Filter{stdout, func(p []byte) []byte {
		t.sent = true
		return p
	}})
	return t
}

type Filter struct {
	io.Writer
	Edit func(p []byte) []byte
}

func (f Filter) Write(p []byte) (int, error) {
	if _, err := f.Writer.Write(f.Edit(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// secretKey matches a secret key. A backslash stays with the character it escapes: a bare quotation
// mark would end a quoted text, and a stranger's words would look like part of the log.
var secretKey = regexp.MustCompile("(" + regexp.QuoteMeta(receipt.SecretPrefix) + "|" +
	regexp.QuoteMeta(receipt.NotePrefix) + `)(?:\\\S|[^\s"'\\])*`)

// WithoutSecret removes secret keys after their prefix.
func WithoutSecret(text string) string { return secretKey.ReplaceAllString(text, "${1}…") }

// ContentError lists the faults of a content folder.
type ContentError struct {
	Err    error
	Folder string  // as the caller named it
	Faults []Fault // whose files are named with the folder
}

func (e ContentError) Error() string { return e.Err.Error() }

func (t *Terminal) Fail(err error) {
	if errors.Is(err, ErrSilent) {
		return
	}
	if faulty := (ContentError{}); errors.As(err, &faulty) {
		t.Complain("", faulty.Error())
		err = fmt.Errorf("%s has %s (fix the faults above; nothing was written)", faulty.Folder,
			Plural(len(faulty.Faults), "fault"))
	}
	t.Complain("anteroom: ", err.Error())
}

func (t *Terminal) Complain(prefix, text string) {
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line, _ = quote.Visible(strings.TrimSpace(line))
		fmt.Fprintln(t.Err, prefix+line)
	}
}

type errorReport struct {
	Code    string  `json:"code"`      // usage, content or failed
	Exit    int     `json:"exit_code"` // of the program
	Message string  `json:"message"`
	Hint    string  `json:"hint,omitempty"`   // the next step
	Faults  []Fault `json:"faults,omitempty"` // if there are several, or the content has them
}

type Fault struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"` // from 1, as the column
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// FailJSON prints an error as a JSON object to standard output, unless a result was printed.
func (t *Terminal) FailJSON(err error, code int) {
	if t.sent || t.Out.Buffered() > 0 || errors.Is(err, ErrSilent) {
		return
	}
	r := errorReport{Code: "failed", Exit: code}
	if failed := (Failure{}); code == ExitUsage && !errors.As(err, &failed) { // the call was right
		r.Code = "usage"
	}
	if faulty := (ContentError{}); errors.As(err, &faulty) {
		r.Code = "content"
		for _, f := range faulty.Faults {
			f.Message, f.Hint = WithoutSecret(f.Message), WithoutSecret(f.Hint)
			r.Faults = append(r.Faults, f)
		}
		r.Message, r.Hint = faulty.Folder+" has "+Plural(len(r.Faults), "fault"), "fix the faults; nothing was written"
	} else {
		var messages []string
		for line := range strings.Lines(strings.TrimSpace(err.Error())) {
			message, hint := SplitHint(WithoutSecret(strings.TrimSpace(line)))
			messages = append(messages, message)
			r.Faults, r.Hint = append(r.Faults, Fault{Message: message, Hint: hint}), hint
		}
		r.Message = strings.Join(messages, "; ")
		if len(messages) == 1 {
			r.Faults = nil
		}
	}
	t.PrintObject(map[string]errorReport{"error": r})
}

// SplitHint splits off the next step, in brackets at the end of an error. A single word in brackets
// is not a hint, but the name that a library gives its error.
func SplitHint(line string) (message, hint string) {
	depth := 0
	for i := len(line) - 1; i > 0; i-- {
		switch line[i] {
		case ')':
			depth++
		case '(':
			depth--
		}
		if depth > 0 {
			continue
		}
		before, open := strings.CutSuffix(line[:i], " ")
		if inner := strings.TrimSuffix(line[i+1:], ")"); line[i] == '(' && open && strings.Contains(inner, " ") {
			return before, inner
		}
		break
	}
	return line, ""
}

func (t *Terminal) Warnf(format string, args ...any) {
	t.Complain("anteroom: warning: ", fmt.Sprintf(format, args...))
}

func (t *Terminal) Printf(format string, args ...any) {
	line, _ := quote.Visible(fmt.Sprintf(format, args...))
	fmt.Fprintln(t.Out, line)
}

func (t *Terminal) Highlight(changed bool, line string) {
	line, _ = quote.Visible(line)
	if changed && t.Colour {
		line = "\x1b[1;33m" + line + "\x1b[0m" // bold and yellow
	}
	fmt.Fprintln(t.Out, line)
}

func (t *Terminal) PrintLines(text string) {
	for line := range strings.Lines(text) {
		t.Printf("%s", strings.TrimSuffix(line, "\n"))
	}
}

func (t *Terminal) PrintObject(value any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return err
	}
	_, err := t.Out.Write(VisibleJSON(text.Bytes()))
	return err
}

// Answer prints value as a JSON object if JSON is set, and calls text otherwise.
func (t *Terminal) Answer(value any, text func()) error {
	if t.JSON {
		return t.PrintObject(value)
	}
	text()
	return nil
}

// VisibleJSON writes the invisible characters of a JSON text as escapes.
func VisibleJSON(text []byte) []byte {
	b := make([]byte, 0, len(text))
	for _, r := range string(text) {
		if !quote.Invisible(r) || r == '\n' { // between tokens; a string has none
			b = utf8.AppendRune(b, r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			b = fmt.Appendf(b, "\\u%04x", unit)
		}
	}
	return b
}

func (t *Terminal) Logger() *slog.Logger { return slog.New(slog.NewTextHandler(t.Err, nil)) }

// Plural writes a number with its noun: "1 fault", "2 faults", "2 entries".
func Plural[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, is := strings.CutSuffix(noun, "ry"); is {
		noun = stem + "rie"
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func ByteSize(n int64) string {
	if n < 1000 {
		return Plural(n, "byte")
	}
	size, unit := float64(n)/1000, 0
	for ; size >= 1000 && unit < 2; unit++ {
		size /= 1000
	}
	return fmt.Sprintf("%.1f %cB", size, "kMG"[unit])
}

// Ask repeats a question on standard error until lines has a valid answer. An empty line means
// preset. check describes a valid answer, or returns "" for one.
func (t *Terminal) Ask(ctx context.Context, lines *bufio.Reader, question, preset string,
	check func(string) string,
) (string, error) {
	if preset != "" {
		question += " [" + preset + "]"
	}
	question, _ = quote.Visible(question)
	for {
		fmt.Fprint(t.Err, question+": ")
		var text string
		read := make(chan error, 1) // an interrupt ends the question, not the reading
		go func() {
			var err error
			text, err = lines.ReadString('\n')
			read <- err
		}()
		select {
		case <-ctx.Done():
			fmt.Fprintln(t.Err)
			return "", ErrInterrupted
		case err := <-read:
			if err != nil {
				fmt.Fprintln(t.Err)
				return "", fmt.Errorf("read the answer: %w", err)
			}
		}
		answer := cmp.Or(strings.TrimSpace(text), preset)
		want := check(answer)
		if want == "" {
			return answer, nil
		}
		fmt.Fprintln(t.Err, want)
	}
}

var ErrInterrupted = errors.New("interrupted")

// Context is done once the program is interrupted or terminated, except by an interrupt for an
// editor. The second signal ends the program at once.
func (t *Terminal) Context() (ctx context.Context, stop context.CancelCauseFunc) {
	ctx, stop = context.WithCancelCause(context.Background())
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
	go func() {
		defer signal.Stop(interrupts)
		select {
		case why := <-interrupts:
			stop(errors.New(why.String() + " signal received"))
		case <-ctx.Done():
		}
	}()
	t.interrupts = interrupts
	return ctx, stop
}

// lineEditors are the editors that open a file at line N with +N before its name.
const lineEditors = "emacs emacsclient ex gvim jed joe jmacs kak mcedit mg micro nano ne nvi nvim pico vi view vim " +
	"vim.basic vim.tiny zile"

// Edit runs the editor of $VISUAL or $EDITOR, or vi, on a file, as git does. It opens the file at a
// line if that is not 0 and the editor is one of lineEditors.
func (t *Terminal) Edit(file string, line int) error {
	editor := cmp.Or(os.Getenv("VISUAL"), os.Getenv("EDITOR"), "vi")
	program, _, _ := strings.Cut(strings.TrimSpace(editor), " ")
	arguments := []string{file}
	if line > 0 && slices.Contains(strings.Fields(lineEditors), filepath.Base(program)) {
		arguments = []string{fmt.Sprint("+", line), file}
	}
	// An interrupt is for the editor: the shell waits until that ends.
	command := exec.Command("sh", append([]string{"-c", "trap : INT\n" + editor + ` "$@"`, editor}, arguments...)...)
	command.Stdout, command.Stderr = t.Stdout, t.Err
	if terminal, is := t.In.(*os.File); is {
		command.Stdin = terminal
	}
	if w, wrapped := t.Err.(Filter); wrapped {
		command.Stderr = w.Writer // the terminal itself
	}
	typed := make(chan os.Signal, 1) // at the editor
	signal.Notify(typed, os.Interrupt)
	if t.interrupts != nil {
		signal.Stop(t.interrupts)
		defer signal.Notify(t.interrupts, os.Interrupt, syscall.SIGTERM)
	}
	err := command.Run()
	signal.Stop(typed)
	switch {
	case err == nil:
		return nil
	case len(typed) > 0:
		return ErrInterrupted
	}
	return fmt.Errorf("run the editor %s: %w (name another one in EDITOR)", editor, err)
}

// Choose has a person choose one of some words, and returns its first letter. An empty line means
// preset, unless that is "".
func (t *Terminal) Choose(ctx context.Context, question, preset string, letters ...string) (string, error) {
	answer, err := t.Ask(ctx, bufio.NewReader(t.In), question+" "+strings.Join(letters, "/"), preset,
		func(answer string) string {
			for _, letter := range letters {
				if answer != "" && strings.HasPrefix(letter, strings.ToLower(answer[:1])) {
					return ""
				}
			}
			return "want one of " + strings.Join(letters, ", ")
		})
	return strings.ToLower(answer[:min(1, len(answer))]), err
}
