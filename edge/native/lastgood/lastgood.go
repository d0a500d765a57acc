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
// Of a document that is made at each request the number of bytes is -1, and it stands in a line of
// its own before the bytes. Of such documents there may be thousands, as those of a public log:
// they are read only where the content is to be served, and written and compared one after the
// other.
//
// A content has one such text: every other text is refused, even one whose sum is right.
package lastgood

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"anteroom/edge/native/disk"
	"anteroom/edge/native/static"
)

// Format names this layout. A text of any other is refused.
const Format = "anteroom-last-good-1"

// FileName is the name of the file in a data folder.
const FileName = "last-good-content"

// Content is a content that was served.
type Content struct {
	Since     time.Time // from when it was served, in whole seconds
	Snapshot  []byte    // the text of package snapshot
	Documents []static.File

	sum string // of its text, where that was read or written; "" where it is not known yet
}

// Equal reports whether two contents are the same, whenever they were served.
func (c *Content) Equal(other *Content) bool {
	at := Content{Since: c.Since, Snapshot: other.Snapshot, Documents: other.Documents}
	return cmp.Or(c.sum, c.digest()) == at.digest()
}

// WithoutBytes is the content by its sum and its time alone, as far as Equal needs them.
func (c *Content) WithoutBytes() *Content { return &Content{Since: c.Since, sum: c.sum} }

// head is the second line.
type head struct {
	Since    string `json:"since"`
	Snapshot int    `json:"snapshot"`
}

// document is the line of a document.
type document struct {
	Path      string `json:"path"`
	Bytes     int    `json:"bytes"` // made for a document that is made
	MediaType string `json:"media_type"`
	Cache     string `json:"cache"`
}

const made = -1

// lines are the lines between the first one and the snapshot.
func (c *Content) lines() []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text) // into memory, of strings and numbers: it does not fail
	encoder.SetEscapeHTML(false)
	encoder.Encode(head{c.Since.UTC().Format(time.RFC3339), len(c.Snapshot)})
	for _, f := range c.Documents {
		size := len(f.Bytes)
		if f.Make != nil {
			size = made
		}
		encoder.Encode(document{f.Path, size, f.MediaType, f.Cache})
	}
	text.WriteByte('\n')
	return text.Bytes()
}

// write writes the text but its first line.
func (c *Content) write(w io.Writer) error {
	_, err := w.Write(append(c.lines(), c.Snapshot...))
	for i := 0; i < len(c.Documents) && err == nil; i++ {
		f := &c.Documents[i]
		text := f.Content()
		if f.Make != nil {
			_, err = io.WriteString(w, lengthLine(len(text)))
		}
		if err == nil {
			_, err = w.Write(text)
		}
	}
	return err
}

// lengthLine stands before the bytes of a document that is made.
func lengthLine(n int) string { return strconv.Itoa(n) + "\n" }

// digest is the SHA-256 of the text but its first line.
func (c *Content) digest() string {
	sum := sha256.New()
	c.write(sum) // a hash takes everything
	return hex.EncodeToString(sum.Sum(nil))
}

// firstLine is the line before the rest of a text.
func firstLine(sum string) string { return Format + " " + sum + "\n" }

// decode reads the text of a content. Without whole it leaves out the bytes of the documents that
// are made at each request. Where there is an error there is no content.
func decode(text io.ReadSeeker, whole bool) (*Content, error) {
	all := bufio.NewReaderSize(text, 1<<16)
	first, err := all.ReadSlice('\n')
	if name, _, _ := bytes.Cut(first, []byte{' '}); err != nil || string(name) != Format {
		return nil, fmt.Errorf("its format is not %s", Format)
	}
	line := string(first)
	hash := sha256.New()
	size, err := io.Copy(hash, all)
	if err != nil {
		return nil, err
	}
	sum := hex.EncodeToString(hash.Sum(nil))
	if line != firstLine(sum) {
		return nil, errors.New("it is damaged: its bytes are not those that its SHA-256 is of")
	}
	if _, err := text.Seek(int64(len(line)), io.SeekStart); err != nil {
		return nil, err
	}
	all.Reset(text)
	c := &Content{sum: sum}
	var read []byte // the lines
	next := func(v any) error {
		line, err := all.ReadBytes('\n')
		read = append(read, line...)
		if err == nil && len(line) > 1 {
			err = json.Unmarshal(line, v)
		} else if err == nil {
			err = errEnd
		}
		return err
	}
	var top head
	if err := next(&top); err != nil {
		return nil, fmt.Errorf("its second line cannot be read: %w", err)
	}
	if c.Since, err = time.Parse(time.RFC3339, top.Since); err != nil {
		return nil, fmt.Errorf("its time cannot be read: %w", err)
	}
	var sizes []int
	for {
		var d document
		if err := next(&d); errors.Is(err, errEnd) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("the line of a document cannot be read: %w", err)
		}
		f := static.File{Path: d.Path, MediaType: d.MediaType, Cache: d.Cache}
		if d.Bytes == made {
			f.Make = func() []byte { return nil } // until its bytes are read
		}
		c.Documents, sizes = append(c.Documents, f), append(sizes, d.Bytes)
	}
	left := size - int64(len(read))
	take := func(n int, keep bool) (part []byte, err error) {
		if n < 0 || int64(n) > left {
			return nil, errOther
		}
		if left -= int64(n); !keep {
			_, err = all.Discard(n)
			return nil, err
		}
		part = make([]byte, n)
		_, err = io.ReadFull(all, part)
		return part, err
	}
	if c.Snapshot, err = take(top.Snapshot, true); err != nil {
		return nil, err
	}
	for i := range c.Documents {
		f := &c.Documents[i]
		if f.Make == nil {
			if f.Bytes, err = take(sizes[i], true); err != nil {
				return nil, err
			}
			continue
		}
		line, _ := all.ReadString('\n')
		n, _ := strconv.Atoi(strings.TrimSuffix(line, "\n"))
		if left -= int64(len(line)); line != lengthLine(n) {
			return nil, errOther
		}
		part, err := take(n, whole)
		if err != nil {
			return nil, err
		}
		f.Make = func() []byte { return part }
	}
	if left != 0 || !bytes.Equal(read, c.lines()) {
		return nil, errOther
	}
	return c, nil
}

// errEnd is the end of the lines, and errOther a text that its content does not have.
var (
	errEnd   = errors.New("an empty line")
	errOther = errors.New("it is not written as the content that it holds is")
)

// Read reads the file at path, whole where the content is to be served: else the documents that are
// made at each request are without their bytes. An error that is fs.ErrNotExist says that there is
// no file; any other says why it is not to be used.
func Read(path string, whole bool) (*Content, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the last good content: %w", err)
	}
	defer f.Close()
	c, err := decode(f, whole)
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
	c.sum = c.digest()
	err := disk.WriteBy(path, func(w io.Writer) error {
		_, err := io.WriteString(w, firstLine(c.sum))
		return errors.Join(err, c.write(w))
	})
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
