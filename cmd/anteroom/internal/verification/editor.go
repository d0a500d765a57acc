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
	"anteroom/generator/site"
)

// mark begins the comments that name faults. Lines that begin so are taken out again.
const mark = "#!! "

// Draft is the file of answers in a content folder that an operator edits. Only this user may read
// it.
func Draft(content string) string { return filepath.Join(content, ".verification-draft.yaml") }

var throughLine = regexp.MustCompile(`(?m)^through: (\S+)$`)

// Begun gives the time up to which a draft goes that an operator has left, "" if there is no draft.
func Begun(draft string) (through string, err error) {
	text, err := os.ReadFile(draft)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if found := throughLine.FindSubmatch(text); found != nil {
		through = string(found[1])
	}
	return through, err
}

// Forget removes a draft whose verification is written, as a process was killed between the two.
func Forget(content string, s *site.Site) error {
	through, err := Begun(Draft(content))
	n := len(s.Verifications)
	if err != nil || n == 0 || through != s.Verifications[n-1].Through {
		return err
	}
	draft, err := os.Stat(Draft(content))
	written, wrong := os.Stat(inside(content, VerificationFile(s.Verifications[n-1].File)))
	if err = errors.Join(err, wrong); err != nil || draft.ModTime().After(written.ModTime()) {
		return err
	}
	return os.Remove(Draft(content))
}

// Edit has an operator edit a draft until decide accepts its answers, and gives what they decide.
// It writes template to the draft unless there is one already. Faults are written into the draft,
// and the editor opens it again; if nothing is changed then, Edit gives up. If the draft was
// emptied, Edit removes it and gives nil.
func Edit(draft string, template []byte, open func() error, decide func(*Answers) (*Decided, error)) (*Decided, error) {
	text, err := os.ReadFile(draft)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = template, disk.WriteNew(draft, template)
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
		if Emptied(edited) {
			return nil, os.Remove(draft)
		}
		var decided *Decided
		answers, wrong := ParseAnswers(edited)
		if wrong == nil {
			decided, wrong = decide(answers)
		}
		switch {
		case wrong == nil:
			return decided, disk.Replace(draft, edited)
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

// withFaults writes what is wrong with answers into them: before the line that it is about, or else
// at the top.
func withFaults(text []byte, wrong error) []byte {
	faults := Faults(nil)
	if !errors.As(wrong, &faults) {
		faults = Faults{{What: wrong.Error()}}
	}
	lines := strings.SplitAfter(string(text), "\n")
	before := map[int][]string{} // comments, by the indexes of the lines that they go before
	for _, f := range faults {
		at := max(f.Line-1, 0)
		if at >= len(lines) {
			at = 0
		}
		indent := lines[at][:len(lines[at])-len(strings.TrimLeft(lines[at], " "))]
		for line := range strings.Lines(f.What) {
			visible, _ := quote.Visible(strings.TrimSpace(line))
			before[at] = append(before[at], indent+mark+visible+"\n")
		}
	}
	var b bytes.Buffer
	if slices.ContainsFunc(faults, func(f Fault) bool { return f.Line > 0 }) {
		b.WriteString(mark + "Something is wrong: look for the comments that begin like this one.\n")
	}
	for i, line := range lines {
		b.WriteString(strings.Join(before[i], "") + line)
	}
	return b.Bytes()
}
