package main

import (
	"crypto/ed25519"
	"errors"
	"path/filepath"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/cmd/anteroom/internal/keys"
	"anteroom/edge/native/receiptkey"

	"github.com/spf13/cobra"
)

// serviceFile is the file of the content that publishes the keys.
const serviceFile = "service.yaml"

// keyChoice is which key a command about keys is about: the one that signs receipts or, with --log,
// the one that signs the log.
type keyChoice struct {
	isLog   bool
	receipt keys.Receipt
	log     keys.Log
	secret  ed25519.PrivateKey // the receipt key that was read
}

func (k *keyChoice) addFlags(cmd *cobra.Command, reads bool) {
	cmd.Flags().BoolVar(&k.isLog, "log", false, "the key that signs the log of what was counted, instead of that of receipts")
	if reads {
		k.receipt.AddFlag(cmd.Flags())
		k.log.AddFlag(cmd.Flags())
	}
}

// read reads the key and gives its public half. It refuses a file of the other kind of key.
func (k *keyChoice) read(cmd *cobra.Command, t *cli.Terminal) (public string, err error) {
	switch {
	case k.isLog && cli.OnCommandLine(cmd.Flags(), "key-file"):
		return "", cli.Usage(errors.New("--key-file names a receipt key: with --log, the file is named with --log-key-file"))
	case !k.isLog && cli.OnCommandLine(cmd.Flags(), "log-key-file"):
		return "", cli.Usage(errors.New("--log-key-file names a key of the log, which --log is about"))
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
			t.Printf("List it as the last of log.keys in %s. (anteroom key rotate --log does both.)", filepath.Join(content, serviceFile))
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
		return cli.Usage(errors.New("--out is missing: it names the file for the secret key"))
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
