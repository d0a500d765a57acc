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

// ErasedName is the list of erasures in a data folder: lines of a time and a record identifier. The
// database has the identifiers too, but the list survives it. Earlier programs kept a list next to
// backups as well.
const ErasedName = "anteroom-erased.txt"

// recordID matches the identifier at the end of a line, also if an earlier line broke off.
var recordID = regexp.MustCompile(`(?m)[0-9a-f]{32}$`)

// NoteErased adds records to the list in a data folder. It is called before their addresses are
// erased.
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

// ReadErased returns the identifiers in the list of a folder, if it has one.
func ReadErased(folder string) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(folder, ErasedName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the list of erasures: %w", err)
	}
	return recordID.FindAllString(string(text), -1), nil
}

// erasedBy returns the identifiers of erased records in a list, a database or a backup, and the store
// of the latter two. Older schemas have neither.
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

// knownErased returns the records that were erased according to the databases and the list next to
// file, the list in folder, and the files in more, and the newest of these files, or all in more.
// restored is the store of file: databases next to it of other stores are passed over, as are
// unreadable ones.
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
				err = fmt.Errorf("read the erasures of %s: wrong store: got %s, want %s of %s", name, store, restored, file)
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

// eraseAgain erases the addresses of records in a database that no process uses, and returns how many
// records had one.
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
