package verification

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"anteroom/edge/assets"
	"anteroom/edge/native/disk"
)

// Draft is the file in a content folder with the answers that an operator edits.
//
// Accepts: a process that is killed between a verification and the removal of its draft leaves the
// draft. The next publish opens it and refuses decided records; the operator empties it.
func Draft(content string) string { return filepath.Join(content, ".verification-draft.yaml") }

var throughLine = regexp.MustCompile(`(?m)^through: (\S+)\r?$`)

func begun(draft string) (through string, err error) {
	text, err := assets.ReadFile(draft)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if found := throughLine.FindSubmatch(text); found != nil {
		through = string(found[1])
	}
	return through, err
}

// editing holds the terminal's actions while an operator edits a draft.
type editing struct {
	open    func(line int) error                      // runs the editor; 0 is no line
	refused func(wrong error) (again bool, err error) // shows faults
	decide  func(*answers) (*decided, error)
}

// edit has an operator edit a draft until decide accepts its answers. It writes template to the
// draft unless one exists. If there are faults, the draft is opened again at the first one. If it
// was emptied, edit removes it and returns nil.
func (e *editing) edit(draft string, template []byte) (*decided, error) {
	info, err := os.Lstat(draft)
	if errors.Is(err, fs.ErrNotExist) {
		err = disk.WriteNew(draft, template)
	} else if err == nil && !info.Mode().IsRegular() { // an editor would write to the target of a link
		err = fmt.Errorf("%s is not a file (remove it)", draft)
	}
	for line := 0; err == nil; {
		if err := e.open(line); err != nil {
			return nil, err
		}
		var edited []byte
		if edited, err = assets.ReadFile(draft); err != nil {
			break
		}
		var d *decided
		a, wrong := parseAnswers(draft, edited)
		if errors.Is(wrong, errEmpty) {
			return nil, os.Remove(draft)
		} else if wrong == nil {
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
