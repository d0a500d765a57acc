package disk

import (
	"bytes"
	"errors"
)

var errUTF16 = errors.New("text is UTF-16 or UTF-32, as > of Windows PowerShell writes it (save it as UTF-8)")

// PlainText returns the text of a file that a person handed over, as the program would have written
// it: without a byte order mark, and with LF for CR LF. It refuses UTF-16 and UTF-32.
func PlainText(text []byte) ([]byte, error) {
	if bytes.HasPrefix(text, []byte("\xff\xfe")) || bytes.HasPrefix(text, []byte("\xfe\xff")) {
		return nil, errUTF16
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	return bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), nil
}
