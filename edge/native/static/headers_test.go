package static

import (
	"strings"
	"testing"
)

func TestHeadersFaults(t *testing.T) {
	_, err := parseHeaders("  A: b\nhttps://x/*\n/ok\n  no colon\n/:id\n")
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{"_headers:1:", "_headers:2:", "_headers:4:", "_headers:5:"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q lacks %s", err, want)
		}
	}
}
