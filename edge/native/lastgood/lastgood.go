// Package lastgood keeps the content that a server served last, so that it can be served again
// where the content folder is at fault when the server starts.
//
// A file holds one content, whole. Its first line is Format and the SHA-256 of all bytes that come
// after it. The next line says since when the content is served (UTC, whole seconds) and how many
// bytes its snapshot has. Then each document has a line, and an empty line ends the list. What
// follows are the bytes of the snapshot and of the documents in their order, with nothing between.
//
//	anteroom-last-good-1 be14d876105ca069769b59972c57d8946f3d4f1de7d7f357366b19f84c9d7dd4
//	{"since":"2026-11-20T12:00:00Z","snapshot":15}
//	{"path":"/_headers","bytes":10,"media_type":"","cache":""}
//	{"path":"/a.txt","bytes":6,"media_type":"text/plain","cache":"public, max-age=300"}
//
//	{"format":"x"}
//	/a
//	  B: c
//	hello
//
// A content has one such text: Decode refuses every other text, even one whose sum is right.
package lastgood

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"anteroom/edge/native/disk"
	"anteroom/edge/native/static"
)

// Format names this layout. Decode refuses a text of any other.
const Format = "anteroom-last-good-1"

// FileName is the name of the file in a data folder.
const FileName = "last-good-content"

// Content is a content that was served.
type Content struct {
	Since     time.Time // from when it was served, in whole seconds
	Snapshot  []byte    // the text of package snapshot
	Documents []static.File
}

// Equal reports whether two contents are the same, whenever they were served.
func (c *Content) Equal(other *Content) bool {
	at := *other
	at.Since = c.Since
	return bytes.Equal(c.Encode(), at.Encode())
}

// head is the second line.
type head struct {
	Since    string `json:"since"`
	Snapshot int    `json:"snapshot"`
}

// document is the line of a document.
type document struct {
	Path      string `json:"path"`
	Bytes     int    `json:"bytes"`
	MediaType string `json:"media_type"`
	Cache     string `json:"cache"`
}

// Encode gives the text of a content.
func (c *Content) Encode() []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text) // into memory, of strings and numbers: it does not fail
	encoder.SetEscapeHTML(false)
	encoder.Encode(head{c.Since.UTC().Format(time.RFC3339), len(c.Snapshot)})
	for _, f := range c.Documents {
		encoder.Encode(document{f.Path, len(f.Bytes), f.MediaType, f.Cache})
	}
	text.WriteByte('\n')
	text.Write(c.Snapshot)
	for _, f := range c.Documents {
		text.Write(f.Bytes)
	}
	return append(firstLine(text.Bytes()), text.Bytes()...)
}

// firstLine is the line before the rest of a text.
func firstLine(rest []byte) []byte {
	sum := sha256.Sum256(rest)
	return []byte(Format + " " + hex.EncodeToString(sum[:]) + "\n")
}

// Decode reads the text of a content, which aliases the text from then on. Where there is an error
// there is no content.
func Decode(text []byte) (*Content, error) {
	first, rest, _ := bytes.Cut(text, []byte{'\n'})
	if name, _, _ := bytes.Cut(first, []byte{' '}); string(name) != Format {
		return nil, fmt.Errorf("its format is not %s", Format)
	}
	if !bytes.Equal(append(first[:len(first):len(first)], '\n'), firstLine(rest)) {
		return nil, errors.New("it is damaged: its bytes are not those that its SHA-256 is of")
	}
	list, data, _ := bytes.Cut(rest, []byte("\n\n"))
	line, list, _ := bytes.Cut(list, []byte{'\n'})
	var top head
	if err := json.Unmarshal(line, &top); err != nil {
		return nil, fmt.Errorf("its second line cannot be read: %w", err)
	}
	since, err := time.Parse(time.RFC3339, top.Since)
	if err != nil {
		return nil, fmt.Errorf("its time cannot be read: %w", err)
	}
	short := false
	take := func(n int) (part []byte) {
		if n < 0 || n > len(data) {
			short, n = true, 0
		}
		part, data = data[:n:n], data[n:]
		return part
	}
	c := &Content{Since: since, Snapshot: take(top.Snapshot)}
	for line := range bytes.Lines(list) {
		var d document
		if err := json.Unmarshal(line, &d); err != nil {
			return nil, fmt.Errorf("the line of a document cannot be read: %w", err)
		}
		c.Documents = append(c.Documents, static.File{Path: d.Path, MediaType: d.MediaType, Cache: d.Cache, Bytes: take(d.Bytes)})
	}
	if short || !bytes.Equal(c.Encode(), text) {
		return nil, errors.New("it is not written as the content that it holds is")
	}
	return c, nil
}

// Read reads the file at path. An error that is fs.ErrNotExist says that there is none; any other
// says why the file is not to be used.
func Read(path string) (*Content, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the last good content: %w", err)
	}
	c, err := Decode(text)
	if err != nil {
		return nil, fmt.Errorf("read the last good content %s: %w (it is replaced when good content is served)", path, err)
	}
	return c, nil
}

// ErrOlder is the error of Write where the file still holds an older content.
var ErrOlder = errors.New("an older content could be served again (let this user write to the data folder)")

// Write writes a content to the file at path, for this user alone, in one step. Where that fails it
// removes the file: an older content is not what was served last. The error is ErrOlder where that
// fails too.
func Write(path string, c *Content) error {
	disk.Sweep(path) // the caller is the only one that writes here
	err := disk.Write(path, c.Encode())
	if err == nil {
		return nil
	}
	err = fmt.Errorf("write the last good content: %w", err)
	switch gone := os.Remove(path); {
	case errors.Is(gone, fs.ErrNotExist):
	case gone != nil:
		err = errors.Join(err, fmt.Errorf("%w: %w", gone, ErrOlder))
	default:
		if unsure := disk.SyncFolder(filepath.Dir(path)); unsure != nil {
			err = errors.Join(err, unsure) // after a loss of power it may be there again
		}
	}
	return err
}
