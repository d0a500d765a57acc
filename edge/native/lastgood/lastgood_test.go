package lastgood

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"anteroom/edge/native/disk"
	"anteroom/edge/native/static"
)

// example is the example of the package comment.
func example(t testing.TB) []byte {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "lastgood.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(file.Doc.Text(), "\n\t")
	text, _, _ = strings.Cut(text, "\n\nOf a document")
	return []byte(strings.ReplaceAll(text, "\n\t", "\n") + "\n")
}

func shown() *Content {
	return &Content{
		Since: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Snapshot: []byte("{\"format\":\"x\"}\n"),
		Documents: []static.File{
			{Path: "/_headers", Bytes: []byte("/a\n  B: c\n")},
			{Path: "/a.txt", MediaType: "text/plain", Cache: "public, max-age=300", Bytes: []byte("hello\n")},
		},
	}
}

// encode is the text of a content.
func encode(c *Content) []byte {
	var text bytes.Buffer
	text.WriteString(firstLine(c.digest()))
	c.write(&text) // into memory: it does not fail
	return text.Bytes()
}

func decodeText(text []byte) (*Content, error) { return decode(bytes.NewReader(text), true) }

// alike compares all that is served.
func alike(a, b *Content) bool {
	return a.Since.Equal(b.Since) && bytes.Equal(a.Snapshot, b.Snapshot) &&
		slices.EqualFunc(a.Documents, b.Documents, func(a, b static.File) bool {
			return a.Path == b.Path && a.MediaType == b.MediaType && a.Cache == b.Cache && (a.Make == nil) == (b.Make == nil) && bytes.Equal(a.Content(), b.Content())
		})
}

// withMade is a content that has documents that are made, and counts how often.
func withMade(times *int) *Content {
	c := shown()
	made := func(text string) func() []byte {
		return func() []byte { *times++; return []byte(text) }
	}
	c.Documents = append([]static.File{{Path: "/log/lookup/abc", Make: made("1\n22\n")}}, c.Documents...)
	c.Documents = append(c.Documents, static.File{Path: "/log/tile/0/000", MediaType: "x/y", Make: made("")})
	return c
}

// TestMade: documents that are made are written and compared one by one, and read where that is
// wanted.
func TestMade(t *testing.T) {
	times := 0
	text := encode(withMade(&times))
	if !bytes.Contains(text, []byte(`{"path":"/log/lookup/abc","bytes":-1,`)) || !bytes.HasSuffix(text, []byte("hello\n0\n")) {
		t.Errorf("the text is\n%s", text)
	}
	whole, err := decodeText(text)
	if err != nil || !alike(whole, withMade(&times)) {
		t.Errorf("%+v, %v", whole, err)
	}
	part, err := decode(bytes.NewReader(text), false)
	if err != nil || len(part.Documents) != 4 || part.Documents[0].Content() != nil || string(part.Documents[2].Content()) != "hello\n" {
		t.Fatalf("%+v, %v", part, err)
	}
	other := withMade(&times)
	other.Documents[0].Make = func() []byte { return []byte("1\n23\n") }
	times = 0
	for _, c := range []*Content{whole, part, part.WithoutBytes()} {
		if !c.Equal(withMade(&times)) || c.Equal(other) {
			t.Errorf("not told apart: %+v", c)
		}
	}
	if times != 3*2+3 { // both, and one of other
		t.Errorf("made %d times", times)
	}
	_, rest, _ := bytes.Cut(text, []byte{'\n'})
	for _, c := range []struct{ old, new string }{{"}\n5\n1\n22", "}\n05\n1\n22"}, {"5\n1\n22", "6\n1\n22"}, {"hello\n0\n", "hello\n0"}, {"hello\n0\n", "hello\n-1\n"}} {
		changed := bytes.Replace(rest, []byte(c.old), []byte(c.new), 1)
		if bytes.Equal(changed, rest) {
			t.Fatalf("%q is not there", c.old)
		}
		for _, whole := range []bool{true, false} {
			if got, err := decode(bytes.NewReader(summed(changed)), whole); !errors.Is(err, errOther) || got != nil {
				t.Errorf("%q, whole %t: %v", c.new, whole, err)
			}
		}
	}
}

// summed is a text with these bytes behind its first line.
func summed(rest []byte) []byte {
	sum := sha256.Sum256(rest)
	return append([]byte(firstLine(hex.EncodeToString(sum[:]))), rest...)
}

// TestPackageComment reads the example of the package comment, and writes it.
func TestPackageComment(t *testing.T) {
	if got := encode(shown()); !bytes.Equal(got, example(t)) {
		t.Errorf("the package comment has\n%s\nand the content is\n%s", example(t), got)
	}
	got, err := decodeText(example(t))
	if err != nil || !alike(got, shown()) {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestDamage: no text is read of which a byte was changed, or the end or more cut off.
func TestDamage(t *testing.T) {
	text := example(t)
	for i := range text {
		changed := bytes.Clone(text)
		changed[i] ^= 1
		if c, err := decodeText(changed); err == nil || c != nil {
			t.Errorf("byte %d changed: read", i)
		}
		if c, err := decodeText(text[:i]); err == nil || c != nil {
			t.Errorf("cut after %d bytes: read", i)
		}
	}
	if _, err := decodeText(append(text, '\n')); err == nil {
		t.Error("a byte too many: read")
	}
}

// TestFaults: a text with the right sum is refused where it is not what Encode writes.
func TestFaults(t *testing.T) {
	_, rest, _ := bytes.Cut(example(t), []byte{'\n'})
	for _, c := range []struct{ old, new, want string }{
		{`"bytes":6`, `"bytes":7`, "not written as"},
		{`"bytes":6`, `"bytes":5`, "not written as"},
		{`"bytes":6`, `"bytes":-6`, "not written as"},
		{`"snapshot":15`, `"snapshot":9223372036854775807`, "not written as"},
		{`"snapshot":15`, `"snapshot":15,"more":1`, "not written as"},
		{`"snapshot":15`, `"snapshot":"15"`, "its second line cannot be read"},
		{`12:00:00Z`, `12:00:00.5Z`, "not written as"},
		{`12:00:00Z`, `noon`, "its time cannot be read"},
		{`{"path"`, `"path"`, "the line of a document cannot be read"},
	} {
		changed := bytes.Replace(rest, []byte(c.old), []byte(c.new), 1)
		if bytes.Equal(changed, rest) {
			t.Fatalf("%s is not there", c.old)
		}
		if _, err := decodeText(summed(changed)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.new, err, c.want)
		}
	}
	if _, err := decodeText([]byte("anteroom-last-good-0 x\n")); err == nil || !strings.Contains(err.Error(), "its format is not "+Format) {
		t.Errorf("another format: %v", err)
	}
}

func TestEqual(t *testing.T) {
	later, other := shown(), shown()
	later.Since = later.Since.Add(time.Hour)
	other.Documents[1].Cache = ""
	if !shown().Equal(later) || shown().Equal(other) {
		t.Error("contents are told apart by their times, or not at all")
	}
}

// TestFile: what was written is read again, by this user alone; what was damaged is named.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), FileName)
	if _, err := Read(path, true); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	if err := Write(path, shown()); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path, true)
	if err != nil || !alike(got, shown()) {
		t.Errorf("%+v, %v", got, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	before := disk.Sync
	disk.Sync = func(*os.File) error { return errors.New("the disk is full") }
	failed := Write(path, shown())
	disk.Sync = before
	if _, err := os.Stat(path); failed == nil || !strings.Contains(failed.Error(), "the disk is full") || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, and what was written before is there: %v", failed, err)
	}
	// What can neither be replaced nor removed: a folder that is not empty.
	if err := os.MkdirAll(filepath.Join(path, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, shown()); !errors.Is(err, ErrOlder) || errors.Is(failed, ErrOlder) {
		t.Errorf("what stays is not told: %v, %v", err, failed)
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, shown()); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 200); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path, true); err == nil || !strings.Contains(err.Error(), path+": it is damaged") {
		t.Errorf("a damaged file: %v", err)
	}
}

// FuzzDecode gives decode texts whose sum is right: one that it reads is the text of what it read.
func FuzzDecode(f *testing.F) {
	_, rest, _ := bytes.Cut(example(f), []byte{'\n'})
	f.Add(rest)
	times := 0
	_, made, _ := bytes.Cut(encode(withMade(&times)), []byte{'\n'})
	f.Add(made)
	f.Add([]byte("{}\n\n"))
	f.Add([]byte(`{"since":"2026-11-20T12:00:00Z","snapshot":0}` + "\n\n"))
	f.Fuzz(func(t *testing.T, rest []byte) {
		text := summed(rest)
		c, err := decodeText(text)
		if (err == nil) != (c != nil) {
			t.Fatalf("%v beside %v", c, err)
		}
		if err == nil && !bytes.Equal(encode(c), text) {
			t.Errorf("%q is read, and written as %q", text, encode(c))
		}
	})
}
