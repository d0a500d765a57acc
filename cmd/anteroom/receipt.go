package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/jsondoc"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
	"anteroom/generator/site"
	"anteroom/generator/tlog"

	"github.com/spf13/cobra"
)

func receiptVerifyCommand(t *cli.Terminal) *cobra.Command {
	var given []string
	var content string
	cmd := &cobra.Command{
		Use: "verify FILE",
		RunE: func(_ *cobra.Command, args []string) error {
			var keys []snapshot.Key
			for _, key := range given {
				if raw, err := base64.StdEncoding.Strict().DecodeString(key); err != nil || !tlog.ValidKey(raw) {
					// The value is not repeated: it may be a secret key.
					return cli.Usage(fmt.Errorf("--key is not base64 of the %d bytes of a public key (anteroom key public prints one)",
						ed25519.PublicKeySize))
				}
				keys = append(keys, snapshot.Key{PublicKey: key})
			}
			sent, err := readReceipt(t.In, args[0])
			if err == nil && len(keys) == 0 {
				keys, err = publishedKeys(content, t.Now())
			}
			if err != nil {
				return cli.Unusable("%w", err)
			}
			// The programs that a receipt links are compared with its own host.
			verdict := site.VerifyReceipt(sent, sent.Get("issued_by").Text, keys, t.Now().Unix())
			printVerdict(t, verdict)
			if !verdict.Get("valid").True {
				return cli.ErrSilent
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&given, "key", nil, "a public key in `base64`; may be given several times")
	flags.StringVar(&content, "content", contentFolder, "the content `folder` whose keys are used without --key")
	flags.BoolVar(&t.JSON, "json", false, "print the verdict as one JSON object")
	return cmd
}

func publishedKeys(folder string, now time.Time) ([]snapshot.Key, error) {
	s, err := loadContent(folder, now)
	if err != nil {
		return nil, err
	}
	keys := s.Service.ReceiptKeys.All()
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s publishes no receipt key (give the issuer's with --key)", folder)
	}
	return keys, nil
}

func printVerdict(t *cli.Terminal, v *jsondoc.Value) {
	if t.JSON {
		t.PrintJSON(v.Raw)
		return
	}
	verdict := v.Get("verdict").Text
	t.Printf("%s", verdict)
	if strings.HasPrefix(verdict, "Not a receipt") { // no check of one says more
		return
	}
	for _, name := range []string{
		"fields_match", "hash_ok", "signature_ok", "checked_against_public_key",
		"recomputed_sha256",
	} {
		member := v.Get(name)
		text := string(member.Raw)
		if member.Kind == jsondoc.String {
			text = member.Text
		}
		t.Printf("%s: %s", name, text)
	}
	for _, problem := range v.Get("problems").Items {
		t.Printf("problem: %s", problem.Raw) // as JSON text, because it may hold what a caller wrote
	}
}

func readReceipt(stdin io.Reader, name string) (*jsondoc.Value, error) {
	sent, err := cli.ReadObject(stdin, name, turn.MaxBody, "give the whole receipt, unchanged, a JSON object")
	if err != nil {
		return nil, fmt.Errorf("read receipt: %w", err)
	}
	return sent, nil
}
