package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"anteroom/cmd/anteroom/internal/cli"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

func manCommand(t *cli.Terminal) *cobra.Command {
	return &cobra.Command{
		Use: "man DIR",
		RunE: func(_ *cobra.Command, args []string) error {
			n, err := writeManual(args[0])
			if err != nil {
				return hintPermission(fmt.Errorf("write manual pages: %w", err))
			}
			t.Printf("%s: %s", args[0], cli.Plural(n, "page"))
			return nil
		},
	}
}

func writeManual(folder string) (pages int, err error) {
	root := rootCommand(cli.New(nil, io.Discard, io.Discard)) // a tree of its own, as its texts are changed
	root.DisableAutoGenTag = true
	for _, cmd := range cli.Commands(root) {
		if cmd.IsAvailableCommand() || cmd == root {
			pages++
		}
		cmd.Short, cmd.Long = markdown(cmd.Short), markdown(cmd.Long)
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { f.Usage = markdown(f.Usage) })
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return 0, err
	}
	return pages, doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "anteroom", Manual: "Anteroom"}, folder)
}

// markdown writes a text of the help as Markdown, from which the manual is made. Its indented lines
// are examples, and what is in backquotes is the name of a value.
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
