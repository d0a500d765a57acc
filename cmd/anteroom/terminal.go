package main

// This is the only file that prints. Its rules:
//
//   - The answer to a command goes to standard output, everything else to standard error.
//   - An error is one line: "anteroom: ", then what failed, in lower case and without a full stop,
//     then in brackets what to do next. Faults of the content come before it, one a line, as
//     file:line:column.
//   - A warning has the same form, with "anteroom: warning: ".
//   - Where JSON is asked for, an error is one JSON object on standard output too, if there is no
//     other answer there.
//   - A secret key is never printed, wherever it was given by mistake: standard error shows
//     its prefix alone.
//   - Any of these may hold text of strangers. A character that is invisible, or that would act on
//     the terminal, is shown as <U+...>, and in JSON as \uXXXX.
//   - Nothing is coloured. A progress line is drawn on a terminal only, and wiped when it is done.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path"
	"regexp"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/jsondoc"
	"anteroom/edge/quote"
	"anteroom/generator/publish"
	"anteroom/generator/site"
	"anteroom/generator/tlog"

	"github.com/mattn/go-isatty"
)

// terminal is what a command reads from and prints to.
type terminal struct {
	in     io.Reader
	out    *bufio.Writer
	stdout io.Writer // what out writes to, by way of sent
	sent   *counter
	err    io.Writer
	tty    bool // whether err is a terminal
	asks   bool // whether in is one too, so that somebody may answer
	now    func() time.Time
}

func newTerminal(stdin io.Reader, stdout, stderr io.Writer) *terminal {
	isTerminal := func(stream any) bool {
		f, ok := stream.(*os.File)
		return ok && isatty.IsTerminal(f.Fd())
	}
	tty := isTerminal(stderr)
	sent := &counter{Writer: stdout}
	return &terminal{
		in: stdin, out: bufio.NewWriter(sent), stdout: stdout, sent: sent, err: withoutSecrets{stderr},
		tty: tty, asks: tty && isTerminal(stdin), now: time.Now,
	}
}

// counter counts what is written.
type counter struct {
	io.Writer
	bytes int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.bytes += int64(n)
	return n, err
}

// withoutSecrets writes lines on, and leaves out what stands behind the prefix of a secret key.
type withoutSecrets struct{ io.Writer }

// A backslash goes with the character that it escapes: a quotation mark that it was taken from
// would end a quoted text, and what a stranger wrote behind it would be read as a part of the log.
var secretKey = regexp.MustCompile("(" + regexp.QuoteMeta(receipt.SecretPrefix) + "|" + regexp.QuoteMeta(receipt.NotePrefix) + `)(?:\\\S|[^\s"'\\])*`)

func (w withoutSecrets) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.Writer, withoutKey(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

func withoutKey(text string) string { return secretKey.ReplaceAllString(text, "${1}…") }

// contentError is why a content folder cannot be used.
type contentError struct {
	folder string
	site.Faults
}

// lines are the faults, one a line, with their files as the caller named the folder.
func (e contentError) lines() (lines []string) {
	for _, fault := range e.Faults {
		fault.File = path.Join(e.folder, fault.File)
		lines = append(lines, fault.String())
	}
	return lines
}

// fail prints an error.
func (t *terminal) fail(err error) {
	if errors.Is(err, errSilent) {
		return
	}
	if faulty := (contentError{}); errors.As(err, &faulty) {
		for _, line := range faulty.lines() {
			fmt.Fprintln(t.err, line)
		}
		fmt.Fprintf(t.err, "anteroom: %s has %s (mend what is listed above; nothing was written)\n",
			faulty.folder, plural(len(faulty.Faults), "fault"))
		return
	}
	t.complain("anteroom: ", err.Error())
}

// complain prints each line of a text to standard error, with a prefix.
func (t *terminal) complain(prefix, text string) {
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line, _ = quote.Visible(strings.TrimSpace(line))
		fmt.Fprintln(t.err, prefix+line)
	}
}

// errorReport is an error in JSON.
type errorReport struct {
	Code    string        `json:"code"`      // usage, content or failed
	Exit    int           `json:"exit_code"` // of the program
	Message string        `json:"message"`
	Hint    string        `json:"hint,omitempty"`   // what to do next
	Faults  []faultReport `json:"faults,omitempty"` // where there are several, or they are of the content
}

type faultReport struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"` // from 1, as the column
	Column  int    `json:"column,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// failJSON prints an error as a JSON object to standard output, where no answer stands there yet.
func (t *terminal) failJSON(err error, code int) {
	if t.sent.bytes > 0 || t.out.Buffered() > 0 || errors.Is(err, errSilent) {
		return
	}
	r := errorReport{Code: "failed", Exit: code}
	if code == exitUsage {
		r.Code = "usage"
	}
	if faulty := (contentError{}); errors.As(err, &faulty) {
		r.Code = "content"
		for _, f := range faulty.Faults {
			r.Faults = append(r.Faults, faultReport{path.Join(faulty.folder, f.File), f.Line, f.Column, withoutKey(f.What), withoutKey(f.Hint)})
		}
		r.Message, r.Hint = faulty.folder+" has "+plural(len(faulty.Faults), "fault"), "mend the faults; nothing was written"
	} else {
		var messages []string
		for line := range strings.Lines(strings.TrimSpace(err.Error())) {
			message, hint := splitHint(withoutKey(strings.TrimSpace(line)))
			messages = append(messages, message)
			r.Faults, r.Hint = append(r.Faults, faultReport{Message: message, Hint: hint}), hint
		}
		if r.Message = strings.Join(messages, "; "); len(messages) == 1 {
			r.Faults = nil
		}
	}
	t.sayObject(map[string]errorReport{"error": r}) // it is made of texts and numbers, which do not fail
}

// splitHint takes from an error what to do next, which stands in brackets at its end. A single word
// there is no hint: a library may name its own error so.
func splitHint(line string) (message, hint string) {
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

// warn prints a warning.
func (t *terminal) warn(format string, args ...any) {
	t.complain("anteroom: warning: ", fmt.Sprintf(format, args...))
}

// say prints a line to standard output.
func (t *terminal) say(format string, args ...any) {
	line, _ := quote.Visible(fmt.Sprintf(format, args...))
	fmt.Fprintln(t.out, line)
}

// sayJSON prints a JSON text. It writes invisible characters as escapes, which mean the same.
func (t *terminal) sayJSON(text []byte) {
	t.out.Write(visibleJSON(text))
	t.out.WriteByte('\n')
}

// sayObject prints a value as a JSON object.
func (t *terminal) sayObject(value any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return err
	}
	t.sayJSON(bytes.TrimSpace(text.Bytes()))
	return nil
}

// visibleJSON writes the invisible characters of a JSON text as escapes. Most texts have none.
func visibleJSON(text []byte) []byte {
	plain := true
	for _, c := range text {
		plain = plain && (' ' <= c && c <= '~' || c == '\n')
	}
	if plain {
		return text
	}
	var b []byte
	for _, r := range string(text) {
		switch {
		case !quote.Invisible(r) || r == '\n': // a line break stands between the tokens of JSON, never in a string
			b = utf8.AppendRune(b, r)
		case r < 0x10000:
			b = fmt.Appendf(b, "\\u%04x", r)
		default:
			high, low := utf16.EncodeRune(r)
			b = fmt.Appendf(b, "\\u%04x\\u%04x", high, low)
		}
	}
	return b
}

// log is the log of a server.
func (t *terminal) log() *slog.Logger { return slog.New(slog.NewTextHandler(t.err, nil)) }

// progress draws how much of a long write is done. It is nil where standard error is no terminal.
func (t *terminal) progress(what string) func(written, total int64) {
	if !t.tty {
		return nil
	}
	const quick = 200 * time.Millisecond // a shorter write needs no progress line
	start, last := t.now(), time.Time{}
	return func(written, total int64) {
		now := t.now()
		switch {
		case now.Sub(start) < quick:
		case written == total && !last.IsZero():
			fmt.Fprint(t.err, "\r\x1b[K")
		case written < total && now.Sub(last) > quick/2:
			last = now
			const width = 30
			done := int(width * written / total)
			bar := strings.Repeat("#", done) + strings.Repeat(".", width-done)
			fmt.Fprintf(t.err, "\r\x1b[K%s [%s] %s of %s", what, bar, byteSize(written), byteSize(total))
		}
	}
}

// report is what generate did, or with --check what it would do.
type report struct {
	Out       string                 `json:"out"`
	Content   string                 `json:"content"` // version of the content
	Check     bool                   `json:"check"`
	Documents []publish.Entry        `json:"documents"`
	Counts    map[publish.Status]int `json:"counts"`
	Bytes     int64                  `json:"bytes"`   // of all documents but the removed ones
	Changes   int                    `json:"changes"` // new, changed and removed documents
	Warnings  []string               `json:"warnings"`
}

// printReport prints a table and a summary, or one JSON object. With changesOnly the table leaves
// out the documents that stay, but not the files that generate did not make. A log has thousands of
// files: those of one status share a line.
func (t *terminal) printReport(r *report, asJSON, changesOnly bool) {
	if asJSON {
		t.sayObject(r) // it is made of texts and numbers, which do not fail
		return
	}
	table := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	statuses := []publish.Status{publish.New, publish.Changed, publish.Same, publish.Removed, publish.Kept}
	files, sizes := map[publish.Status]int{}, map[publish.Status]int64{} // of a log
	for _, e := range r.Documents {
		if changesOnly && e.Status == publish.Same {
			continue
		}
		if tlog.Published(e.Path) && e.Status != publish.Kept {
			files[e.Status]++
			sizes[e.Status] += e.Size
			continue
		}
		name, _ := quote.Visible(e.Path) // of a file that anybody may have put there
		fmt.Fprintf(table, "%s\t%d\t%s\n", name, e.Size, e.Status)
	}
	for _, status := range statuses {
		if n := files[status]; n > 0 {
			fmt.Fprintf(table, "%s/, %s\t%d\t%s\n", tlog.Folder, plural(n, "file"), sizes[status], status)
		}
	}
	table.Flush()
	var counts []string
	for _, status := range statuses {
		if n := r.Counts[status]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, status))
		}
	}
	t.say("%s: %s; %s, content %.12s", r.Out, strings.Join(counts, ", "), byteSize(r.Bytes), r.Content)
}

// plural writes a number with its noun: "1 fault", "2 faults".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// byteSize writes a number of bytes for people.
func byteSize(n int64) string {
	switch {
	case n < 1000:
		return plural(int(n), "byte")
	case n < 1000*1000:
		return fmt.Sprintf("%.1f kB", float64(n)/1000)
	case n < 1000*1000*1000:
		return fmt.Sprintf("%.1f MB", float64(n)/(1000*1000))
	}
	return fmt.Sprintf("%.1f GB", float64(n)/(1000*1000*1000))
}

// printVerdict prints the answer to a verification: the verdict, the checks, and the problems.
func (t *terminal) printVerdict(v *jsondoc.Value, asJSON bool) {
	if asJSON {
		t.sayJSON(v.Raw)
		return
	}
	t.say("%s", v.Get("verdict").Text)
	for _, name := range []string{"fields_match", "hash_ok", "signature_ok", "checked_against_public_key", "recomputed_sha256"} {
		member := v.Get(name)
		text := string(member.Raw)
		if member.Kind == jsondoc.String {
			text = member.Text
		}
		t.say("%s: %s", name, text)
	}
	for _, problem := range v.Get("problems").Items {
		t.say("problem: %s", problem.Raw) // as JSON text, because it may hold what a caller wrote
	}
}

// ask asks a question on standard error until its answer, a line of lines, is a good one. An empty
// line stands for preset. check says what is wanted instead, and "" of a good answer.
func (t *terminal) ask(ctx context.Context, lines *bufio.Reader, question, preset string, check func(string) string) (string, error) {
	type line struct {
		text string
		err  error
	}
	for {
		prompt := question
		if preset != "" {
			prompt += " [" + preset + "]"
		}
		prompt, _ = quote.Visible(prompt)
		fmt.Fprint(t.err, prompt+": ")
		read := make(chan line, 1) // an interrupt ends the question and not the reading
		go func() {
			text, err := lines.ReadString('\n')
			read <- line{text, err}
		}()
		var got line
		select {
		case <-ctx.Done():
			fmt.Fprintln(t.err)
			return "", errors.New("interrupted (nothing was written)")
		case got = <-read:
		}
		if got.err != nil {
			fmt.Fprintln(t.err)
			return "", fmt.Errorf("read the answer: %w (nothing was written; flags answer too)", got.err)
		}
		answer := strings.TrimSpace(got.text)
		if answer == "" {
			answer = preset
		}
		want := check(answer)
		if want == "" {
			return answer, nil
		}
		fmt.Fprintln(t.err, want)
	}
}
