package tlog

import (
	"fmt"
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
