package input_test

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"anteroom/edge/input"
	"anteroom/edge/jsondoc"
)

func TestIntegers(t *testing.T) {
	for s, want := range map[string]int{"0": 0, "-90": -90, "2147483647": 2147483647, "-2147483648": -2147483648, "-0": 0} {
		if got, ok := input.ParseInteger(s); !ok || got != want {
			t.Errorf("%q: %d %v", s, got, ok)
		}
	}
	for _, s := range []string{"", "-", "+7", "07", "-07", "2147483648", "-2147483649", "1e3", "1.0", " 1", "1_000", "0x1", "٣"} {
		if got, ok := input.ParseInteger(s); ok {
			t.Errorf("%q is taken as %d", s, got)
		}
	}
}

// Where net/url can read a query, ParseQuery reads the same.
func FuzzParseQuery(f *testing.F) {
	for _, seed := range []string{"agent_name=x&pubkey=y", "a=+%20%C3%A9&b", "a=1&a=2", "%", "a=%zz&&=&", "a=%ff", "a;b=1", "a=%41%4a%4F&&b=x%30&%61b=c=&+a=%2B"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, query string) {
		in := input.ParseQuery(query)
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

// A query has at most as many parameters as an object has members: looking up a name is linear.
func TestManyParameters(t *testing.T) {
	for n, want := range map[int]string{jsondoc.MaxMembers: "", jsondoc.MaxMembers + 1: input.TooMany} {
		query := "p0"
		for i := 1; i < n; i++ {
			query += "&p" + strconv.Itoa(i)
		}
		in, got := input.ParseQuery(query), ""
		if in.Total > 0 {
			got = in.List[0].Code
		}
		if got != want || want == "" && in.Names() != n {
			t.Errorf("%d parameters: %+v", n, in.Faults)
		}
	}
}
