package verification

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"anteroom/edge/native/disk"
	"anteroom/edge/quote"
	"anteroom/generator/output"
	"anteroom/generator/site"
)

// mark begins the comments with faults, which are removed when the file is read again.
const mark = "#!! "

// Draft is the file of answers in a content folder that an operator edits.
func Draft(content string) string { return filepath.Join(content, ".verification-draft.yaml") }

var throughLine = regexp.MustCompile(`(?m)^through: (\S+)$`)

func begun(draft string) (through string, err error) {
	text, err := os.ReadFile(draft)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if found := throughLine.FindSubmatch(text); found != nil {
		through = string(found[1])
	}
	return through, err
}

func forget(content string, s *site.Site) error {
	through, err := begun(Draft(content))
	n := len(s.Verifications)
	if err != nil || n == 0 || through != s.Verifications[n-1].Through {
		return err
	}
	draft, err := os.Stat(Draft(content))
	written, failed := os.Stat(inside(content, verificationFile(s.Verifications[n-1].File)))
	if err = errors.Join(err, failed); err != nil || draft.ModTime().After(written.ModTime()) {
		return err
	}
	return os.Remove(Draft(content))
}

// edit has an operator edit a draft until decide accepts its answers. It writes template to the
// draft unless one exists. Faults are written into the draft, which is opened again; if nothing is
// changed then, edit gives up. If the draft was emptied, edit removes it and returns nil.
func edit(draft string, template []byte, open func() error, decide func(*answers) (*decided, error)) (*decided, error) {
	text, err := os.ReadFile(draft)
	if errors.Is(err, fs.ErrNotExist) {
		if text, err = template, disk.WriteNew(draft, template); err == nil {
			err = output.Permit(draft, 0o600)
		}
	}
	for marked := false; err == nil; marked = true {
		if err = open(); err != nil {
			return nil, err
		}
		var edited []byte
		if edited, err = os.ReadFile(draft); err != nil {
			break
		}
		edited = unmarked(edited)
		if emptied(edited) {
			return nil, os.Remove(draft)
		}
		var d *decided
		a, wrong := parseAnswers(edited)
		if wrong == nil {
			d, wrong = decide(a)
		}
		switch {
		case wrong == nil:
			return d, disk.Replace(draft, edited)
		case marked && bytes.Equal(edited, text):
			return nil, fmt.Errorf("%w\nnothing was changed", wrong)
		}
		text, err = edited, disk.Replace(draft, withFaults(edited, wrong))
	}
	return nil, fmt.Errorf("edit the answers: %w", err)
}

func unmarked(text []byte) []byte {
	var b bytes.Buffer
	for line := range bytes.Lines(text) {
		if !bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte(mark)) {
			b.Write(line)
		}
	}
	return b.Bytes()
}

func withFaults(text []byte, wrong error) []byte {
	list := faults(nil)
	if !errors.As(wrong, &list) {
		list = faults{{what: wrong.Error()}}
	}
	lines := strings.SplitAfter(string(text), "\n")
	before := map[int]string{} // comments, by the indexes of lines
	for _, f := range list {
		at := max(f.line-1, 0)
		if at >= len(lines) {
			at = 0
		}
		indent := lines[at][:len(lines[at])-len(strings.TrimLeft(lines[at], " "))]
		for line := range strings.Lines(f.what) {
			visible, _ := quote.Visible(strings.TrimSpace(line))
			before[at] += indent + mark + visible + "\n"
		}
	}
	var b bytes.Buffer
	if slices.ContainsFunc(list, func(f fault) bool { return f.line > 0 }) {
		b.WriteString(mark + "Something is wrong: look for the comments that begin like this one.\n")
	}
	for i, line := range lines {
		b.WriteString(before[i] + line)
	}
	return b.Bytes()
}
