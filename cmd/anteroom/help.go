package main

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"strings"
	"text/template"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/cloudflare"
	"anteroom/edge/native/receiptkey"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"
)

// helpText has a section for each command: its name after "# ", a line about it, then the text of
// --help and the manual, with examples at the end.
//
//go:embed help.txt
var helpText string

// helpValues are inserted into helpText.
var helpValues = map[string]string{
	"WranglerVersion": cloudflare.WranglerVersion,
	"TokenVariable":   cloudflare.TokenVariable,
	"Permissions":     strings.ReplaceAll(cloudflare.Permissions, "; ", ",\n"),
	"Allowances":      strings.Join(cloudflare.Allowances, ", "),
	"KeyPrefix":       receiptkey.Prefix,
}

func addTexts(root *cobra.Command) {
	var b strings.Builder
	template.Must(template.New("help.txt").Option("missingkey=error").Parse("\n"+helpText)).Execute(&b, helpValues)
	for _, section := range strings.Split(b.String(), "\n# ")[1:] {
		name, text, _ := strings.Cut(section, "\n")
		cmd, _, _ := root.Find(strings.Fields(name)[1:])
		cmd.Short, text, _ = strings.Cut(text, "\n")
		text, cmd.Example, _ = strings.Cut(text, "\nExamples:\n")
		cmd.Long, cmd.Example = strings.TrimSpace(text), strings.TrimRight(cmd.Example, "\n")
	}
}

func manCommand(t *cli.Terminal) *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Hidden: true, // for packages
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
	root := rootCommand(cli.New(nil, io.Discard, io.Discard)) // a separate tree, as its texts are changed
	root.DisableAutoGenTag = true
	for _, cmd := range cli.Commands(root) {
		if cmd.IsAvailableCommand() && !(cmd.HasParent() && cmd.Parent().Hidden) || cmd == root {
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

// markdown escapes a text of the help for the manual's generator. Indented lines are examples, and
// backquotes enclose the name of a value.
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

func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	completion, _, _ := root.Find([]string{"completion"})
	completion.Short, completion.Hidden = "Print the completion script of a shell", true
	for _, shell := range completion.Commands() {
		shell.Long = strings.ReplaceAll(shell.Long, "#### ", "")
	}
}

// argumentsOf has the rule of a command's arguments, which its Use line names.
func argumentsOf(cmd *cobra.Command) cobra.PositionalArgs {
	list := strings.Fields(cmd.Use)[1:]
	return func(_ *cobra.Command, args []string) error {
		switch given := len(args); {
		case given < len(list) && list[given][0] != '[':
			return fmt.Errorf("missing argument %s", list[given])
		case given > len(list) && !strings.Contains(cmd.Use, "..."):
			return fmt.Errorf("unexpected argument %q", args[len(list)])
		}
		return nil
	}
}
