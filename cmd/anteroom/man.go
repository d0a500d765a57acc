package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

func manCommand(t *cli.Terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages of all commands",
		Long: `Man writes a manual page of each command into DIR, which it makes where there is none: anteroom.1,
anteroom-records-list.1 and so on. Put them where man looks for them, such as /usr/local/share/man/man1.

A page names for each flag the environment variable that can give it, in brackets.

Pages bear the time of the program's commit, or what SOURCE_DATE_EPOCH says in its place, in seconds.`,
		Args: cobra.ExactArgs(1),
		RunE: cli.WithExitCode(func(_ *cobra.Command, args []string) error {
			n, err := writeManual(args[0])
			if err != nil {
				return hintPermission(fmt.Errorf("write manual pages: %w", err))
			}
			t.Printf("%s: %s", args[0], cli.Plural(n, "page"))
			return nil
		}),
	}
}

// writeManual writes a page of each command into a folder, and counts them.
func writeManual(folder string) (pages int, err error) {
	p := thisProgram()
	date, err := p.date()
	if err != nil {
		return 0, err
	}
	root := rootCommand(cli.New(nil, io.Discard, io.Discard)) // a tree of its own, as its texts are changed
	root.DisableAutoGenTag = true
	for cmd := range cli.Commands(root) {
		if cmd.IsAvailableCommand() || cmd == root {
			pages++
		}
		cmd.Short, cmd.Long = markdown(cmd.Short), markdown(cmd.Long)
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if name := cli.Variable(f); name != "" {
				f.Usage += " [" + name + "]"
			}
			f.Usage = markdown(f.Usage)
		})
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return 0, err
	}
	header := &doc.GenManHeader{Section: "1", Date: &date, Source: "anteroom " + p.short(), Manual: "Anteroom"}
	return pages, doc.GenManTree(root, header, folder)
}

// short is the version where the foot of a page has room for it, else the beginning of the commit.
func (p *program) short() string {
	if len(p.Version) > 20 && p.Commit != nil {
		return (*p.Commit)[:12]
	}
	return p.Version
}

// date is the time of the manual: what SOURCE_DATE_EPOCH says, else that of the commit.
func (p *program) date() (time.Time, error) {
	if os.Getenv("SOURCE_DATE_EPOCH") != "" {
		now, err := currentTime()
		return now.UTC(), err
	}
	if p.CommitTime == nil {
		return time.Time{}, errors.New("this program does not know the time of its commit (give a time in SOURCE_DATE_EPOCH, in seconds)")
	}
	return time.Parse(time.RFC3339, *p.CommitTime)
}

// markdown writes a text of the help as Markdown, from which the manual is made. Its indented lines
// are examples, and what stands in backquotes is the name of a value.
func markdown(text string) string {
	var b strings.Builder
	value := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t") {
			b.WriteString("    " + strings.TrimPrefix(line, "\t"))
			continue
		}
		for _, r := range line {
			value = value != (r == '`')
			if !value && strings.ContainsRune(`\*_{}[]()#+-.!:|&<>~`, r) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}
