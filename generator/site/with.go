package site

import (
	"maps"
	"slices"
)

// With is the site with one hand verification more, of this name, whose two files are not in the
// folder yet. They are checked as Load would check them. The log is that of the site. The error is
// Errors.
func (s *Site) With(name string, verification, board []byte) (*Site, error) {
	next := *s
	next.documents = maps.Clone(s.documents)
	add := func(folder string, src []byte, target any) *document {
		d := next.document(folder + name + ".yaml")
		if !d.refuse(src) {
			d.decode(src, target)
		}
		return d
	}
	v, b := Verification{File: name, SHA256: sumOf(verification)}, Scoreboard{File: name}
	of, shown := add("verifications/", verification, &v), add("scoreboard/", board, &b)
	if of.decoded && shown.decoded {
		var last *Scoreboard
		if n := len(s.Scoreboards); n > 0 {
			last = &s.Scoreboards[n-1]
		}
		var previous *Verification
		if n := len(s.Verifications); n > 0 {
			previous = &s.Verifications[n-1]
		}
		ledger := s.Ledger()
		checkScoreboard(shown, &b, last)
		checkVerification(of, &v, previous, ledger)
		checkCounts(shown, &b, &v, ledger)
		checkPlaceholders(shown)
	}
	if err := next.faults(); err != nil {
		return nil, err
	}
	next.Verifications = append(slices.Clip(next.Verifications), v)
	next.Scoreboards = append(slices.Clip(next.Scoreboards), b)
	return &next, nil
}
