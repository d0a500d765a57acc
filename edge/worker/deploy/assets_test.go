package deploy_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"anteroom/edge/worker/deploy"
)

// Documents that are made are made to be hashed and to be sent, and not held. Where the manifest
// lists them not, nobody says which are new.
func TestMadeDocuments(t *testing.T) {
	o := newOperator(t)
	const n = 40
	times, end := map[string]int{}, ""
	o.source.Unlisted = func(path string) bool { return strings.HasPrefix(path, "/log/") }
	for i := range n {
		at := fmt.Sprintf("/log/lookup/%03x", i)
		o.source.Documents = append(o.source.Documents, deploy.Document{
			Path: at, MediaType: "text/plain",
			Make: func() []byte { times[at]++; return []byte(at + end) },
		})
	}
	made := func(want int) {
		t.Helper()
		for at, got := range times {
			if got != want {
				t.Errorf("%s is made %d times, want %d", at, got, want)
			}
		}
		if len(times) != n {
			t.Errorf("%d documents are made", len(times))
		}
		clear(times)
	}
	o.must()
	made(2)
	o.must()
	made(1)
	for _, d := range o.source.Documents {
		if a := o.Deployed("anteroom").Assets[d.Path]; string(a.Data) != string(d.Content()) {
			t.Errorf("%s is %q", d.Path, a.Data)
		}
	}
	clear(times)
	end = " and more"
	live, err := o.site.Live(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(live.Documents, func(at, _ string) bool { return strings.HasPrefix(at, "/log/") })
	o.site.elapsed = live
	r, err := o.survey()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.Steps(), func(s deploy.Step) bool { return s.Name == "assets" })
	if text := r.Steps()[i].Text; !strings.HasSuffix(text, "not live are none; of 40 documents the live manifest does not tell") {
		t.Errorf("the step says %q", text)
	}
	for _, a := range r.Plan.Workers[0].Assets {
		if unknown := a.New == nil; unknown != strings.HasPrefix(a.Path, "/log/") {
			t.Errorf("%s is told to be new: %t", a.Path, !unknown)
		}
	}
	made(1)
}
