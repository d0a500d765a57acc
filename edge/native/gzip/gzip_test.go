package gzip

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"testing"
)

// The cases that RFC 9110 names in section 12.5.3 are among these.
func TestAccepted(t *testing.T) {
	for field, want := range map[string]bool{
		"": false, "gzip": true, "GZIP": true, "x-gzip": true, "deflate, br": false, "compress, gzip": true, "gzipped": false,
		"*": true, "*;q=0": false, "identity": false, "identity;q=0, *": true, "br, *;q=0.1": true, "gzip;q=0, *": false,
		"gzip;q=1.0": true, "gzip; q=0.001": true, "gzip;q=0": false, "gzip;q=0.000": false, "gzip\t;\tQ=1": true,
		"compress;q=0.5, gzip;q=1.0": true, "gzip;q=1.0, identity; q=0.5, *;q=0": true,
		"gzip;q=0.5, identity;q=1": false, "gzip;q=0.5, identity;q=0.5": true, "*;q=0.5, identity": false,
		"gzip;q=": false, "gzip;q=2": false, "gzip;q=1.001": false, "gzip;q=0.0001": false, "gzip;q=.5": false,
		"gzip;q=-1": false, "gzip;q=0.x": false, "gzip;level=1": false, "gzip;": false, "gzip;q=NaN": false,
		"gzip;q=x, *": true, ", ,gzip,": true, "gzip;q=0, x-gzip": true,
	} {
		if got := Accepted([]string{field}); got != want {
			t.Errorf("%q: %t", field, got)
		}
	}
	if Accepted(nil) || !Accepted([]string{"br", "gzip"}) || Accepted([]string{"gzip;q=0.2", "identity"}) {
		t.Error("several lines, or none")
	}
}

func FuzzAccepted(f *testing.F) {
	for _, seed := range []string{"gzip", "gzip;q=0.5, identity;q=1", "*;q=0", "x-gzip ; Q=1.000", "gzip;q=1.001"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, field string) {
		got := Accepted([]string{field})
		if joined := Accepted(strings.Split(field, ",")); joined != got {
			t.Errorf("%q: %t on one line, %t on several", field, got, joined)
		}
		if lower := strings.ToLower(field); got && !strings.Contains(lower, Name) && !strings.Contains(field, "*") {
			t.Errorf("%q names nothing that allows gzip", field)
		}
	})
}

func TestCompress(t *testing.T) {
	for _, body := range []string{"", "x", strings.Repeat(`{"agent_name":"ledger-lark"}`, 1000)} {
		zipped := Compress([]byte(body))
		r, err := gzip.NewReader(bytes.NewReader(zipped))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(r); err != nil || string(got) != body {
			t.Errorf("%d bytes come back as %d, %v", len(body), len(got), err)
		}
		if len(body) > MinSize && len(zipped) > len(body)/10 {
			t.Errorf("%d bytes of %d", len(zipped), len(body))
		}
	}
}

func TestTags(t *testing.T) {
	for tag, field := range map[string]string{`"a1"`: `"a1-gzip"`, `W/"a1"`: `W/"a1-gzip"`} {
		if got := Tag(tag); got != field || Untagged(got) != tag {
			t.Errorf("%s: %s, and back %s", tag, got, Untagged(got))
		}
	}
	if got := Untagged(`"a-gzip", W/"b-gzip" ,"c", *`); got != `"a", W/"b" ,"c", *` {
		t.Error(got)
	}
}
