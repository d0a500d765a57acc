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

// ErasedName is the name of the list of erasures in a data folder, one a line, with its time and
// the identifier of the record. The database has the identifiers too, but the list survives the
// database. Earlier programs kept one next to backups as well.
const ErasedName = "anteroom-erased.txt"

// recordID is a record identifier at the end of a line, also if an earlier line broke off.
var recordID = regexp.MustCompile(`(?m)[0-9a-f]{32}$`)

// NoteErased adds records to the list in a data folder, unless it has them. That comes before their
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
		return fmt.Errorf("keep the list of erasures: %w", err)
	}
	return nil
}

// ReadErased returns the identifiers in the list of a folder, none if there is no list.
func ReadErased(folder string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(folder, ErasedName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the list of erasures: %w", err)
	}
	return recordID.FindAllString(string(text), -1), nil
}

// erasedBy returns the identifiers that a list of erasures, a database or a backup has, and the
// store of a database. One of an older schema has no identifiers.
func erasedBy(ctx context.Context, file string) (ids []string, store string, err error) {
	if is, err := sqlite.IsDatabase(file); err != nil || !is {
		text, readErr := os.ReadFile(file)
		if err = errors.Join(err, readErr); err == nil {
			text, err = disk.PlainText(text)
		}
		if ids = recordID.FindAllString(string(text), -1); err == nil && len(ids) == 0 && len(text) > 0 {
			err = errors.New("neither a database nor a list")
		}
		if err != nil {
			err = fmt.Errorf("read the list of erasures %s: %w", file, err)
		}
		return ids, "", err
	}
	r, err := sqlite.OpenReadOnly(file)
	if err != nil {
		return nil, "", err
	}
	defer r.Close()
	has := func(table string) bool {
		rows, readErr := r.Read(ctx, turn.Statement{SQL: "SELECT 1 FROM sqlite_schema WHERE name = ?", Args: []any{table}})
		err = errors.Join(err, readErr)
		return err == nil && len(rows[0]) > 0
	}
	rows := [][][]any{{}}
	if has("store") {
		if rows, err = r.Read(ctx, turn.Statement{SQL: "SELECT id FROM store"}); err == nil && len(rows[0]) > 0 {
			store, _ = rows[0][0][0].(string)
		}
		rows = [][][]any{{}}
	}
	if has("erased") {
		rows, err = r.Read(ctx, turn.Statement{SQL: records.SelectErased})
	}
	if err != nil {
		return nil, "", err
	}
	for _, row := range rows[0] {
		id, _ := row[0].(string)
		ids = append(ids, id)
	}
	return ids, store, nil
}

// knownErased returns the identifiers that a restore of file into folder knows to be erased: by
// the databases and the list next to file, by the list in the folder, and by more. It also returns
// the newest of these files, which is more if that names any. restored is the store of file. It
// passes over a database next to file that it cannot read, or that is another store.
func knownErased(ctx context.Context, file, restored, folder string, more []string) (ids []string, newest string, err error) {
	next, _ := filepath.Glob(filepath.Join(filepath.Dir(file), "*.db")) // fails for a bad pattern alone
	files := slices.Concat(more, []string{filepath.Join(filepath.Dir(file), ErasedName), filepath.Join(folder, ErasedName)})
	latest := time.Time{}
	for i, name := range slices.Concat(files, []string{file}, next) {
		info, err := os.Stat(name)
		var found []string
		if err == nil {
			var store string
			if found, store, err = erasedBy(ctx, name); err == nil && store != "" && restored != "" && store != restored {
				err = fmt.Errorf("read the erasures of %s: wrong store: got %s, %s is of store %s", name, store, file, restored)
			}
		}
		switch {
		case err == nil:
			if ids = append(ids, found...); info.ModTime().After(latest) {
				latest, newest = info.ModTime(), name
			}
		case i < len(more) || i < len(files) && !errors.Is(err, fs.ErrNotExist):
			return nil, "", err
		}
	}
	if len(more) > 0 {
		newest = strings.Join(more, ", ")
	}
	slices.Sort(ids)
	return slices.Compact(ids), newest, nil
}

// eraseAgain erases the addresses of records in a database that nobody uses, and says of how many
// records there were any.
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
