package main

import (
	"errors"

	"anteroom/edge/native/receiptkey"

	"github.com/spf13/cobra"
)

func keygenCommand(t *terminal) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "keygen --out FILE",
		Short: "Make a key that signs receipts",
		Long: `Keygen writes a new secret Ed25519 key into a file that only its owner may read, and prints the public
half: put that into content/service.yaml as receipt_keys.current, and the old one under
receipt_keys.retired. A file that exists is never overwritten.

  anteroom keygen --out receipt.key
  anteroom serve --key-file receipt.key`,
		Args: cobra.NoArgs,
		RunE: withExitCode(func(*cobra.Command, []string) error {
			if out == "" {
				return usageError{errors.New("--out is missing: it names the file for the secret key")}
			}
			public, err := receiptkey.Generate(out)
			if err != nil {
				return err
			}
			t.say("%s", public)
			return nil
		}),
	}
	cmd.Flags().StringVar(&out, "out", "", "the `file` to make")
	return cmd
}
