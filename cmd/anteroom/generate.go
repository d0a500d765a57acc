package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/keys"
	"anteroom/cmd/anteroom/internal/project"
	"anteroom/edge/native/disk"
	"anteroom/edge/worker/bundle"
	"anteroom/generator/output"
	"anteroom/generator/site"

	"github.com/spf13/cobra"
)

type generation struct {
	content, public string
	secret          keys.Receipt
	check, verbose  bool
	allowed         []string // regressions
}

func generateCommand(t *cli.Terminal) *cobra.Command {
	var g generation
	cmd := &cobra.Command{
		Use: "generate",
		RunE: func(*cobra.Command, []string) error {
			now, err := sourceDate(t.Now())
			if err != nil {
				return err
			}
			r, err := g.run(t, nil, now)
			if err != nil {
				return err
			}
			r.Verbose = g.verbose
			if err = r.Print(t); err == nil && g.check {
				err = r.Stale(g.content)
			}
			return err
		},
	}
	g.secret.AddFlag(cmd.Flags())
	flags := cmd.Flags()
	contentFlag(flags, &g.content)
	flags.StringVar(&g.public, "out", publicFolder, "the `folder` of the documents")
	flags.BoolVar(&g.check, "check", false, "write nothing; fail if the documents are not up to date")
	flags.BoolVar(&g.verbose, "verbose", false, "list every changed file, not only its kind")
	jsonFlag(flags, &t.JSON)
	return cmd
}

func (g *generation) run(t *cli.Terminal, s *site.Site, now time.Time) (*project.Report, error) {
	debug.SetGCPercent(gcPercent)
	key, err := g.secret.Read(t)
	// A user who may not read the key cannot publish it, and serve refuses documents with it.
	if err != nil && !errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	if disk.Inside(g.content, g.public) || disk.Inside(g.public, g.content) {
		return nil, fmt.Errorf("one of --content %s and --out %s is inside the other "+
			"(name a separate folder for the documents, such as %s)", g.content, g.public, publicFolder)
	}
	if disk.Inside(g.public, snapshotOf(g.public)) {
		return nil, fmt.Errorf("--out %s contains %s, which would be published (name another folder, such as %s)",
			g.public, snapshotOf(g.public), publicFolder)
	}
	s, output, err := project.Generate(g.content, s, now)
	if err == nil {
		err = project.RefuseSeed(output.Documents, key)
	}
	if err != nil {
		return nil, err
	}
	r, err := project.Publish(t, g.public, snapshotOf(g.public), s, output, g.check, now, g.allowed...)
	return r, hintPermission(err)
}

// gcPercent lets the heap grow to nine times the memory in use (package runtime, GOGC): nearly all
// memory is in use until the end.
const gcPercent = 800

// epochVariable sets the time of a build (reproducible-builds.org/specs/source-date-epoch). Build
// tools often export it as 1980, so it changes no document: generate checks dates against it.
const epochVariable = "SOURCE_DATE_EPOCH"

func sourceDate(now time.Time) (time.Time, error) {
	epoch := os.Getenv(epochVariable)
	if epoch == "" {
		return now, nil
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s is %q (it must be a number of seconds since 1970)", epochVariable, epoch)
	}
	return time.Unix(seconds, 0), nil
}

func loadContent(folder string, now time.Time) (*site.Site, error) { return project.Load(folder, now) }

func hintPermission(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w (the file must be readable, and its folder must be writable)", err)
	}
	return err
}

func previewCommand(t *cli.Terminal) *cobra.Command {
	var folder, address string
	cmd := &cobra.Command{
		Use: "preview",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return project.Preview(cmd.Context(), t, folder, address)
		},
	}
	contentFlag(cmd.Flags(), &folder)
	cmd.Flags().StringVar(&address, "addr", "127.0.0.1:8081", "the loopback `address` to listen at")
	return cmd
}

func buildCommand(t *cli.Terminal) *cobra.Command {
	var public, out string
	cmd := &cobra.Command{
		Use: "build", Hidden: true, // for tools of the source code; deploy builds by itself
		RunE: func(cmd *cobra.Command, _ []string) error {
			generated, err := output.Read(public, snapshotOf(public))
			if err != nil {
				return err
			}
			files, err := bundle.Build(cmd.Context(), out, generated.Snapshot, t.Err)
			if err != nil {
				return hintPermission(err)
			}
			var sum int64
			for _, name := range slices.Sorted(maps.Keys(files)) {
				sum += int64(len(files[name]))
				t.Printf("%9d  %s", len(files[name]), name)
			}
			t.Printf("%9d  %s", sum, out)
			return nil
		},
	}
	flags := cmd.Flags()
	publicFlag(flags, &public)
	flags.StringVar(&out, "out", "build/bundle", "the `folder` of the bundle")
	return cmd
}
