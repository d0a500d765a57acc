package cloudflare

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadAllowances(t *testing.T) {
	for _, c := range []struct {
		names, reasons []string
		want           string
	}{
		{nil, nil, "[] <nil>"},
		{[]string{"key", "dns"}, []string{" it leaked ", "it moves"}, "[{key it leaked} {dns it moves}] <nil>"},
		{[]string{"key"}, nil, "got 1 --allow and 0 --reason (give a reason for each)"},
		{[]string{"all"}, []string{"x"}, `--allow: got "all", want one of as_of, board, document, key, log, dns`},
		{[]string{"key"}, []string{" "}, "is empty"},
		{[]string{"key"}, []string{strings.Repeat("x", longestReasons+1)}, "have more than 700 bytes"},
		{[]string{"key"}, []string{"two\nlines"}, "more than one line"},
	} {
		list, err := ReadAllowances(c.names, c.reasons)
		if got := fmt.Sprint(list, err); !strings.Contains(got, c.want) {
			t.Errorf("%q, %q: %s, want %s", c.names, c.reasons, got, c.want)
		}
	}
}

// The id of the database is replaced where it is, and nothing else is.
func TestSetDatabaseID(t *testing.T) {
	const old = "00000000-0000-0000-0000-000000000001"
	for _, c := range []struct{ text, want string }{
		{"database_id = \"" + old + "\"\n", "database_id = \"" + newID + "\"\n"},
		{"a = 1 # " + old + "\n  database_id='" + old + "' # the store\r\n", "a = 1 # " + old + "\n  database_id='" + newID + "' # the store\r\n"},
		{"d1_databases = [{ binding = \"DB\", database_id = \"" + old + "\" }]", "d1_databases = [{ binding = \"DB\", database_id = \"" + newID + "\" }]"},
		{"# database_id = \"" + old + "\"\n", ""},
		{"x_database_id = \"" + old + "\"\n", ""},
		{"[a]\ndatabase_id = \"" + old + "\"\n[b]\ndatabase_id = \"" + old + "\"\n", ""},
	} {
		config := &Config{Path: filepath.Join(t.TempDir(), "wrangler.toml")}
		write(t, config.Path, c.text)
		err := config.setDatabaseID(old, newID)
		switch got := text(t, config.Path); {
		case c.want == "" && (err == nil || !strings.Contains(err.Error(), "(write "+newID+" there instead of "+old+")") || got != c.text):
			t.Errorf("%q is written as %q, %v", c.text, got, err)
		case c.want != "" && (err != nil || got != c.want):
			t.Errorf("%q is written as %q, %v", c.text, got, err)
		}
	}
}
