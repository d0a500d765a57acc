package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/keys"
	"anteroom/cmd/anteroom/internal/server"
	"anteroom/edge/native/disk"
	"anteroom/generator/site"

	"github.com/spf13/cobra"
)

// serviceFile publishes the keys.
const serviceFile = "service.yaml"

func keyRotateCommand(t *cli.Terminal) *cobra.Command {
	var out, content, data string
	var isLog bool
	var receipt keys.Receipt
	var log keys.Log
	cmd := &cobra.Command{
		Use: "rotate",
		RunE: func(*cobra.Command, []string) error {
			named := receipt.File
			if isLog {
				named = log.File
			}
			if named == "-" {
				named = ""
			}
			if named == "" && !isLog {
				named = filepath.Join(data, server.ReceiptKey)
				if out == "" {
					if err := disk.MakeFolder(data); err != nil {
						return hintPermission(err)
					}
				}
			}
			out = cmp.Or(out, named)
			if out == "" {
				return cli.Usage(errors.New("--out is missing (name a file for the secret key)"))
			}
			if err := refusePublic("--out", out, content, publicFolder); err != nil {
				return err
			}
			s, err := loadContent(content, t.Now())
			if err != nil {
				return err
			}
			rotate := rotateReceipt
			if isLog {
				rotate = rotateLog
			}
			return hintPermission(rotate(t, s, out, named == out, filepath.Join(content, serviceFile)))
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "the `file` for the new secret key (default from --key-file, else --data)")
	cmd.Flags().StringVar(&data, "data", server.DefaultData, "the `folder` that holds the receipt key if no file is named")
	contentFlag(cmd.Flags(), &content)
	cmd.Flags().BoolVar(&isLog, "log", false, "the key that signs the public log, instead of the receipt key")
	receipt.AddFlag(cmd.Flags())
	log.AddFlag(cmd.Flags())
	return cmd
}

func rotateReceipt(t *cli.Terminal, s *site.Site, out string, known bool, file string) error {
	public, err := keys.RotateReceipt(t, s, file, out, t.Now().UTC().Format(time.DateOnly))
	if err != nil {
		return err
	}
	t.Printf("current: %s", public)
	if old := s.Service.ReceiptKeys.Current; old != "" {
		t.Printf("retired: %s", old)
	}
	t.Printf("")
	t.Printf("Next, in this order:")
	t.Printf("1. Run anteroom generate, review the diff of %s and of the documents, and commit both.", file)
	t.Printf("2. %s.", keepFile(out, known, "key-file"))
	t.Printf("3. Start the server again, or run anteroom deploy: the key and the content that publishes it go " +
		"live together.")
	return nil
}

func rotateLog(t *cli.Terminal, s *site.Site, out string, known bool, file string) error {
	if s.Log.Current() != nil {
		return cli.Unusable("the log has entries under %s: a new key starts a new log (copy log/, scoreboard/ and "+
			"scoreboard.json of the published documents into a folder of static/ first, and remove log/ of the content)",
			s.Log.Key)
	}
	public, err := keys.RotateLog(file, out, &s.Service)
	if err != nil {
		return err
	}
	t.Printf("%s", public)
	t.Printf("")
	t.Printf("Next, in this order:")
	t.Printf("1. %s.", keepFile(out, known, "log-key-file"))
	t.Printf("2. Review the diff of %s, and commit it.", file)
	t.Printf("3. Run anteroom publish: it starts the log, with all earlier counts.")
	return nil
}

// keepFile returns the next step for a new key. If known is true, commands find the file out.
func keepFile(out string, known bool, setting string) string {
	what := fmt.Sprintf("Keep a copy of %s offline, where only you can read it, and never in version control", out)
	if !known {
		what = fmt.Sprintf("Write %s = %q into %s, so that every command finds it. ", setting, out, cli.SettingsFile) + what
	}
	return what
}
