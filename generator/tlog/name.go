package tlog

import (
	"cmp"
	"path"
	"regexp"
	"strings"
	"time"

	"anteroom/edge/civil"
)

// verificationNames are a day, and a number from the second verification of that day on.
var verificationNames = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}(-([2-9]|[1-9][0-9]{1,2}))?$`)

// IsName reports whether a text is the name of a hand verification: 2026-11-20, 2026-11-20-2.
func IsName(text string) bool {
	if !verificationNames.MatchString(text) {
		return false
	}
	_, is := civil.ParseDate(text[:len(time.DateOnly)])
	return is
}

// BoardPath is where the board of a verification is published, by its name.
func BoardPath(name string) string { return "/scoreboard/" + name + ".json" }

// nameOf is the name of the verification whose board is at a path, and "" for any other path.
func nameOf(board string) string {
	name := strings.TrimSuffix(path.Base(board), ".json")
	if !IsName(name) || BoardPath(name) != board {
		return ""
	}
	return name
}

// CompareNames orders the names of hand verifications by day, and by number within a day. Numbers
// have no leading zeros, so that of two names of a day the longer one has the greater number.
func CompareNames(a, b string) int {
	return cmp.Or(cmp.Compare(a[:len(time.DateOnly)], b[:len(time.DateOnly)]), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
}
