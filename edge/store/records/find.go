package records

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"anteroom/edge/turn"
)

const (
	idDigits   = 32 // of a record identifier
	minDigits  = 6  // of an abbreviated one
	maxMatches = 10 // named in an error
)

// CheckID returns an error unless text is a record identifier or the first digits of one.
func CheckID(text string) error {
	if len(text) < minDigits || len(text) > idDigits || strings.Trim(text, "0123456789abcdef") != "" {
		return fmt.Errorf("record identifier: got %q, want %d digits of 0-9 and a-f, or the first %d or more",
			text, idDigits, minDigits)
	}
	return nil
}

// Find returns the identifiers of records and claims in a store that begin with texts. It does not
// look up whole identifiers.
func Find(ctx context.Context, r Reader, texts ...string) (ids []string, err error) {
	all := "SELECT record_id FROM used_ids WHERE " + isClaim
	for _, list := range Lists {
		all += " UNION SELECT record_id FROM " + list.Name
	}
	for _, text := range texts {
		if len(text) < idDigits {
			rows, err := r.Read(ctx, turn.SQL("SELECT record_id FROM ("+all+") WHERE substr(record_id, 1, ?) = ?",
				int64(len(text)), text))
			if err != nil {
				return nil, fmt.Errorf("find record %s: %w", text, err)
			}
			var found []string
			for _, row := range rows[0] {
				found = append(found, turn.Text(row[0]))
			}
			if text, err = Unique(text, slices.Values(found)); err != nil {
				return nil, err
			}
		}
		ids = append(ids, text)
	}
	return ids, nil
}

// Unique returns the only one of some record identifiers that begins with text, or text itself if
// it is a whole identifier.
func Unique(text string, ids iter.Seq[string]) (string, error) {
	if err := CheckID(text); err != nil || len(text) == idDigits {
		return text, err
	}
	var found []string
	for id := range ids {
		if strings.HasPrefix(id, text) {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("no record identifier begins with %s", text)
	case 1:
		return found[0], nil
	}
	slices.Sort(found)
	rest := ""
	if n := len(found) - maxMatches; n > 0 {
		found, rest = found[:maxMatches], fmt.Sprintf(" and %d more", n)
	}
	return "", fmt.Errorf("several record identifiers begin with %s: %s%s (give more digits)",
		text, strings.Join(found, ", "), rest)
}
