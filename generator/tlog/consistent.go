package tlog

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Fork is the evidence that a log has signed two trees of which neither extends the other. No log
// may do so.
type Fork struct {
	Origin string   `json:"origin"`
	What   string   `json:"what"`
	Notes  []string `json:"notes"` // the two checkpoints, whole: the log's own, and one that does not fit it
}

// Error says what is wrong in one line. The evidence follows: both notes.
func (f *Fork) Error() string {
	return fmt.Sprintf("the log %s is forked: %s\n%s", f.Origin, f.What, strings.Join(f.Notes, "\n"))
}

// ErrAhead is the error of a checkpoint of more entries than the log has.
var ErrAhead = errors.New("it is ahead of the content: content/log lacks what was published (restore it from version control)")

// Consistent checks that the log extends a checkpoint of one of its trees. The error is a Fork or
// wraps ErrAhead if a key of the log has signed the checkpoint and the log does not extend it.
func (l *Log) Consistent(checkpoint []byte) error {
	c, err := Open(checkpoint, l.Keys, nil)
	if err != nil {
		return err
	}
	t := &Tree{Origin: c.Origin}
	if i := slices.IndexFunc(l.Trees, func(t *Tree) bool { return t.Origin == c.Origin }); i >= 0 {
		t = l.Trees[i]
	}
	if c.Size > t.Size() {
		return fmt.Errorf("the checkpoint of %s is of %d entries, and there are %d: %w", c.Origin, c.Size, t.Size(), ErrAhead)
	}
	root, err := t.Root(c.Size)
	if err != nil {
		return fmt.Errorf("compare with the checkpoint of %s: %w", c.Origin, err)
	}
	if root == c.Root {
		return nil
	}
	var own []byte // of that size, or else the newest
	for i := range l.Stages {
		if s := &l.Stages[i]; s.Tree == t {
			if own = s.Checkpoint; s.Size == c.Size {
				break
			}
		}
	}
	return &Fork{
		Origin: c.Origin, Notes: []string{string(own), string(checkpoint)},
		What: fmt.Sprintf("its key has signed another tree of %d entries than that of the content (restore content/log from version control)", c.Size),
	}
}
