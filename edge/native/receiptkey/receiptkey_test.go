package receiptkey

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"anteroom/edge/native/disk"
)

func TestParse(t *testing.T) {
	seed := bytes.Repeat([]byte{0xfb, 7}, 16)
	want := ed25519.NewKeyFromSeed(seed)
	der, err := x509.MarshalPKCS8PrivateKey(want)
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.StdEncoding.EncodeToString
	for _, text := range []string{b64(seed), b64(seed) + "\n", b64(seed) + "\r\n", b64(der), b64(der) + "\n"} {
		if key, err := Parse(text); err != nil || !key.Equal(want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	wrong := bytes.Clone(der)
	wrong[11]++ // another algorithm
	for name, text := range map[string]string{
		"empty": "", "blank": "\n", "short": b64(seed[:31]), "long": b64(append(seed, 1)), "a 64-byte key": b64(want),
		"another algorithm": b64(wrong), "cut PKCS #8": b64(der[:47]), "two line breaks": b64(seed) + "\n\n", "a line break inside": b64(seed)[:20] + "\n" + b64(seed)[20:],
		"unpadded": base64.RawStdEncoding.EncodeToString(seed), "URL alphabet": base64.URLEncoding.EncodeToString(seed),
		"stray bits": strings.Replace(b64(seed), "=", "", 1)[:42] + "9=", "hex": strings.Repeat("ab", 32), "a leading space": " " + b64(seed),
	} {
		if key, err := Parse(text); err == nil || key != nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "receipt.key")
	public, err := Generate(path)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	log := slog.New(slog.NewTextHandler(&out, nil))
	key, err := Load(path, log)
	if err != nil || base64.StdEncoding.EncodeToString(key.Public().(ed25519.PublicKey)) != public {
		t.Fatalf("the public half differs (%v)", err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 || out.Len() > 0 {
		t.Errorf("file %v, %v, log %q", info, err, out.String())
	}
	before, _ := os.ReadFile(path)
	if _, err := Generate(path); err == nil || !strings.Contains(err.Error(), "never overwritten") {
		t.Errorf("a second key in the same file: %v", err)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("the key was overwritten")
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o620, 0o644} {
		out.Reset()
		os.Chmod(path, mode)
		if _, err := Load(path, log); err != nil || !strings.Contains(out.String(), "chmod 600") {
			t.Errorf("a key of mode %o: %v, log %q", mode, err, out.String())
		}
		if strings.Contains(out.String(), strings.TrimSpace(string(before))) {
			t.Error("the key is in the log")
		}
	}
	if _, err := Load(path+"x", log); err == nil {
		t.Error("a missing file was accepted")
	}
}

// TestSynced: a new key and its name are on the disk. A key that is not surely on the disk is not
// told as made.
func TestSynced(t *testing.T) {
	dir := t.TempDir()
	before := disk.Sync
	t.Cleanup(func() { disk.Sync = before })
	var synced []string
	disk.Sync = func(f *os.File) error {
		synced = append(synced, f.Name())
		return before(f)
	}
	path := filepath.Join(dir, "receipt.key")
	if _, err := Generate(path); err != nil || len(synced) != 2 || synced[0] != path || synced[1] != dir {
		t.Errorf("%v, synced %q", err, synced)
	}
	for _, failing := range []string{"second.key", ""} {
		disk.Sync = func(f *os.File) error {
			if f.Name() == filepath.Join(dir, failing) {
				return syscall.EIO
			}
			return nil
		}
		if _, err := Generate(filepath.Join(dir, "second.key")); !errors.Is(err, syscall.EIO) {
			t.Errorf("the sync of %q failed: %v", failing, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "second.key")); failing != "" && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the key is left: %v", err)
		}
	}
}
