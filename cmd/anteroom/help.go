package main

import (
	_ "embed"
	"fmt"
	"strings"
	"text/template"

	"anteroom/cmd/anteroom/internal/cloudflare"
	"anteroom/edge/native/receiptkey"

	"github.com/spf13/cobra"
)

// helpText has a section for each command: its name after "# ", a line about it, then the text of
// --help, with examples at the end.
//
//go:embed help.txt
var helpText string

// helpValues are inserted into helpText.
var helpValues = map[string]string{
	"WranglerVersion": cloudflare.WranglerVersion,
	"TokenVariable":   cloudflare.TokenVariable,
	"Permissions":     strings.Join(cloudflare.Permissions, "\n  "),
	"KeyPrefix":       receiptkey.Prefix,
}

// usage is short, so that the help of every command fits one screen.
var usage = fmt.Sprintf(`Usage: {{if .HasSubCommands}}{{.CommandPath}} COMMAND [flags]{{else}}{{.UseLine}}{{end}}
{{- with .Example}}

Examples:
{{.}}
{{- end}}
{{- if .HasSubCommands}}
  {{- $commands := .Commands}}
  {{- range $group := .Groups}}

{{.Title}}
    {{- range $commands}}{{if and (eq .GroupID $group.ID) (not .Hidden)}}
  {{rpad .Name .NamePadding}} {{.Short}}
    {{- end}}{{end}}
  {{- else}}

Commands:
    {{- range $commands}}
  {{rpad .Name .NamePadding}} {{.Short}}
    {{- end}}
  {{- end}}
{{- else}}

Flags:
{{.Flags.FlagUsagesWrapped %d | trimTrailingWhitespaces}}
{{- end}}
`, helpWidth-longestOverhang)

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

// argumentsOf returns the rule for the arguments that a command's Use line names.
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
