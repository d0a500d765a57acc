package input_test

import (
	"regexp"
	"strings"
	"testing"

	"anteroom/edge/input"
)

// The grammar of the HTML Living Standard, section 4.10.5.1.5, word for word.
var htmlEmail = regexp.MustCompile("^[a-zA-Z0-9.!#$%&'*+\\/=?^_`{|}~-]+@[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$")

func validEmail(s string) bool {
	local, domain, _ := strings.Cut(s, "@")
	return htmlEmail.MatchString(s) && strings.Contains(domain, ".") && len(local) <= 64 && len(s) <= 254 &&
		!strings.HasPrefix(local, ".") && !strings.HasSuffix(local, ".") && !strings.Contains(local, "..")
}

var emails = []string{
	"owner@example.org", "a@b.co", "o'hara+x=y@sub.example.org", "a@b", "@b.co", "a@", "a@.co", "a@b..co", "a@b.co.", "a@-b.co", "a@b-.co",
	".a@b.co", "a.@b.co", "a..b@b.co", " a@b.co", "a@b.co ", "a@b.co\n", "A <a@b.co>", "<a@b.co>", "a@[127.0.0.1]", "ä@b.co", "a@ä.co", "a@b@c.co",
	strings.Repeat("a", 64) + "@b.co", strings.Repeat("a", 65) + "@b.co", "a@" + strings.Repeat("b", 63) + ".co", "a@" + strings.Repeat("b", 64) + ".co",
	"a@" + strings.Repeat("b.", 124) + "coxx", "a@" + strings.Repeat("b.", 124) + "coxxx", "\"a\"@b.co", "a@b_c.co", "a\x00@b.co", "a-.b@b.co", "Az09@Zz90.Ab", "@@b.co", "a`@b.co", "a{@b.co", "a[@b.co", "a/b:c@b.co", "a@b.c:o", "a@b.c/o", "a@b.c{o", "a@b.c`o",
	"axb.co", "a!b@b-c.co", "ab.c@b.co", "a.@b.c.co", "9z@9z.z9", "a:b@b.co", "zz.zz@zz.zz",
}

func FuzzValidEmail(f *testing.F) {
	for _, seed := range emails {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if input.ValidEmail(s) != validEmail(s) {
			t.Fatalf("%q: %v", s, input.ValidEmail(s))
		}
	})
}
