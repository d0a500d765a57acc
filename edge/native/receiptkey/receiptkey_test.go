package receiptkey

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	seed := bytes.Repeat([]byte{0xfb, 7}, 16)
	want := ed25519.NewKeyFromSeed(seed)
	der, err := x509.MarshalPKCS8PrivateKey(want)
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.StdEncoding.EncodeToString
	for _, text := range []string{
		b64(seed), b64(der) + "\n", "anteroom-secret:" + b64(seed) + "\r\n",
	} {
		if key, err := Parse(text); err != nil || !key.Equal(want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if Public(nil) != "" {
		t.Error("no key has a public half")
	}
	wrong := bytes.Clone(der)
	wrong[11]++ // another algorithm
	for name, text := range map[string]string{
		"empty": "", "short": b64(seed[:31]), "a 64-byte key": b64(want),
		"a key of the log": "PRIVATE+KEY+www.base.example/log+f00902b2+" + b64(seed), "another algorithm": b64(wrong), "two line breaks": b64(seed) + "\n\n", "a line break inside": b64(seed)[:20] + "\n" + b64(seed)[20:],
		"unpadded": base64.RawStdEncoding.EncodeToString(seed), "URL alphabet": base64.URLEncoding.EncodeToString(seed),

		"stray bits": strings.Replace(b64(seed), "=", "", 1)[:42] + "9=",
	} {
		for _, text := range []string{text, Prefix + text} {
			if key, err := Parse(text); err == nil || key != nil {
				t.Errorf("%s: accepted", name)
			} else if secret := strings.TrimLeft(strings.ReplaceAll(text, Prefix, ""), " "); len(secret) > 8 && strings.Contains(err.Error(), secret[:8]) {
				t.Errorf("%s: the error repeats the text: %v", name, err)
			}
		}
	}
	for text, want := range map[string]string{
		b64(seed[:31]): "got 31 bytes, want an Ed25519 seed of 32, or 48",
		"not base64":   "want anteroom-secret: and base64 (standard alphabet, padded, on one line)",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// FuzzParse: what is read as a key is one text of few, and an error repeats nothing of it.
func FuzzParse(f *testing.F) {
	f.Add("anteroom-secret:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n")
	f.Add("MC4CAQAwBQYDK2VwBCIEIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
	f.Fuzz(func(t *testing.T, text string) {
		key, err := Parse(text)
		if err != nil {
			return
		}
		bare := strings.TrimPrefix(strings.TrimRight(text, "\r\n"), Prefix)
		if again, err := Parse(Prefix + base64.StdEncoding.EncodeToString(key.Seed())); err != nil || !again.Equal(key) || len(bare) != 44 && len(bare) != 64 {
			t.Errorf("%q is read as a key: %v", text, err)
		}
	})
}
