package verification

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"anteroom/edge/native/disk"
	"anteroom/generator/site"
)

// Draft is the file of answers in a content folder that an operator edits.
func Draft(content string) string { return filepath.Join(content, ".verification-draft.yaml") }

var throughLine = regexp.MustCompile(`(?m)^through: (\S+)\r?$`)

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

// editing holds the terminal's actions while an operator edits a draft.
type editing struct {
	open    func(line int) error                      // runs the editor; 0 is no line
	atOnce  func() error                              // waits, as the editor has not
	quick   time.Duration                             // too short to read a file
	refused func(wrong error) (again bool, err error) // shows faults
	decide  func(*answers) (*decided, error)
}

// edit has an operator edit a draft until decide accepts its answers. It writes template to the
// draft unless one exists. If there are faults, the draft is opened again at the first one. If it
// was emptied, edit removes it and returns nil.
func (e *editing) edit(draft string, template []byte) (*decided, error) {
	_, err := os.Stat(draft)
	if errors.Is(err, fs.ErrNotExist) {
		err = disk.WriteNew(draft, template)
	}
	for line := 0; err == nil; {
		if err := e.once(draft, line); err != nil {
			return nil, err
		}
		var edited []byte
		if edited, err = os.ReadFile(draft); err != nil {
			break
		}
		a, wrong := parseAnswers(draft, edited)
		if errors.Is(wrong, errEmpty) {
			return nil, os.Remove(draft)
		}
		if wrong == nil {
			var d *decided
			if d, wrong = e.decide(a); wrong == nil {
				return d, nil
			}
		}
		again, err := e.refused(wrong)
		if err == nil && !again {
			err = errors.New("verify: nothing was written")
		}
		if err != nil {
			return nil, err
		}
		list := faults(nil)
		errors.As(wrong, &list)
		line = 0
		if i := slices.IndexFunc(list, func(f fault) bool { return f.line > 0 }); i >= 0 {
			line = list[i].line
		}
	}
	return nil, fmt.Errorf("edit the answers: %w", err)
}

// once runs the editor once. If that ends at once and the file was not written, the editor may be a
// window that is still open.
func (e *editing) once(draft string, line int) error {
	before, err := os.Stat(draft)
	begun := time.Now()
	if err == nil {
		err = e.open(line)
	}
	if err != nil || time.Since(begun) >= e.quick {
		return err
	}
	after, err := os.Stat(draft)
	if err == nil && after.ModTime().Equal(before.ModTime()) && after.Size() == before.Size() {
		err = e.atOnce()
	}
	return err
}
