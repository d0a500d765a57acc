package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/content"
	"anteroom/cmd/anteroom/internal/keys"
	"anteroom/edge/native/disk"
	"anteroom/generator/site"

	"github.com/spf13/cobra"
)

func generateCommand(t *cli.Terminal) *cobra.Command {
	var folder, out, snapshot string
	var check bool
	var secret keys.Receipt
	cmd := &cobra.Command{
		Use: "generate",
		RunE: func(*cobra.Command, []string) error {
			debug.SetGCPercent(gcPercent)
			key, err := secret.Read(t)
			if err != nil {
				return err
			}
			if disk.Inside(folder, out) || disk.Inside(out, folder) {
				return fmt.Errorf("one of --content %s and --out %s is inside the other "+
					"(name a folder of its own for the documents, such as %s)", folder, out, publicFolder)
			}
			if disk.Inside(out, snapshot) {
				return fmt.Errorf("--snapshot %s is inside --out %s, where it would be published "+
					"(name another file, such as %s)", snapshot, out, snapshotFile)
			}
			now, err := sourceDate(time.Now())
			if err != nil {
				return err
			}
			s, output, err := content.Generate(folder, now)
			if err != nil {
				return err
			}
			if err := keys.RefusePublished(key, &s.Service, filepath.Join(folder, serviceFile)); err != nil {
				return err
			}
			if err := content.RefuseSeed(output.Documents, key); err != nil {
				return err
			}
			r, err := content.Publish(t, out, snapshot, s, output, check, now)
			if err != nil {
				return hintPermission(err)
			}
			if err = r.Print(t); err == nil && check {
				err = r.Stale(folder)
			}
			return err
		},
	}
	secret.AddFlag(cmd.Flags())
	flags := cmd.Flags()
	contentFlag(flags, &folder)
	flags.StringVar(&out, "out", publicFolder, "the `folder` of the documents")
	flags.StringVar(&snapshot, "snapshot", snapshotFile, "the `file` of the snapshot")
	flags.BoolVar(&check, "check", false, "write nothing; fail where the documents are not up to date")
	jsonFlag(flags, &t.JSON)
	return cmd
}

// gcPercent lets the heap of a single run grow to nine times the memory in use (package runtime,
// GOGC): nearly everything is in use until the end, and a service of a thousand entries is
// generated before the first collection.
const gcPercent = 800

// sourceDate is what SOURCE_DATE_EPOCH says, and now without it.
func sourceDate(now time.Time) (time.Time, error) {
	epoch := os.Getenv("SOURCE_DATE_EPOCH")
	if epoch == "" {
		return now, nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q (it must be a number of seconds since 1970)", epoch)
	}
	return time.Unix(seconds, 0), nil
}

// loadContent loads and checks a content folder.
func loadContent(folder string) (*site.Site, error) { return content.Load(folder, time.Now()) }

// hintPermission tells the user which permissions are missing.
func hintPermission(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w (the folder and the one that holds it must be writable)", err)
	}
	return err
}
