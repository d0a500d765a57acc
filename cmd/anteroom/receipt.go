package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"

	"github.com/spf13/cobra"
)

func receiptCommand(t *cli.Terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "receipt",
		Short: "Work with souvenir receipts",
		Args:  cobra.NoArgs,
	}
	cmd.AddCommand(receiptVerifyCommand(t))
	return cmd
}

func receiptVerifyCommand(t *cli.Terminal) *cobra.Command {
	var keys []string
	var content string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Verify a receipt without a network",
		Long: `Verify judges the receipt in a file, or on standard input where FILE is -, by the same rules as the
endpoint. It checks against the keys given by --key, the current one first, else against those that
the content folder publishes.

Exit codes: 0 valid, 1 not valid, 2 there is no receipt, or no key, to judge with.`,
		Args: cobra.ExactArgs(1),
		RunE: cli.WithExitCode(func(_ *cobra.Command, args []string) error {
			for _, key := range keys {
				if raw, err := base64.StdEncoding.Strict().DecodeString(key); err != nil || len(raw) != ed25519.PublicKeySize {
					// What was given is not repeated, because it may be a secret key.
					return cli.Usage(fmt.Errorf("--key is not base64 of the %d bytes of a public key (anteroom key public prints one)", ed25519.PublicKeySize))
				}
			}
			verdict, err := judge(t.In, args[0], keys, content)
			if err != nil {
				return cli.Exit(cli.ExitUsage, err)
			}
			printVerdict(t, verdict, asJSON)
			if !verdict.Get("valid").True {
				return cli.Exit(cli.ExitFailure, cli.ErrSilent)
			}
			return nil
		}),
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&keys, "key", nil, "a public key in `base64`; may be given several times")
	flags.StringVar(&content, "content", contentFolder, "the content `folder` whose keys are used without --key")
	flags.BoolVar(&asJSON, "json", false, "print the verdict as one JSON object")
	return cmd
}

// judge gives the answer of the verification endpoint to a receipt in a file, or on stdin where
// name is "-".
func judge(stdin io.Reader, name string, keys []string, content string) (*jsondoc.Value, error) {
	text, err := readReceipt(stdin, name)
	if err != nil {
		return nil, fmt.Errorf("read receipt: %w", err)
	}
	sent, err := jsondoc.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("read receipt %s: %w (give the whole receipt as it was received)", name, err)
	}
	if sent.Kind != jsondoc.Object {
		return nil, fmt.Errorf("read receipt %s: it is %s (give the whole receipt, a JSON object)", name, sent.Kind)
	}
	if len(keys) == 0 {
		if keys, err = publishedKeys(content); err != nil {
			return nil, err
		}
	}
	// Without the service, the programs that a receipt links are held against the host that issued it.
	published := &snapshot.Snapshot{CanonicalHost: sent.Get("issued_by").Text, RetiredKeys: keys[1:]}
	current := &turn.Turn{Request: turn.Request{Host: "localhost"}, Host: turn.HostInfo{PublicKey: keys[0]}}
	answer := turn.Run(current, func(current *turn.Turn) turn.Outcome {
		current.Begin(published)
		return current.Outcome(receipt.Verify(current, input.New([]jsondoc.Member{{Name: receipt.VerifyFields[0].Name, Value: sent}})))
	}, checkSignatures)
	if answer == nil || answer.Status != 200 {
		return nil, errors.New("verify receipt: it cannot be judged")
	}
	verdict, err := jsondoc.Parse(answer.Body)
	return &verdict, err
}

// checkSignatures performs turn.Verify, the only effect of a verification.
func checkSignatures(effects []turn.Effect) []turn.Result {
	results := make([]turn.Result, len(effects))
	for i, effect := range effects {
		if v, ok := effect.(turn.Verify); ok {
			results[i].OK = ed25519.Verify(v.PublicKey, v.Message, v.Signature)
		} else {
			results[i].Failure = turn.Unavailable
		}
	}
	return results
}

// readReceipt reads a receipt of at most the length that the endpoint takes.
func readReceipt(stdin io.Reader, name string) ([]byte, error) {
	text, err := cli.ReadFile(stdin, name, turn.MaxBody)
	if errors.Is(err, cli.ErrTooLong) {
		err = fmt.Errorf("%s is longer than %d bytes, which no receipt is", name, turn.MaxBody)
	}
	return text, err
}

// publishedKeys are the receipt keys that a content folder publishes, the current key first.
func publishedKeys(folder string) ([]string, error) {
	s, err := loadContent(folder)
	if err != nil {
		return nil, err
	}
	keys := s.Service.Keys()
	if len(keys) == 1 && keys[0] == "" {
		return nil, fmt.Errorf("%s publishes no receipt key (give the issuer's with --key)", folder)
	}
	return keys, nil
}

// printVerdict prints the answer to a verification: the verdict, the checks, and the problems.
func printVerdict(t *cli.Terminal, v *jsondoc.Value, asJSON bool) {
	if asJSON {
		t.PrintJSON(v.Raw)
		return
	}
	t.Printf("%s", v.Get("verdict").Text)
	for _, name := range []string{"fields_match", "hash_ok", "signature_ok", "checked_against_public_key", "recomputed_sha256"} {
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
