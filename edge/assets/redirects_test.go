package assets

import (
	"maps"
	"strings"
	"testing"
)

func TestParseRedirects(t *testing.T) {
	got, err := ParseRedirects("# comment\n\n/ /index.html 200\n/a\t/b?c=d 308\n /e /f\n")
	want := Redirects{"/": {"/index.html", 200}, "/a": {"/b?c=d", 308}, "/e": {"/f", 302}}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	_, err = ParseRedirects("/a\n/b /c 404\n/d* /e\n/f /g\n/f /h\n/i https://x/\n/j //x\n/k /l 301 x\n/:m /n\n/o /p many\nq /r\n")
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{
		"1: want a path, a target and a status", "2: unsupported status 404", "3: unsupported pattern /d*",
		"5: duplicate path /f", "6: path and target must begin with one slash", "7: path and target must begin",
		"8: want a path, a target", "9: unsupported pattern /:m", "10: unsupported status many",
		"11: path and target must begin",
	} {
		if !strings.Contains(err.Error(), "_redirects:"+want) {
			t.Errorf("%q lacks %s", err, want)
		}
	}
}

func TestLocation(t *testing.T) {
	for _, c := range []struct{ to, query, want string }{
		{"/b", "", "/b"}, {"/b", "x=1&y", "/b?x=1&y"}, {"/b?c=d", "x=1", "/b?c=d"},
	} {
		if got := (Redirect{To: c.to}).Location(c.query); got != c.want {
			t.Errorf("%s with %q leads to %s, want %s", c.to, c.query, got, c.want)
		}
	}
}
