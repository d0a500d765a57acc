package deploy

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	oldID = "00000000-0000-0000-0000-000000000001"
	newID = "0badcafe-0000-4000-8000-0123456789ab"
)

// The id of the database is replaced where it stands, and nothing else is.
func TestWithDatabaseID(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"database_id = \"" + oldID + "\"\n", "database_id = \"" + newID + "\"\n"},
		{"a = 1 # " + oldID + "\n  database_id='" + oldID + "' # the store\r\n", "a = 1 # " + oldID + "\n  database_id='" + newID + "' # the store\r\n"},
		{"d1_databases = [{ binding = \"DB\", database_id = \"" + oldID + "\" }]", "d1_databases = [{ binding = \"DB\", database_id = \"" + newID + "\" }]"},
		{"# database_id = \"" + oldID + "\"\n", ""},
		{"x_database_id = \"" + oldID + "\"\n", ""},
		{"preview_database = \"" + oldID + "\"\n", ""},
		{"[a]\ndatabase_id = \"" + oldID + "\"\n[b]\ndatabase_id = \"" + oldID + "\"\n", ""},
	} {
		path := filepath.Join(t.TempDir(), "wrangler.toml")
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		f := &File{path: path, text: []byte("what stood there before somebody edited it")}
		err := f.writeDatabaseID(oldID, newID)
		text, wrong := os.ReadFile(path)
		if wrong != nil {
			t.Fatal(wrong)
		}
		if c.want == "" {
			if err == nil || !strings.Contains(err.Error(), "the database has the id "+newID) || string(text) != c.text {
				t.Errorf("%q is written as %q, %v", c.text, text, err)
			}
		} else if err != nil || string(text) != c.want || string(f.text) != c.want {
			t.Errorf("%q is written as %q, %v", c.text, text, err)
		}
	}
}

// Whatever a file is like, writing an id back changes that id alone, or is refused. No text makes
// reading or checking it panic.
func FuzzFile(f *testing.F) {
	text, err := os.ReadFile("../../../wrangler.toml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("database_id = \"" + oldID + "\""))
	f.Add([]byte("[env.a]\nroutes = [{}]\n[env.apex]\n[[env.a.d1_databases]]\n[[env.a.send_email]]\n[[env.a.ratelimits]]\n[[env.a.services]]\n[env.a.assets]\n[env.a.triggers]\ncrons=['']\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Parse("wrangler.toml", text)
		if err != nil {
			return
		}
		checked := file.Check(&Facts{})
		for _, name := range file.Environments() {
			s := Source{File: file, Environment: name, Bundle: map[string][]byte{mainModule: {}, apexModule: {}}, Documents: []Document{{Path: "/a"}}}
			if _, err := NewPlan(&s); err == nil && checked != nil {
				t.Errorf("a plan is made of a file with the faults %v", checked)
			}
		}
		changed, err := file.withDatabaseID(oldID, newID)
		if err != nil {
			return
		}
		if back := bytes.Replace(changed, []byte(newID), []byte(oldID), 1); !bytes.Contains(text, []byte(newID)) && !bytes.Equal(back, text) {
			t.Errorf("%q becomes %q", text, changed)
		}
	})
}

// A setting that Cloudflare tells has all that is wanted, though it may tell more.
func TestCovers(t *testing.T) {
	type table = map[string]any
	want := table{"enabled": true, "redact_query_string": true, "logs": table{"enabled": true, "invocation_logs": false}, "traces": table{"enabled": false}}
	for _, c := range []struct {
		name string
		got  any
		want bool
	}{
		{"the same", want, true},
		{"more, and no traces", table{"enabled": true, "redact_query_string": true, "head_sampling_rate": 1.0, "logs": table{"enabled": true, "invocation_logs": false, "persist": true}}, true},
		{"nothing", nil, false},
		{"no word of invocations, which are logged then", table{"enabled": true, "redact_query_string": true, "logs": table{"enabled": true}}, false},
		{"queries", table{"enabled": true, "logs": table{"enabled": true, "invocation_logs": false}}, false},
		{"traces", table{"enabled": true, "redact_query_string": true, "logs": table{"enabled": true, "invocation_logs": false}, "traces": table{"enabled": true}}, false},
	} {
		if covers(c.got, want) != c.want {
			t.Errorf("%s: want %t", c.name, c.want)
		}
	}
}
