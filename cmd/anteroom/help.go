package main

import (
	_ "embed"
	"strings"
	"text/template"

	"anteroom/cmd/anteroom/internal/cloudflare"
	"anteroom/edge/native/receiptkey"

	"github.com/spf13/cobra"
)

// helpText is what each command says of itself: behind "# " its name, then a line about it, then
// what --help and its page of the manual say besides, with examples at the end.
//
//go:embed help.txt
var helpText string

// helpValues are what the program decides of the texts.
var helpValues = map[string]string{
	"WranglerVersion":     cloudflare.WranglerVersion,
	"TokenVariable":       cloudflare.TokenVariable,
	"Permissions":         strings.ReplaceAll(cloudflare.Permissions, "; ", ",\n"),
	"SettingsPermissions": strings.ReplaceAll(cloudflare.PermissionsSettings, "; ", ",\n"),
	"Allowances":          strings.Join(cloudflare.Allowances, ", "),
	"RollbackAllowances":  strings.Join(cloudflare.RollbackAllowances, ", "),
	"KeyPrefix":           receiptkey.Prefix,
	"BurstLength":         burstLength,
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
