package disk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// maxKey is in bytes, more than any form of a key has.
const maxKey = 1 << 10

// ReadKey reads the text of a secret key, as PlainText returns it.
func ReadKey(r io.Reader) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxKey))
	if err == nil {
		text, err = PlainText(text)
	}
	return string(text), err
}

// LoadKey reads the text of the secret key in the file at path.
func LoadKey(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := ReadKey(f)
	if errors.Is(err, errUTF16) {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return text, err
}

// WriteKey writes the text of a secret key to a new file at path, private to this user.
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

var errUTF16 = errors.New("text is UTF-16 or UTF-32, as > of Windows PowerShell writes it (save it as UTF-8)")

// PlainText removes a byte order mark, and writes LF for CR LF: editors add them. It refuses UTF-16
// and UTF-32.
func PlainText(text []byte) ([]byte, error) {
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return nil, errUTF16
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), nil
}
