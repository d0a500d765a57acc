package keys

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"anteroom/edge/native/disk"
)

// A new secret key stays if the content lists it, and goes if it does not, whatever fails.
func TestRotateFails(t *testing.T) {
	service, err := os.ReadFile("../../../../content/service.yaml")
	if err != nil {
		t.Fatal(err)
	}
	sync := disk.Sync
	t.Cleanup(func() { disk.Sync = sync })
	for failing, listed := range map[string]bool{".service.yaml.": false, "content": true} { // before the file is replaced, and after
		file, out := filepath.Join(t.TempDir(), "content", "service.yaml"), filepath.Join(t.TempDir(), "receipt.key")
		if err := errors.Join(os.Mkdir(filepath.Dir(file), 0o700), os.WriteFile(file, service, 0o600)); err != nil {
			t.Fatal(err)
		}
		disk.Sync = func(f *os.File) error {
			if strings.HasPrefix(filepath.Base(f.Name()), failing) {
				return syscall.EIO
			}
			return sync(f)
		}
		_, err := RotateReceipt(nil, nil, file, out, "2027-03-01")
		_, secret := os.Stat(out)
		text, _ := os.ReadFile(file)
		if is := strings.Contains(string(text), "2027-03-01"); !errors.Is(err, syscall.EIO) || is != listed || (secret == nil) != listed {
			t.Errorf("%s fails: listed %v, %v; the secret: %v", failing, is, err, secret)
		}
	}
}
