package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/store/backup"

	"github.com/spf13/cobra"
)

func backupCommand(t *cli.Terminal) *cobra.Command {
	var public string
	var store storeFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the database into one file, while serve runs or not",
		Long: `Backup copies all records of one moment into FILE, an SQLite database that only its owner may read, and
says what is in it. The copy is checked before it replaces a former one of the same store: whenever
backup is interrupted, FILE is the old one or the new one. A file of that folder which begins with
.anteroom-draft- is left of a run that was killed; the next run removes it. While backup runs,
records erase asks to be tried again.

With --remote the database is that of the deployed service, and FILE has the same form. What is
registered, chartered or suggested after the beginning is left out then, with its addresses.

A backup holds e-mail addresses: keep it as the data folder, and not for longer than you need it. An
address that is erased later stays in the backups made before. The mail to the operator, the content
and the receipt key are not in it.`,
		Args: cobra.ExactArgs(1),
		RunE: cli.WithExitCode(func(cmd *cobra.Command, args []string) error {
			file := args[0]
			if err := checkBackupFile(file, store.data, public); err != nil {
				return cli.Usage(err)
			}
			from, err := store.moment(cmd.Context())
			if err != nil {
				return err
			}
			c, err := backup.Write(cmd.Context(), from, file)
			if err := errors.Join(err, from.Close()); err != nil {
				return err
			}
			return printBackup(t, "backed up to "+file, file, c, asJSON)
		}),
	}
	flags := cmd.Flags()
	store.add(flags)
	flags.StringVar(&public, "public", publicFolder, "the `folder` of the documents, where no backup may lie")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// checkBackupFile says why no backup may be at file.
func checkBackupFile(file, data, public string) error {
	var faults []error
	if inside(resolved(public), resolved(file)) {
		faults = append(faults, fmt.Errorf("FILE %s is inside %s, where everybody could read it", file, public))
	}
	database := filepath.Join(data, sqlite.FileName)
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if resolved(file) == resolved(database+suffix) || sameFile(file, database+suffix) {
			faults = append(faults, fmt.Errorf("FILE %s is a part of the database itself (name another file)", file))
			break
		}
	}
	return errors.Join(faults...)
}

// resolved is a path without links in its folder, as far as that exists.
func resolved(path string) string {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	if target, err := filepath.EvalSymlinks(absolute); err == nil {
		return target
	}
	if folder := filepath.Dir(absolute); folder != absolute {
		return filepath.Join(resolved(folder), filepath.Base(absolute))
	}
	return absolute
}

// sameFile reports whether two paths lead to one file that exists.
func sameFile(a, b string) bool {
	one, oneErr := os.Stat(a)
	other, otherErr := os.Stat(b)
	return errors.Join(oneErr, otherErr) == nil && os.SameFile(one, other)
}

func restoreCommand(t *cli.Terminal) *cobra.Command {
	var data, public string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Make the database of a data folder from a backup",
		Long: `Restore checks a file that anteroom backup made, puts it as the database into a data folder that has none,
and says what is in it. It refuses a folder whose database holds records or is in use. A backup of an
older program is brought up to date. Nothing else in the folder is touched; serve goes on as the same
store.

What changed after the backup is lost, and that goes for erasures too: an address that was erased since
is back. Keep the identifiers of the records that you erase, and run anteroom records erase with them
again. Messages that were delivered since are sent once more.`,
		Args: cobra.ExactArgs(1),
		RunE: cli.WithExitCode(func(cmd *cobra.Command, args []string) error {
			if inside(resolved(public), resolved(data)) {
				return cli.Usage(fmt.Errorf("--data %s is inside %s, where everybody could read it", data, public))
			}
			c, err := backup.Restore(cmd.Context(), args[0], data)
			if err != nil {
				return err
			}
			if err := printBackup(t, fmt.Sprintf("restored %s into %s", args[0], data), args[0], c, asJSON); err != nil {
				return err
			}
			t.Warnf("an address that was erased after this backup is back (run anteroom records erase again for those)")
			return nil
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&data, "data", defaultData, "the `folder` for the database")
	flags.StringVar(&public, "public", publicFolder, "the `folder` of the documents, where no database may lie")
	flags.BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// printBackup prints what is in a backup: as a table, or as one JSON object.
func printBackup(t *cli.Terminal, done, file string, c *backup.Content, asJSON bool) error {
	if asJSON {
		object := struct {
			File   string           `json:"file"`
			Store  string           `json:"store"`
			Tables map[string]int64 `json:"rows_by_table"`
			Newest *string          `json:"newest_record"`
			Bytes  int64            `json:"bytes"`
		}{File: file, Store: c.Store, Tables: map[string]int64{}, Bytes: c.Bytes}
		for _, table := range c.Tables {
			object.Tables[table.Name] = table.Rows
		}
		if c.Newest != "" {
			object.Newest = &c.Newest
		}
		return t.PrintObject(object)
	}
	t.Printf("%s: store %s, %s, newest record %s", done, c.Store, cli.ByteSize(c.Bytes), cmp.Or(c.Newest, "none"))
	for _, table := range c.Tables {
		t.Printf("%-15s %8d", table.Name, table.Rows)
	}
	return nil
}
