package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
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
			verdict := verifyReceipt(sent, keys, t.Now())
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
	listed := &s.Service.ReceiptKeys
	if listed.Current == "" && len(listed.Retired) == 0 {
		return nil, fmt.Errorf("%s publishes no receipt key (give the issuer's with --key)", folder)
	}
	keys := []snapshot.Key{{PublicKey: listed.Current}}
	for _, key := range listed.Retired {
		keys = append(keys, snapshot.Key(key))
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

// verifyReceipt calls the core of the verification endpoint. keys are the service's public keys,
// the current one first.
func verifyReceipt(sent *jsondoc.Value, keys []snapshot.Key, now time.Time) *jsondoc.Value {
	// The programs that a receipt links are compared with the receipt's own host.
	published := &snapshot.Snapshot{CanonicalHost: sent.Get("issued_by").Text, RetiredKeys: keys[1:]}
	current := &turn.Turn{
		Now: now.Unix(), Request: turn.Request{Host: "localhost"},
		Host: turn.HostInfo{PublicKey: keys[0].PublicKey},
	}
	given := input.New([]jsondoc.Member{{Name: receipt.VerifyFields[0].Name, Value: *sent}})
	answer := turn.Run(current, func(current *turn.Turn) turn.Outcome {
		current.Begin(published)
		return current.Outcome(receipt.Verify(current, given))
	}, checkSignatures)
	verdict, _ := jsondoc.Parse(answer.Body) // of an object the endpoint makes a verdict
	return &verdict
}

func checkSignatures(effects []turn.Effect) []turn.Result {
	results := make([]turn.Result, len(effects))
	for i, effect := range effects {
		v := effect.(turn.Verify)
		results[i].OK = ed25519.Verify(v.PublicKey, v.Message, v.Signature)
	}
	return results
}
