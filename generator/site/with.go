package site

import (
	"maps"
	"slices"

	"anteroom/edge/assets"
)

// With returns the site with one more hand verification, whose two files are not in the folder yet,
// checked as Load checks them. The log stays. The error is Errors.
func (s *Site) With(name string, verification, board []byte) (*Site, error) {
	next := *s
	next.documents = maps.Clone(s.documents)
	next.Scoreboards = append(slices.Clip(s.Scoreboards), Scoreboard{File: name})
	next.Verifications = append(slices.Clip(s.Verifications), Verification{File: name, SHA256: assets.SumOf(verification)})
	read := func(folder string, src []byte, target any) *document {
		d := next.document(folder + name + ".yaml")
		if !d.refuse(src) {
			d.decode(src, target)
		}
		return d
	}
	v := read("verifications/", verification, &next.Verifications[len(s.Verifications)])
	b := read("scoreboard/", board, &next.Scoreboards[len(s.Scoreboards)])
	if v.decoded && b.decoded {
		next.checkVerifications()
		checkPlaceholders(b)
	}
	if err := next.faults(); err != nil {
		return nil, err
	}
	return &next, nil
}
