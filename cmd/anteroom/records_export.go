package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"anteroom/edge/native/disk"
	"anteroom/edge/store/records"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
)

func recordsExportCommand(work *storeWork) *cobra.Command {
	t := work.t
	var l listing
	var out, public string
	cmd := &cobra.Command{
		Use: "export " + strings.Join(records.ListNames(), "|"),
		RunE: work.reads(func(args []string) error {
			err := l.check(args)
			if out != "" {
				err = errors.Join(err, refusePublic("--out", out, public))
			}
			if l.format != jsonl && l.format != asCSV {
				err = errors.Join(err, fmt.Errorf("--format %q is neither jsonl nor csv", l.format))
			}
			if l.mark && l.format != asCSV {
				err = errors.Join(err, errors.New("--bom is for --format csv"))
			}
			return err
		}, func(ctx context.Context, store records.Reader, _ []string) error {
			if out == "" {
				f, is := t.Stdout.(*os.File)
				l.visible = is && isatty.IsTerminal(f.Fd())
				return l.write(ctx, store, t.Out)
			}
			err := disk.Create(out, func(w io.Writer) error { return l.write(ctx, store, w) })
			switch {
			case errors.Is(err, fs.ErrExist):
				err = errors.New("file exists (name another one)")
			case errors.Is(err, fs.ErrPermission):
				err = fmt.Errorf("%w (give this user access to its folder)", err)
			}
			if err != nil {
				err = fmt.Errorf("write %s: %w", out, err)
			}
			return err
		}),
	}
	l.addFlags(cmd.Flags())
	cmd.Flags().StringVar(&l.format, "format", jsonl, "how records are written: `jsonl|csv`")
	cmd.Flags().BoolVar(&l.mark, "bom", false, "begin a CSV with a byte order mark, by which Excel reads it as UTF-8")
	cmd.Flags().StringVar(&out, "out", "", "the new `file` to write (default standard output)")
	cmd.Flags().StringVar(&public, "public", publicFolder, "the `folder` of the documents, where no export may lie")
	return cmd
}
