package records

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
)

// Digest returns the digest of n records that follow others with the digest before, from the Line
// of each. Without records it is before.
func Digest(before string, n int, line func(i int) string) string {
	if n == 0 {
		return before
	}
	hash := sha256.New()
	io.WriteString(hash, before+"\n")
	for i := range n {
		io.WriteString(hash, line(i)+"\n")
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// Behind refuses a store whose newest verified records of a kind are missing or different, as after
// the restore of an older backup. Each segment has, with spaces between: the index of the kind in
// Kinds, the number of the last record before these and of the last one, the digest before and with
// them, and the name of their verification.
func Behind(ctx context.Context, r Reader, segments []string) error {
	for _, segment := range segments {
		var kind, after, last int64
		var before, sum, by string
		if _, err := fmt.Sscan(segment, &kind, &after, &last, &before, &sum, &by); err != nil {
			return fmt.Errorf("read a segment: %w", err)
		}
		list, err := Scan(ctx, r, &Kinds[kind], after, last)
		if err != nil {
			return err
		}
		if Digest(before, len(list), func(i int) string { return list[i].Line }) != sum {
			return fmt.Errorf("%s lacks %ss of verification %s, or holds others: was an older backup restored? "+
				"(anteroom records audit names them; restore a newer backup or, if they are lost for good, say why "+
				"under lost: in anteroom publish)", r.Name(), Kinds[kind].Name, by)
		}
	}
	return nil
}
