package main

import (
	"cmp"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/keys"
	"anteroom/cmd/anteroom/internal/server"
	"anteroom/edge/native/disk"
	"anteroom/edge/native/receiptkey"
	"anteroom/generator/site"

	"github.com/spf13/cobra"
)

// serviceFile publishes the keys.
const serviceFile = "service.yaml"

// keyChoice is the receipt key or, with --log, the key that signs the log.
type keyChoice struct {
	isLog   bool
	receipt keys.Receipt
	log     keys.Log
	secret  ed25519.PrivateKey // the receipt key, once read
}

func (k *keyChoice) addFlags(cmd *cobra.Command, reads bool) {
	cmd.Flags().BoolVar(&k.isLog, "log", false, "the key that signs the public log, instead of the receipt key")
	if reads {
		k.receipt.AddFlag(cmd.Flags())
		k.log.AddFlag(cmd.Flags())
	}
}

// read returns the public half. It refuses a file with the other kind of key.
func (k *keyChoice) read(cmd *cobra.Command, t *cli.Terminal) (public string, err error) {
	switch {
	case k.isLog && cli.OnCommandLine(cmd.Flags(), "key-file"):
		return "", cli.Usage(errors.New("--key-file names a receipt key (with --log, use --log-key-file)"))
	case !k.isLog && cli.OnCommandLine(cmd.Flags(), "log-key-file"):
		return "", cli.Usage(errors.New("--log-key-file names a log key (add --log, or use --key-file)"))
	case k.isLog:
		key, err := k.log.MustRead(t)
		if err != nil {
			return "", err
		}
		return key.Public, nil
	}
	k.secret, err = k.receipt.MustRead(t)
	return receiptkey.Public(k.secret), err
}

func keyNewCommand(t *cli.Terminal) *cobra.Command {
	var out, content string
	var choice keyChoice
	cmd := &cobra.Command{
		Use: "new --out FILE",
		RunE: func(*cobra.Command, []string) error {
			if err := checkOut(out, content); err != nil {
				return err
			}
			if !choice.isLog {
				public, err := receiptkey.Generate(out)
				if err == nil {
					t.Printf("%s", public)
				}
				return err
			}
			s, err := loadContent(content, t.Now())
			if err != nil {
				return err
			}
			public, err := keys.NewLog(out, &s.Service)
			if err != nil {
				return err
			}
			t.Printf("%s", public)
			t.Printf("")
			t.Printf("List it as the last of log.keys in %s. (anteroom key rotate --log does both.)",
				filepath.Join(content, serviceFile))
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "the `file` to make")
	contentFlag(cmd.Flags(), &content)
	choice.addFlags(cmd, false)
	return cmd
}

func checkOut(out, content string) error {
	if out == "" {
		return cli.Usage(errors.New("--out is missing (name a file for the secret key)"))
	}
	return refusePublic("--out", out, content, publicFolder)
}

func keyPublicCommand(t *cli.Terminal) *cobra.Command {
	var choice keyChoice
	cmd := &cobra.Command{
		Use: "public",
		RunE: func(cmd *cobra.Command, _ []string) error {
			public, err := choice.read(cmd, t)
			if err == nil {
				t.Printf("%s", public)
			}
			return err
		},
	}
	choice.addFlags(cmd, true)
	return cmd
}

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
	cmd.Flags().StringVar(&out, "out", "", "the `file` for the new secret key (default from --key-file, else --data)")
	cmd.Flags().StringVar(&data, "data", server.DefaultData, "the `folder` that holds the receipt key if no file is named")
	contentFlag(cmd.Flags(), &content)
	choice.addFlags(cmd, true)
	return cmd
}

// rotateReceipt makes a receipt key in the file out, lists it in service.yaml, the file, and prints
// the next steps. Commands look for the key there if known is true.
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
	public, err := keys.RotateLog(file, out, &s.Service)
	if err != nil {
		return err
	}
	begins := "a new tree, whose first entry is the end of the previous tree"
	if s.Log.Current() == nil {
		begins = "the log, with all earlier counts"
	}
	t.Printf("%s", public)
	t.Printf("")
	t.Printf("Next, in this order:")
	t.Printf("1. %s.", keepFile(out, known, "log-key-file"))
	t.Printf("2. Review the diff of %s, and commit it.", file)
	t.Printf("3. Run anteroom verify: it begins %s.", begins)
	return nil
}

func keepFile(out string, known bool, setting string) string {
	what := fmt.Sprintf("Keep a copy of %s offline, where only you can read it, and never in version control", out)
	if !known {
		place := cli.SettingsFile
		if text, _ := os.ReadFile(place); strings.Contains(string(text), "\n# "+setting+" = ") {
			place += ", in place of the line that is commented out"
		}
		what = fmt.Sprintf("Write %s = %q into %s, so that every command finds it. ", setting, out, place) + what
	}
	return what
}
