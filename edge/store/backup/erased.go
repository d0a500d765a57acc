package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"anteroom/edge/native/disk"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"
)

// ErasedName is the name of the list of erasures, one a line, with its time and the identifier of
// the record. It lies in a data folder, and beside the backups of its database. It is a file of its
// own, and not a table, so that it survives a damaged database and lists what was erased after a
// backup.
const ErasedName = "anteroom-erased.txt"

// recordID is a record identifier at the end of a line, also if an earlier line broke off.
var recordID = regexp.MustCompile(`(?m)[0-9a-f]{32}$`)

// NoteErased adds records to the list in a data folder, before their addresses are erased: a
// restore erases them again.
func NoteErased(folder string, now time.Time, ids []string) error {
	f, err := os.OpenFile(filepath.Join(folder, ErasedName), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("keep the list of erasures: %w", err)
	}
	var lines strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&lines, "%s %s\n", now.UTC().Format(time.RFC3339), id)
	}
	_, err = f.WriteString(lines.String())
	if err := errors.Join(err, disk.Sync(f), f.Close(), disk.SyncFolder(folder)); err != nil {
		return fmt.Errorf("keep the list of erasures: %w", err)
	}
	return nil
}

// readErased gives the lines of the list in a folder, none if there is no list.
func readErased(folder string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(folder, ErasedName))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' }), err
}

// carryErased adds what the list in a folder has to the one in another folder, and gives the
// records of both.
func carryErased(from, to string) (ids []string, err error) {
	more, moreErr := readErased(from)
	lines, err := readErased(to)
	if err := errors.Join(moreErr, err); err != nil {
		return nil, fmt.Errorf("read the list of erasures: %w", err)
	}
	all := slices.Concat(lines, more)
	slices.Sort(all) // by time
	all = slices.Compact(all)
	text, path := strings.Join(all, "\n")+"\n", filepath.Join(to, ErasedName)
	switch {
	case len(all) == len(lines):
	case len(lines) == 0:
		err = errors.Join(disk.WriteNew(path, []byte(text)), disk.SyncFolder(to))
	default:
		err = disk.Replace(path, []byte(text))
	}
	if err != nil {
		return nil, fmt.Errorf("keep the list of erasures: %w", err)
	}
	ids = recordID.FindAllString(text, -1)
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// eraseAgain erases the addresses of records in a database that nobody uses, and says of how many
// records there were any.
func eraseAgain(ctx context.Context, path string, ids []string) (erased int, err error) {
	if len(ids) == 0 {
		return 0, nil
	}
	var statements []turn.Statement
	for _, id := range ids {
		statements = append(statements, records.Erasure(id)...)
	}
	changes, err := sqlite.Rewrite(ctx, path, statements)
	for i, n := 0, len(records.Erasure("")); err == nil && i < len(changes); i += n {
		if slices.Max(changes[i:i+n]) > 0 {
			erased++
		}
	}
	return erased, err
}
