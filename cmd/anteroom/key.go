package main

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/native/disk"
	"anteroom/edge/native/receiptkey"
	"anteroom/generator/site"

	"github.com/spf13/cobra"
)

// serviceFile is the file of the content that publishes the receipt keys.
const serviceFile = "service.yaml"

func keyCommand(t *cli.Terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "key",
		Short: "Make, publish and check the keys that sign receipts and the log",
		Long: `A receipt key has two halves. The secret one stands in a file that only its owner may read, or on
Cloudflare in the secret RECEIPT_KEY; its text begins with "` + receiptkey.Prefix + `". The public half stands in
receipt_keys of content/service.yaml. Content that holds a secret is refused.

With --log, the commands are about the key that signs the public log of what was counted. The operator
alone needs it, for anteroom verify; its public half, a verifier key, stands in log.keys.`,
		Args: cobra.NoArgs,
	}
	cmd.AddCommand(keyNewCommand(t), keyPublicCommand(t), keyRotateCommand(t), keyCheckCommand(t))
	return cmd
}

func keyNewCommand(t *cli.Terminal) *cobra.Command {
	var out, content string
	var choice keyChoice
	cmd := &cobra.Command{
		Use:   "new --out FILE",
		Short: "Make a key and publish nothing",
		Long: `New writes a new secret key into a file that only its owner may read, and prints the public half. A
file that exists is never overwritten. Rotate makes a key and puts its public half into the content.

  anteroom key new --out receipt.key

With --log it makes a key of the log. Its name is that of the content's canonical host, with a number
where the content lists keys of the log already.

  anteroom key new --log --out log.key`,
		Args: cobra.NoArgs,
		RunE: cli.WithExitCode(func(*cobra.Command, []string) error {
			if err := checkOut(out, content); err != nil {
				return err
			}
			if choice.log {
				return newLogKey(t, out, content)
			}
			public, err := receiptkey.Generate(out)
			if err != nil {
				return err
			}
			t.Printf("%s", public)
			return nil
		}),
	}
	cmd.Flags().StringVar(&out, "out", "", "the `file` to make")
	cmd.Flags().StringVar(&content, "content", contentFolder, "the content `folder`")
	choice.addFlags(cmd, false)
	return cmd
}

// checkOut refuses a place for a secret key from which it would be published.
func checkOut(out, content string) error {
	if out == "" {
		return cli.Usage(errors.New("--out is missing: it names the file for the secret key"))
	}
	for _, published := range []string{content, "public"} {
		if inside(published, out) {
			return cli.Usage(fmt.Errorf("--out %s is inside %s, where everybody could read it", out, published))
		}
	}
	return nil
}

func keyPublicCommand(t *cli.Terminal) *cobra.Command {
	var source secretSource
	var choice keyChoice
	cmd := &cobra.Command{
		Use:   "public",
		Short: "Print the public half of a key",
		Args:  cobra.NoArgs,
		RunE: cli.WithExitCode(func(cmd *cobra.Command, _ []string) error {
			if err := choice.check(cmd); err != nil {
				return err
			}
			if choice.log {
				key, err := choice.source.mustRead(t)
				if err == nil {
					t.Printf("%s", key.Public)
				}
				return err
			}
			key, err := source.mustRead(t)
			if err != nil {
				return err
			}
			t.Printf("%s", receiptkey.Public(key))
			return nil
		}),
	}
	source.addFlag(cmd)
	choice.addFlags(cmd, true)
	return cmd
}

func keyCheckCommand(t *cli.Terminal) *cobra.Command {
	var source secretSource
	var choice keyChoice
	var content string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Compare a key with those that the content publishes",
		Long: `Check prints how the content lists the public half of a key: as the current key, as a retired one, or
not at all. Of a key of the log it prints whether it is the last one, which signs, or an earlier one.

Exit codes: 0 it is the current key, or the last of the log, 1 it is not, 2 called wrongly.`,
		Args: cobra.NoArgs,
		RunE: cli.WithExitCode(func(cmd *cobra.Command, _ []string) error {
			if err := choice.check(cmd); err != nil {
				return err
			}
			if choice.log {
				return checkLogKey(t, &choice.source, content)
			}
			key, err := source.mustRead(t)
			if err != nil {
				return err
			}
			s, err := loadContent(content)
			if err != nil {
				return err
			}
			return checkKey(t, key, &s.Service, filepath.Join(content, serviceFile))
		}),
	}
	source.addFlag(cmd)
	choice.addFlags(cmd, true)
	cmd.Flags().StringVar(&content, "content", contentFolder, "the content `folder`")
	return cmd
}

// checkKey says how the content lists a key. Its error says what to do where that is not as the
// current one. file is the name of service.yaml.
func checkKey(t *cli.Terminal, key ed25519.PrivateKey, service *site.Service, file string) error {
	if err := refusePublishedSecret(key, service, file); err != nil {
		return err
	}
	public, published := receiptkey.Public(key), &service.ReceiptKeys
	if public == published.Current {
		t.Printf("current: %s", public)
		return nil
	}
	for _, retired := range published.Retired {
		if retired.PublicKey == public {
			t.Printf("retired: %s", public)
			return fmt.Errorf("%s retired this receipt key on %s (sign with the secret of receipt_keys.current)", file, retired.RetiredOn)
		}
	}
	t.Printf("none: %s", public)
	if published.Current == "" {
		return fmt.Errorf("%s publishes no receipt key (write this one into it as receipt_keys.current, and generate)", file)
	}
	return fmt.Errorf("%s publishes another receipt key (sign with its secret, or make and publish a new one with anteroom key rotate)", file)
}

// refusePublishedSecret refuses content that publishes the seed of a key in the place of a public
// half. The error does not repeat the seed.
func refusePublishedSecret(key ed25519.PrivateKey, service *site.Service, file string) error {
	for i, published := range service.Keys() {
		if receiptkey.IsSecret(key, published) {
			at := "receipt_keys.current"
			if i > 0 {
				at = fmt.Sprintf("receipt_keys.retired[%d].public_key", i-1)
			}
			return fmt.Errorf("the secret receipt key is the value of %s in %s: one of the two is the wrong half "+
				"(where the secret was published, make a new one with anteroom key new and list neither half; "+
				"else give the file that anteroom key made, and not the public half)", at, file)
		}
	}
	return nil
}

func keyRotateCommand(t *cli.Terminal) *cobra.Command {
	var out, content string
	var choice keyChoice
	cmd := &cobra.Command{
		Use:   "rotate --out NEWFILE",
		Short: "Make a new key and let the content publish it as the current one",
		Long: `Rotate writes a new secret key into a new file that only its owner may read. In service.yaml of the
content it writes the public half as receipt_keys.current, with the date, and moves the one that stood
there to receipt_keys.retired: receipts that it signed stay valid while it is listed. Where no key was
published it only writes the new one. It changes nothing else in that file, and deploys nothing: it
prints what to do next.

A key that leaked leaves the content as a whole. Rotate, generate and deploy first; then remove the old
key from receipt_keys.retired, generate and deploy again. No receipt that it signed is valid from then on.

  anteroom key rotate --out receipt-2.key

With --log it makes a key of the log and writes its public half behind those of log.keys. The first one
begins a log; each one after it begins a new tree, with the end of the one before as its first entry.
All of them stay listed.

  anteroom key rotate --log --out log.key`,
		Args: cobra.NoArgs,
		RunE: cli.WithExitCode(func(*cobra.Command, []string) error {
			if err := checkOut(out, content); err != nil {
				return err
			}
			if choice.log {
				return rotateLog(t, out, content)
			}
			return rotate(t, out, content)
		}),
	}
	cmd.Flags().StringVar(&out, "out", "", "the `file` to make for the new secret key")
	cmd.Flags().StringVar(&content, "content", contentFolder, "the content `folder`")
	choice.addFlags(cmd, false)
	return cmd
}

// rotate makes a new key in the file named out, and publishes it in a content folder. Where that
// fails, neither has changed.
func rotate(t *cli.Terminal, out, content string) error {
	s, err := loadContent(content)
	if err != nil {
		return err
	}
	file := filepath.Join(content, serviceFile)
	public, err := publishKey(file, out, receiptkey.Generate, func(text []byte, public string) ([]byte, error) {
		return site.RotateKey(text, public, t.Now().UTC().Format("2006-01-02"))
	})
	if err != nil {
		return err
	}
	old := s.Service.ReceiptKeys.Current
	t.Printf("current: %s", public)
	if old != "" {
		t.Printf("retired: %s", old)
	}
	t.Printf("")
	t.Printf("Next, in this order:")
	t.Printf("1. Run anteroom generate, look at the diff of %s and of the documents, and commit both.", file)
	t.Printf("2. On a machine, stop the server and start it with --key-file %s. The old one would refuse the new content.", out)
	t.Printf("3. On Cloudflare, run anteroom deploy --key-file %s. The key and the content that publishes it go live together.", out)
	t.Printf("4. Keep %s where nobody else can read it, and out of version control.", out)
	return nil
}

// publishKey makes a new key in the file named out, and writes its public half into service.yaml,
// the file. Where that fails, neither has changed.
func publishKey(file, out string, generate func(out string) (public string, err error), write func(text []byte, public string) ([]byte, error)) (public string, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("rotate key: %w", err)
	}
	if public, err = generate(out); err != nil {
		return "", err
	}
	if text, err = write(text, public); err == nil {
		err = disk.Replace(file, text)
	}
	if err != nil {
		if now, _ := os.ReadFile(file); !bytes.Contains(now, []byte(public)) {
			os.Remove(out) // nothing names it
		}
		return "", fmt.Errorf("rotate key: %w", hintPermission(err))
	}
	return public, nil
}

// secretSource is where a command reads the secret receipt key from.
type secretSource struct{ file string }

func (s *secretSource) addFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.file, "key-file", "", "the `file` of the secret key, - for standard input; the key itself can be given in ANTEROOM_KEY")
}

// read reads the key. It is nil where none is named.
func (s *secretSource) read(t *cli.Terminal) (ed25519.PrivateKey, error) {
	text, file := os.Getenv("ANTEROOM_KEY"), s.file
	switch {
	case text != "" && file != "":
		return nil, cli.Usage(errTwoKeys)
	case text != "":
		return parseKey(text)
	case file == "-":
		key, err := receiptkey.Read(t.In)
		if err != nil {
			return nil, fmt.Errorf("read receipt key from standard input: %w (%s)", err, hintKey)
		}
		return key, nil
	case file != "":
		return loadKey(t, file)
	}
	return nil, nil
}

// mustRead reads the key of a command that needs one.
func (s *secretSource) mustRead(t *cli.Terminal) (ed25519.PrivateKey, error) {
	key, err := s.read(t)
	if key == nil && err == nil {
		err = cli.Usage(errors.New("there is no key: name its file with --key-file, or give it in ANTEROOM_KEY"))
	}
	return key, err
}

var errTwoKeys = errors.New("--key-file and ANTEROOM_KEY exclude each other")

const hintKey = "anteroom key new makes a key"

// parseKey reads the key that is the value of ANTEROOM_KEY.
func parseKey(text string) (ed25519.PrivateKey, error) {
	key, err := receiptkey.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("read ANTEROOM_KEY: %w (%s)", err, hintKey)
	}
	return key, nil
}

// loadKey reads a key from a file.
func loadKey(t *cli.Terminal, file string) (ed25519.PrivateKey, error) {
	key, err := receiptkey.Load(file, t.Warnf)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%w (give this user access to it)", err)
	case err != nil:
		return nil, fmt.Errorf("%w (%s)", err, hintKey)
	}
	return key, nil
}
