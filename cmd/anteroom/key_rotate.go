package main

import (
	"cmp"
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

func keyCheckCommand(t *cli.Terminal) *cobra.Command {
	var choice keyChoice
	var content string
	cmd := &cobra.Command{
		Use: "check",
		RunE: func(cmd *cobra.Command, _ []string) error {
			public, err := choice.read(cmd, t)
			if err != nil {
				return err
			}
			s, err := loadContent(content, t.Now())
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

func keyRotateCommand(t *cli.Terminal) *cobra.Command {
	var out, content, data string
	var choice keyChoice
	cmd := &cobra.Command{
		Use: "rotate",
		RunE: func(*cobra.Command, []string) error {
			named := choice.receipt.File
			if choice.isLog {
				named = choice.log.File
			}
			if named == "-" {
				named = ""
			}
			if named == "" && !choice.isLog {
				named = filepath.Join(data, server.ReceiptKey)
				if out == "" {
					if err := disk.MakeFolder(data); err != nil {
						return hintPermission(err)
					}
				}
			}
			out = cmp.Or(out, named)
			if err := checkOut(out, content); err != nil {
				return err
			}
			s, err := loadContent(content, t.Now())
			if err != nil {
				return err
			}
			rotate := rotateReceipt
			if choice.isLog {
				rotate = rotateLog
			}
			return hintPermission(rotate(t, s, out, named == out, filepath.Join(content, serviceFile)))
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "the `file` for the new secret key (default that of the flags below)")
	cmd.Flags().StringVar(&data, "data", server.DefaultData, "the `folder` that holds the receipt key if no file is named")
	contentFlag(cmd.Flags(), &content)
	choice.addFlags(cmd, true)
	return cmd
}

// rotateReceipt makes a receipt key in the file named out, lists it in service.yaml, the file, and
// says what to do next. known is whether commands look for the key there unasked.
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
	t.Printf("1. Run anteroom generate, look at the diff of %s and of the documents, and commit both.", file)
	t.Printf("2. %s.", keepFile(out, known, "key-file"))
	t.Printf("3. Start the server again, or run anteroom deploy: the key and the content that publishes it go live together.")
	return nil
}

func rotateLog(t *cli.Terminal, s *site.Site, out string, known bool, file string) error {
	public, err := keys.RotateLog(file, out, &s.Service)
	if err != nil {
		return err
	}
	begins := "a new tree, whose first entry is the end of the one before"
	if s.Log.Current() == nil {
		begins = "the log, with all that was counted before"
	}
	t.Printf("%s", public)
	t.Printf("")
	t.Printf("Next, in this order:")
	t.Printf("1. %s.", keepFile(out, known, "log-key-file"))
	t.Printf("2. Look at the diff of %s, and commit it.", file)
	t.Printf("3. Run anteroom verify: it begins %s.", begins)
	return nil
}

// keepFile says what to do with the file of a secret key. It is known if every command looks there.
func keepFile(out string, known bool, setting string) string {
	what := fmt.Sprintf("Keep a copy of %s offline, where nobody else can read it, and none in version control", out)
	if !known {
		what = fmt.Sprintf("Write %s = %q into %s, so that every command finds it. ", setting, out, cli.SettingsFile) + what
	}
	return what
}
