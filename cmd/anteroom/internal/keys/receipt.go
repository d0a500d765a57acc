package keys

import (
	"crypto/ed25519"
	"fmt"
	"os"
	"slices"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/native/receiptkey"
	"anteroom/generator/site"
)

// Receipt is where a command reads the key that signs receipts.
type Receipt = Secret[ed25519.PrivateKey]

var receipts = kind[ed25519.PrivateKey]{
	"receipt key", "the secret key", "key-file", "ANTEROOM_KEY", receiptkey.Parse,
	"anteroom key rotate makes one, and publishes its public half",
}

// LoadReceipt reads a key from a file.
func LoadReceipt(t *cli.Terminal, file string) (ed25519.PrivateKey, error) {
	return receipts.load(t, file)
}

// CheckReceipt says how the content lists a key: as "current", "retired" or "none". The error says
// what to do about a key that is not the current one. file is the name of service.yaml.
func CheckReceipt(key ed25519.PrivateKey, service *site.Service, file string) (as string, err error) {
	if err := RefusePublished(key, service, file); err != nil {
		return "", err
	}
	public, published := receiptkey.Public(key), &service.ReceiptKeys
	if public == published.Current {
		return "current", nil
	}
	for _, retired := range published.Retired {
		if retired.PublicKey == public {
			return "retired", fmt.Errorf("%s retired this receipt key on %s (sign with the secret of receipt_keys.current)", file, retired.RetiredOn)
		}
	}
	if published.Current == "" {
		return "none", fmt.Errorf("%s publishes no receipt key (write this one into it as receipt_keys.current, and generate)", file)
	}
	return "none", fmt.Errorf("%s publishes another receipt key (sign with its secret, "+
		"or make and publish a new one with anteroom key rotate)", file)
}

// RefusePublished refuses content that publishes the seed of a key as a public half. The error does
// not repeat the seed.
func RefusePublished(key ed25519.PrivateKey, service *site.Service, file string) error {
	for i, published := range service.Keys() {
		if receiptkey.IsSecret(key, published) {
			at := "receipt_keys.current"
			if i > 0 {
				at = fmt.Sprintf("receipt_keys.retired[%d].public_key", i-1)
			}
			return fmt.Errorf("the secret receipt key is the value of %s in %s: one of the two is the wrong half "+
				"(if the secret was published, make a new one with anteroom key new and list neither half; "+
				"else give the file that anteroom key made, and not the public half)", at, file)
		}
	}
	return nil
}

// RotateReceipt makes a new key in the file named out, and lists it in service.yaml, the file, as
// the current one from a date on. A key in out that a first run has made, and that the content does
// not list, becomes the current one. If that fails, neither has changed.
func RotateReceipt(t *cli.Terminal, s *site.Site, file, out, date string) (public string, err error) {
	return rotate(file, out, func() (string, error) {
		if _, err := os.Stat(out); err == nil {
			if key, err := LoadReceipt(t, out); err != nil {
				return "", err
			} else if public := receiptkey.Public(key); !slices.Contains(s.Service.Keys(), public) {
				return public, nil
			}
		}
		return receiptkey.Generate(out)
	}, func(text []byte, public string) ([]byte, error) { return site.RotateKey(text, public, date) })
}
