package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/server"
	"anteroom/edge/native/disk"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/store/backup"
	"anteroom/edge/store/records"

	"github.com/spf13/cobra"
)

func backupCommand(t *cli.Terminal) *cobra.Command {
	var data, backups string
	cmd := &cobra.Command{
		Use: "backup [FILE]",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && backups == "" || slices.Contains(args, "-") { // a stream is not supported
				return cli.Usage(errors.New("FILE is missing (or name a folder with --backups)"))
			} else if len(args) == 0 {
				if err := disk.MakeFolder(backups); err != nil {
					return err
				}
				args = []string{filepath.Join(backups, t.Now().UTC().Format(time.DateOnly)+".db")}
			}
			if err := refusePublic("FILE", args[0], publicFolder); err != nil {
				return err
			}
			c, err := backup.Write(cmd.Context(), filepath.Join(data, sqlite.FileName), args[0])
			if err != nil {
				return err
			}
			return printBackup(t, "backed up to "+args[0], args[0], c, false)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&data, "data", server.DefaultData, "the `folder` of the database")
	flags.StringVar(&backups, "backups", "", "the `folder` for a file of the day if no FILE is named")
	jsonFlag(flags, &t.JSON)
	return cmd
}

func restoreCommand(t *cli.Terminal) *cobra.Command {
	var data, content string
	var erasures []string
	cmd := &cobra.Command{
		Use: "restore FILE",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := refusePublic("--data", data, publicFolder); err != nil {
				return err
			}
			c, err := backup.Restore(cmd.Context(), args[0], data, erasures...)
			if err != nil {
				return err
			}
			err = printBackup(t, fmt.Sprintf("restored %s into %s", args[0], data), args[0], c, true)
			return errors.Join(err, warnOfLoss(cmd.Context(), t, content, data))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&data, "data", server.DefaultData, "the `folder` for the database")
	contentFlag(flags, &content)
	flags.StringArrayVar(&erasures, "erasures", nil,
		"a newer `file` "+backup.ErasedName+"; may be repeated")
	jsonFlag(flags, &t.JSON)
	return cmd
}

func warnOfLoss(ctx context.Context, t *cli.Terminal, content, data string) error {
	s, err := loadContent(content, t.Now())
	if err != nil {
		t.Warnf("the store is not compared with the verifications: the content %s cannot be loaded", content)
		return nil
	}
	r, err := sqlite.OpenReadOnly(filepath.Join(data, sqlite.FileName))
	if err != nil {
		return err
	}
	if behind := records.Behind(ctx, r, s.Segments()); behind != nil {
		t.Warnf("%v", behind)
	}
	return r.Close()
}

func printBackup(t *cli.Terminal, done, file string, c *backup.Content, restored bool) error {
	object := struct {
		File   string           `json:"file"`
		Store  string           `json:"store"`
		Tables map[string]int64 `json:"rows_by_table"`
		Newest *string          `json:"newest_record"`
		Bytes  int64            `json:"bytes"`
		Erased int64            `json:"erased_again,omitempty"`
	}{
		File: file, Store: c.Store, Tables: map[string]int64{}, Newest: orNull(c.Newest), Bytes: c.Bytes,
		Erased: c.Erased,
	}
	for _, table := range c.Tables {
		object.Tables[table.Name] = table.Rows
	}
	return t.Answer(object, func() {
		t.Printf("%s: store %s, %s, newest record %s", done, c.Store, cli.ByteSize(c.Bytes), cmp.Or(c.Newest, "none"))
		for _, table := range c.Tables {
			t.Printf("%-15s %8d", table.Name, table.Rows)
		}
		if restored {
			t.Printf("erased again, as %s lists them: the addresses of %s; an address erased later is back",
				backup.ErasedName, cli.Plural(c.Erased, "record"))
		}
	})
}
