package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxKey is how many bytes of a secret key are read: more than any form of one has.
const maxKey = 1 << 10

// ReadKey reads the text of a secret key from r, as PlainText takes it.
func ReadKey(r io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxKey))
	if err == nil {
		text, err = PlainText(text)
	}
	return string(text), err
}

// LoadKey reads the text of the secret key in the file at path. It calls warn where users other
// than the owner may read the file.
func LoadKey(path string, warn func()) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && IsOpen(info) {
		warn()
	}
	text, err := ReadKey(f)
	if errors.Is(err, errUTF16) {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return text, err
}

// WriteKey writes the text of a secret key to a new file at path that only its owner may read. It
// never overwrites a file, as nothing could bring back a key that was in it.
func WriteKey(path, text string) error {
	err := WriteNew(path, []byte(text))
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%w (a key is never overwritten: name another file)", err)
	}
	if err == nil {
		err = SyncFolder(filepath.Dir(path))
	}
	return err
}
