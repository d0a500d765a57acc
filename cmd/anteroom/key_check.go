package main

import (
	"path/filepath"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/keys"

	"github.com/spf13/cobra"
)

func keyCheckCommand(t *cli.Terminal) *cobra.Command {
	var choice keyChoice
	var content string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Compare a key with those that the content publishes",
		Long: `Print how the content lists the public half of a key: as the current key, as a retired one, or not at
all. Of a key of the log print whether it is the last one, which signs, or an earlier one.

Exit codes: 0 it is the current key, or the last of the log, 1 it is not, 2 called wrongly.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			public, err := choice.read(cmd, t)
			if err != nil {
				return err
			}
			s, err := loadContent(content)
			if err != nil {
				return err
			}
			file, as := filepath.Join(content, serviceFile), ""
			if choice.isLog {
				as, err = keys.CheckLog(public, s.Service.Log.Keys, file)
			} else {
				as, err = keys.CheckReceipt(choice.secret, &s.Service, file)
			}
			if as != "" {
				t.Printf("%s: %s", as, public)
			}
			return err
		},
	}
	choice.addFlags(cmd, true)
	contentFlag(cmd.Flags(), &content)
	return cmd
}
