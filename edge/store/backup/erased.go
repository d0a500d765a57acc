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

	"anteroom/edge/assets"
	"anteroom/edge/native/disk"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/store/records"
)

// ErasedName is the list of erasures in a data folder, and next to backups: lines of the time of
// writing and a record identifier. Restore reads only these lists, whatever the database contains.
const ErasedName = "anteroom-erased.txt"

// recordID matches the identifier at the end of a line, even if an earlier line broke off.
var recordID = regexp.MustCompile(`(?m) [0-9a-f]{32}$`)

// NoteErased adds records to the list in a folder. For a data folder it is called before their
// addresses are erased.
func NoteErased(folder string, now time.Time, ids []string) error {
	listed, err := ReadErased(folder)
	if err != nil {
		return err
	}
	var lines strings.Builder
	for _, id := range ids {
		if !slices.Contains(listed, id) {
			fmt.Fprintf(&lines, "%s %s\n", now.UTC().Format(time.RFC3339), id)
		}
	}
	if lines.Len() == 0 {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(folder, ErasedName), os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err == nil {
		_, err = f.WriteString(lines.String())
		err = errors.Join(err, disk.Sync(f), f.Close(), disk.SyncFolder(folder))
	}
	if err != nil {
		return fmt.Errorf("write the list of erasures: %w", err)
	}
	return nil
}

// ReadErased returns the identifiers in the list of a folder. The list may be missing.
func ReadErased(folder string) ([]string, error) {
	ids, err := readList(filepath.Join(folder, ErasedName))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return ids, err
}

func readList(file string) ([]string, error) {
	text, err := assets.ReadFile(file)
	if err == nil {
		text, err = disk.PlainText(text)
	}
	if err != nil {
		return nil, fmt.Errorf("read the list of erasures %s: %w", file, err)
	}
	return strings.Fields(strings.Join(recordID.FindAllString(string(text), -1), "")), nil
}

func knownErased(folders, named []string) (ids []string, err error) {
	for _, folder := range folders {
		found, err := ReadErased(folder)
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
	}
	for _, file := range named {
		found, err := readList(file)
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("read the list of erasures %s: found no record identifier (name a file %s)", file, ErasedName)
		}
		if err != nil {
			return nil, err
		}
		ids = append(ids, found...)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

func eraseAgain(ctx context.Context, path string, ids []string) (erased int64, err error) {
	if len(ids) == 0 {
		return 0, nil
	}
	changes, err := sqlite.Rewrite(ctx, path, records.Erasure(ids...))
	if err == nil {
		erased = slices.Max(changes)
	}
	return erased, err
}
