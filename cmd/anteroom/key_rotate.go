package main

import (
	"path/filepath"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/keys"
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

func keyRotateCommand(t *cli.Terminal) *cobra.Command {
	var out, content string
	var choice keyChoice
	cmd := &cobra.Command{
		Use: "rotate --out NEWFILE",
		RunE: func(*cobra.Command, []string) error {
			if err := checkOut(out, content); err != nil {
				return err
			}
			s, err := loadContent(content)
			if err != nil {
				return err
			}
			rotate := rotateReceipt
			if choice.isLog {
				rotate = rotateLog
			}
			return hintPermission(rotate(t, s, out, filepath.Join(content, serviceFile)))
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "the `file` to make for the new secret key")
	contentFlag(cmd.Flags(), &content)
	choice.addFlags(cmd, false)
	return cmd
}

// rotateReceipt makes a receipt key in the file named out, lists it in service.yaml, the file, and
// says what to do next.
func rotateReceipt(t *cli.Terminal, s *site.Site, out, file string) error {
	public, err := keys.RotateReceipt(file, out, t.Now().UTC().Format(time.DateOnly))
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
	t.Printf("2. On a machine, stop the server and start it with --key-file %s. The old key would refuse the new content.", out)
	t.Printf("3. On Cloudflare, run anteroom deploy --key-file %s. The key and the content that publishes it go live together.", out)
	t.Printf("4. Keep %s where nobody else can read it, and out of version control.", out)
	return nil
}

// rotateLog does the same with a key of the log.
func rotateLog(t *cli.Terminal, s *site.Site, out, file string) error {
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
	t.Printf("1. Keep %s where nobody else can read it, out of version control, and a copy of it offline.", out)
	t.Printf("2. Look at the diff of %s, and commit it.", file)
	t.Printf("3. Run anteroom verify --log-key-file %s: it begins %s.", out, begins)
	return nil
}
