package main

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/native/disk"
	"anteroom/edge/quote"
	"anteroom/edge/store/records"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
)

func recordsExportCommand(work *storeWork) *cobra.Command {
	t := work.t
	var e export
	var out, public string
	cmd := &cobra.Command{
		Use:   "export " + strings.Join(records.ListNames(), "|"),
		Short: "Export records as JSON lines or CSV",
		Long: `Write all records of a kind in the order of recording: as one JSON object a line, or as CSV (RFC
4180) under a line of names. In CSV a text that a spreadsheet would take for a formula, as it begins with
=, +, -, @, a tab or a line break, gets a ' before it. With --out it goes into a new file that only you
may read, whole or not at all.`,
		Args: cobra.ExactArgs(1),
		RunE: work.reads(func(args []string) (err error) {
			e.list, err = records.Named(args[0])
			err = errors.Join(err, checkDays(e.days))
			if out != "" && disk.Inside(public, out) {
				err = errors.Join(err, fmt.Errorf("--out %s is inside %s, where everybody could read it", out, public))
			}
			if e.format != "jsonl" && e.format != "csv" {
				err = errors.Join(err, fmt.Errorf("--format %q is neither jsonl nor csv", e.format))
			}
			return err
		}, func(ctx context.Context, store records.Reader, _ []string) error {
			if out == "" {
				f, is := t.Stdout.(*os.File)
				e.visible = is && isatty.IsTerminal(f.Fd())
				return e.write(ctx, store, t.Out)
			}
			return newFile(out, func(w io.Writer) error { return e.write(ctx, store, w) })
		}),
	}
	daysFlags(cmd.Flags(), &e.days.Since, &e.days.Through)
	cmd.Flags().StringVar(&e.format, "format", "jsonl", "how records are written: `jsonl|csv`")
	cmd.Flags().StringVar(&out, "out", "", "the new `file` to write (default standard output)")
	cmd.Flags().StringVar(&public, "public", publicFolder, "the `folder` of the documents, where no export may lie")
	addressesFlag(cmd.Flags(), &e.addresses)
	return cmd
}

// export is what is exported, and how.
type export struct {
	list      records.List
	days      records.Days
	format    string // jsonl or csv
	addresses bool
	visible   bool // whether a person reads it at a terminal, which the words of strangers must not act on
}

// write writes the records one by one.
func (e *export) write(ctx context.Context, r records.Reader, w io.Writer) error {
	lines := csv.NewWriter(w)
	cells := e.list.Names()
	if e.format == "csv" {
		if err := lines.Write(cells); err != nil {
			return err
		}
	}
	for row, err := range records.Rows(ctx, r, e.list, e.days, e.addresses) {
		if err != nil {
			return err
		}
		if e.format != "csv" {
			if _, err := w.Write(append(cli.VisibleJSON(e.list.JSON(row)), '\n')); err != nil {
				return err
			}
			continue
		}
		for i, v := range row {
			if cells[i] = defused(v); e.visible {
				cells[i], _ = quote.Visible(cells[i])
			}
		}
		if err := lines.Write(cells); err != nil {
			return err
		}
	}
	lines.Flush()
	return lines.Error()
}

// defused is a value as a cell of a spreadsheet, which would calculate a text that begins like a
// formula (OWASP, CSV injection).
func defused(v any) string {
	text, is := v.(string)
	if !is {
		return records.Text(v)
	}
	if text != "" && strings.ContainsRune("=+-@\t\r\n", rune(text[0])) {
		return "'" + text
	}
	return text
}

// newFile writes a file that only its owner may read, and gives it its name once it is whole. A
// file of that name stays as it is: it may be the database itself, or a key.
func newFile(path string, write func(io.Writer) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	f, err := os.CreateTemp(filepath.Dir(path), ".anteroom-export-*")
	if err != nil {
		return fmt.Errorf("%w (give this user access to its folder)", err)
	}
	defer os.Remove(f.Name())
	w := bufio.NewWriterSize(f, 1<<20)
	if err := errors.Join(write(w), w.Flush(), disk.Sync(f), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); errors.Is(err, fs.ErrExist) {
		return errors.New("it is there already, and stays as it is (name another file)")
	} else if err != nil {
		return err
	}
	return disk.SyncFolder(filepath.Dir(path))
}
