package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/native"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/store/backup"
	"anteroom/edge/store/records"

	"github.com/spf13/cobra"
)

func recordsEraseCommand(work *storeWork) *cobra.Command {
	t := work.t
	var address string
	cmd := &cobra.Command{
		Use: "erase [RECORD_ID...]",
		RunE: work.changes(func(args []string) error {
			if (address == "") == (len(args) == 0) {
				return errors.New("want record identifiers, or --email ADDRESS")
			}
			return checkRecordIDs(args)
		}, func(ctx context.Context, store records.Store, ids []string) (fault error) {
			ids, err := records.Find(ctx, store, ids...)
			if err != nil {
				return err
			}
			if address != "" {
				with, named, err := records.WithAddress(ctx, store, address)
				if err != nil {
					return err
				}
				ids = with
				if named > 0 {
					t.Printf("kept: %d with that address as their name, as what was registered or filed is never erased", named)
				}
			}
			slices.Sort(ids)
			ids = slices.Compact(ids)
			if work.flags.remote == "" {
				if err := backup.NoteErased(work.flags.data, t.Now(), ids); err != nil {
					return err
				}
			}
			erased, observed, err := records.Erase(ctx, store, address, ids...)
			if err == nil {
				defer func() { fault = errors.Join(fault, finishErasure(ctx, t, store)) }()
			}
			if observed > 0 {
				t.Printf("erased what was observed of clients with that name: %s", cli.Plural(int(observed), "row"))
			} else if len(ids) == 0 && err == nil {
				return errors.New("that address is on file nowhere (the contact of a suggestion is in the inbox alone)")
			}
			var missing, messages []string
			for i, e := range erased {
				messages = append(messages, e.Digests...)
				if e.Contacts == 0 && e.Messages == 0 {
					missing = append(missing, ids[i])
					continue
				}
				t.Printf("%s: erased %s and %s of the outbox", ids[i], cli.Plural(int(e.Contacts), "contact"), cli.Plural(int(e.Messages), "message"))
			}
			if len(missing) < len(ids) {
				t.Printf("Your inbox may hold the address too: search it for the record identifier, and delete what you find.")
				slices.Sort(messages)
				for _, id := range slices.Compact(messages) {
					t.Printf("It was sent there in the message %s", id)
				}
				if remains := store.RetentionNote(); remains != "" {
					t.Printf("%s", remains)
				}
				for _, file := range work.leftovers(ids) {
					t.Printf("%s may hold it too: remove it when you need it no longer", file)
				}
			}
			if len(missing) > 0 {
				err = errors.Join(err, fmt.Errorf(
					"there is no address on file for %s (anteroom records list contacts shows what there is)",
					strings.Join(missing, ", ")))
			}
			return err
		}),
	}
	cmd.Flags().StringVar(&address, "email", "", "erase this `address` wherever it is, in whatever case")
	return cmd
}

func finishErasure(ctx context.Context, t *cli.Terminal, store records.Store) error {
	reader, err := records.Finish(ctx, store)
	if reader != "" {
		t.Printf("It is erased for all readers. It leaves the database file once another process stops reading, and serve sees to that: %s", reader)
	}
	return err
}

// leftovers are files of a data folder that may hold the addresses of some records and that the
// server reads no more: copies from before a migration, messages and backups that were killed in
// the making, and messages about these records.
func (w *storeWork) leftovers(ids []string) (files []string) {
	if w.flags.remote != "" {
		return nil
	}
	const messages = native.MailFolder + "/[cn]*/*" // cur and new
	data := os.DirFS(w.flags.data)
	for _, pattern := range []string{sqlite.FileName + ".before-*", ".anteroom-draft-*", native.MailFolder + "/tmp/*", messages} {
		names, _ := fs.Glob(data, pattern)
		for _, name := range names {
			about := func(id string) bool {
				text, err := fs.ReadFile(data, name)
				return err == nil && bytes.Contains(text, []byte(id))
			}
			if pattern != messages || slices.ContainsFunc(ids, about) {
				files = append(files, filepath.Join(w.flags.data, name))
			}
		}
	}
	return files
}

// checkRecordIDs names every argument that is not a record identifier, and does not begin one.
func checkRecordIDs(args []string) error {
	var faults []error
	for _, id := range args {
		faults = append(faults, records.CheckID(id))
	}
	return errors.Join(faults...)
}
