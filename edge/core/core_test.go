package core_test

import (
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"anteroom/edge/core"
	"anteroom/edge/jsondoc"
)

func TestCivilTime(t *testing.T) {
	for day := core.DaysOf(1, 1, 1); day <= core.DaysOf(9999, 12, 31); day += 13 {
		want := time.Unix(int64(day)*86400, 0).UTC()
		if got := core.FormatDate(day); got != want.Format("2006-01-02") {
			t.Fatalf("day %d is %s, want %s", day, got, want.Format("2006-01-02"))
		}
		if back, ok := core.ParseDate(core.FormatDate(day)); !ok || back != day {
			t.Fatalf("day %d reads back as %d", day, back)
		}
	}
	for _, s := range []int64{0, 59, 86399, 86400, 951782399, 1795176000, 4102444799, 253402300799} {
		if got, want := core.FormatTime(s), time.Unix(s, 0).UTC().Format(time.RFC3339); got != want {
			t.Errorf("%d is %s, want %s", s, got, want)
		}
	}
	for _, s := range []string{"", "2026-02-29", "2026-13-01", "2026-00-10", "2026-01-00", "2026-1-01", "02026-01-01", "2026-01-01Z", "0000-01-01", "2026/01/01", "+026-01-01", "٢٠٢٦-٠١-٠١"} {
		if _, ok := core.ParseDate(s); ok {
			t.Errorf("%q is taken as a date", s)
		}
	}
}

func FuzzParseDate(f *testing.F) {
	for _, seed := range []string{"2026-11-20", "2024-02-29", "1900-02-29", "9999-12-31", "0001-01-01"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		days, ok := core.ParseDate(s)
		want, err := time.Parse("2006-01-02", s)
		if wanted := err == nil && want.Year() > 0; ok != wanted {
			t.Fatalf("%q: %v, want %v", s, ok, wanted)
		}
		if ok && core.FormatDate(days) != s {
			t.Fatalf("%q reads back as %q", s, core.FormatDate(days))
		}
	})
}

// The grammar of the HTML Living Standard, 4.10.5.1.5, word for word.
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
	"axb.co", "ab.c@b.co", "a.@b.c.co", "9z@9z.z9", "a:b@b.co", "zz.zz@zz.zz",
}

func TestValidEmail(t *testing.T) {
	taken := 0
	for _, s := range emails {
		if core.ValidEmail(s) != validEmail(s) {
			t.Errorf("%q: %v", s, core.ValidEmail(s))
		}
		if core.ValidEmail(s) {
			taken++
		}
	}
	if taken != 13 {
		t.Errorf("%d addresses are taken, want 13", taken)
	}
}

func FuzzValidEmail(f *testing.F) {
	for _, seed := range emails {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if core.ValidEmail(s) != validEmail(s) {
			t.Fatalf("%q: %v", s, core.ValidEmail(s))
		}
	})
}

func clientKey(s string) string {
	a, err := netip.ParseAddr(s)
	if err != nil {
		return s
	}
	if a = a.Unmap().WithZone(""); a.Is4() {
		return a.String()
	}
	p, _ := a.Prefix(64)
	return strings.TrimSuffix(p.Addr().StringExpanded(), ":0000:0000:0000:0000") + "::/64"
}

var addresses = []string{
	"192.0.2.1", "2001:db8:1:2:3:4:5:6", "2001:db8::1", "::", "::1", "fe80::1%eth0", "::ffff:192.0.2.1", "::ffff:c000:201", "64:ff9b::192.0.2.33",
	"1:2:3:4:5:6:192.0.2.1", "1:2:3:4:5:6:7:192.0.2.1", "1:2:3:4:5:6:7:8:192.0.2.1", "1:2:3:4:5:192.0.2.1", "::2:3:4:5:6:7:192.0.2.1", "", "unknown", "2001:db8:::1", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1::2::3", "12345::", ":1::", "::192.0.2", "::ffff:10.0.255.109", "::ffff:10.0.256.1", "::ffff:01.2.3.4", "::ffff:1..2.3", "::ffff:.1.2.3", "::ffff:1.2.3.4.5", "::ffff:9.10.99.100",
	"aF:Af::", "g::", "::1::", "::ffff:0:1", "0:0:0:0:1:ffff:1:2", "1:2:3:4:5:6:7::", "1:",
}

func TestClientKey(t *testing.T) {
	for _, s := range addresses {
		if got := core.ClientKey(s); got != clientKey(s) {
			t.Errorf("%q is %q, want %q", s, got, clientKey(s))
		}
	}
	if got := core.ClientKey("2001:DB8:1:2:ffff::1"); got != "2001:0db8:0001:0002::/64" {
		t.Errorf("%q", got)
	}
}

func FuzzClientKey(f *testing.F) {
	for _, seed := range addresses {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.HasSuffix(s, "%") || strings.Contains(s, "%") && strings.HasPrefix(strings.ToLower(s), "::ffff:") {
			return // netip refuses an empty zone, and keeps a zone from being unmapped
		}
		if got := core.ClientKey(s); got != clientKey(s) {
			t.Fatalf("%q is %q, want %q", s, got, clientKey(s))
		}
	})
}

func TestIntegers(t *testing.T) {
	for s, want := range map[string]int{"0": 0, "9": 9, "-90": -90, "7": 7, "-7": -7, "2147483647": 2147483647, "-2147483648": -2147483648, "-0": 0} {
		if got, ok := core.ParseInteger(s); !ok || got != want {
			t.Errorf("%q: %d %v", s, got, ok)
		}
	}
	for _, s := range []string{"", "-", "+7", "07", "-07", "2147483648", "-2147483649", "1e3", "1.0", " 1", "1_000", "0x1", "٣"} {
		if got, ok := core.ParseInteger(s); ok {
			t.Errorf("%q is taken as %d", s, got)
		}
	}
}

// A query reads as a form does: as net/url reads it, where that reads it at all.
func FuzzParseQuery(f *testing.F) {
	for _, seed := range []string{"agent_name=x&pubkey=y", "a=+%20%C3%A9&b", "a=1&a=2", "%", "a=%zz&&=&", "a=%ff", "a;b=1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		in := core.ParseQuery(query)
		if in.Total > 0 {
			for _, fault := range in.List {
				if !utf8.ValidString(fault.Field) || utf8.RuneCountInString(fault.Field) > 64 {
					t.Fatalf("%q: fault at %q", query, fault.Field)
				}
			}
			return
		}
		want, err := url.ParseQuery(strings.ReplaceAll(query, ";", "%3B"))
		if err != nil {
			t.Fatalf("%q is taken, and net/url says %v", query, err)
		}
		names := 0
		for name, values := range want {
			names++
			if len(values) != 1 || in.Member(name).Text != values[0] {
				t.Fatalf("%q: %q is %q, want %q", query, name, in.Member(name).Text, values)
			}
		}
		if in.Names() != names {
			t.Fatalf("%q: %d names, want %d", query, in.Names(), names)
		}
	})
}

// A query has as many parameters as an object has members, and no more: looking up a name is linear.
func TestManyParameters(t *testing.T) {
	for n, want := range map[int]string{jsondoc.MaxMembers: "", jsondoc.MaxMembers + 1: core.TooMany} {
		query := "p0"
		for i := 1; i < n; i++ {
			query += "&p" + strconv.Itoa(i)
		}
		in, got := core.ParseQuery(query), ""
		if in.Total > 0 {
			got = in.List[0].Code
		}
		if got != want || want == "" && in.Names() != n {
			t.Errorf("%d parameters: %+v", n, in.Faults)
		}
	}
}

// What a caller sent is repeated up to a bound, and how much there was is only told where some of it is left out.
func TestCapped(t *testing.T) {
	for n, total := range map[int]string{0: "", 1: "", 49: "", 50: "", 51: "51", 99: "99"} {
		var faults core.Faults
		names := make([]string, n)
		for i := range names {
			names[i] = strconv.Itoa(i)
			faults.Add(names[i], core.UnknownField, "is no field")
		}
		var w jsondoc.Writer
		w.Open('{')
		core.WriteCapped(&w, "ignored_fields", names)
		faults.Write(&w)
		w.Close('}')
		v, err := jsondoc.Parse(w.Buf)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"ignored_fields", "errors"} {
			if got := v.Get(name).Items; len(got) != min(n, 50) || v.Get(name+"_total").Text != total {
				t.Errorf("%d: %s has %d entries of %q", n, name, len(got), v.Get(name+"_total").Text)
			}
		}
	}
}

func TestRunIsBounded(t *testing.T) {
	rounds := 0
	endless := func(turn *core.Turn) core.Outcome {
		rounds++
		return core.Outcome{Effects: []core.Effect{core.Limit{}}}
	}
	answer := func(e []core.Effect) []core.Result { return make([]core.Result, len(e)) }
	if r := core.Run(&core.Turn{}, endless, answer); r != nil || rounds != core.MaxRounds {
		t.Errorf("%v after %d rounds", r, rounds)
	}
	greedy := func(turn *core.Turn) core.Outcome {
		return core.Outcome{Effects: make([]core.Effect, core.MaxEffects+1)}
	}
	if r := core.Run(&core.Turn{}, greedy, answer); r != nil {
		t.Errorf("%v for too many effects", r)
	}
	if r := core.Run(&core.Turn{}, func(*core.Turn) core.Outcome { return core.Outcome{} }, answer); r != nil {
		t.Errorf("%v for nothing at all", r)
	}
}

func TestCut(t *testing.T) {
	if got := core.Cut(strings.Repeat("é", 65)); got != strings.Repeat("é", 64) {
		t.Errorf("%q", got)
	}
	if got := core.Cut("é"); got != "é" {
		t.Errorf("%q", got)
	}
}
