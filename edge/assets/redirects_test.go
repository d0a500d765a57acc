package assets

import (
	"maps"
	"strings"
	"testing"
)

func TestParseRedirects(t *testing.T) {
	got, err := ParseRedirects("/ /index.html 200\n/a /b?c=d 308\n")
	want := Redirects{"/": {"/index.html", 200}, "/a": {"/b?c=d", 308}}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if _, err = ParseRedirects("/a /b many\n"); err == nil || !strings.Contains(err.Error(), "is not a path, a target and a status") {
		t.Error(err)
	}
}

func TestLocation(t *testing.T) {
	for _, c := range []struct{ to, query, want string }{
		{"/b", "", "/b"},
		{"/b", "x=1&y", "/b?x=1&y"},
		{"/b?c=d", "x=1", "/b?c=d"},
		{"/b#c", "", "/b#c"},
		{"/b#c", "x=1", "/b?x=1#c"},
	} {
		if got := (Redirect{To: c.to}).Location(c.query); got != c.want {
			t.Errorf("%s with %q leads to %s, want %s", c.to, c.query, got, c.want)
		}
	}
}
