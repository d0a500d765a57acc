package site

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// seeds gives the bytes of the files that match a pattern. There must be some.
func seeds(f *testing.F, pattern string) {
	f.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		f.Fatalf("no seeds at %s: %v", pattern, err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
}

// checkFaults fails where a load neither gives a result nor says why not.
func checkFaults(t *testing.T, err error) {
	t.Helper()
	var faults Errors
	if err == nil {
		return
	}
	if !errors.As(err, &faults) || len(faults) == 0 {
		t.Fatalf("want Errors, got %v", err)
	}
	for _, fault := range faults {
		if fault.What == "" || fault.File == "" || fault.Line < 0 || fault.Line > 0 && fault.Column < 1 {
			t.Fatalf("a fault without a place: %#v", fault)
		}
	}
}

func FuzzYAML(f *testing.F) {
	seeds(f, "../../content/*.yaml")
	seeds(f, "../../content/scoreboard/*.yaml")
	f.Add([]byte("a: &a [*a]\n<<: {a: !!str b}\n? [x]\n: - - |\n  z\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		s := Site{documents: map[string]*document{}, Scoreboards: []Scoreboard{{File: "2026-01-31"}, {File: "2026-02-01"}}}
		for i, target := range []any{
			&s.Service, &s.Presence, &s.AUP, &s.Org, &s.Endpoints, &s.Problems, &s.LLMs, &s.Scoreboards[0], &s.Scoreboards[1],
		} {
			file := fmt.Sprint(i)
			if board, is := target.(*Scoreboard); is {
				file = "scoreboard/" + board.File + ".yaml"
			}
			s.document(file).decode(src, target)
		}
		quest := s.document("quest.yaml")
		quest.decode(src, &s.Quest)
		if quest.decoded {
			checkQuest(quest, &s.Quest)
		}
		checkPlaceholders(quest)
		s.checkVerifications()
		checkFaults(t, s.faults())
		_, faults := readList("f.yaml", src, jobs)
		checkFaults(t, faults.err())
	})
}

func FuzzPage(f *testing.F) {
	seeds(f, "../../content/pages/*.md")
	f.Fuzz(func(t *testing.T, src []byte) {
		s := &Site{documents: map[string]*document{}}
		page := Page{Name: "field-guide"}
		d := s.document("pages/field-guide.md")
		d.decodePage(src, &page)
		checkFaults(t, d.faults.err())
		if len(d.faults) == 0 && !bytes.HasSuffix(bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n")), page.Markdown) {
			t.Fatal("the page is not the end of its file")
		}
		s.Pages = append(s.Pages, page)
		checkFaults(t, s.CheckLinks(map[string]bool{"/": true}, nil))
	})
}

// FuzzList holds that a list which loads without a fault is rendered whole.
func FuzzList(f *testing.F) {
	f.Add(string(jobsJSON(3)))
	f.Add(strings.ReplaceAll(string(jobsJSON(2)), " ", ""))
	f.Add(`{"as_of":"2026-11-20","jobs":[]}`)
	f.Fuzz(func(t *testing.T, src string) {
		list, faults := readList("jobs.json", []byte(src), jobs)
		if len(faults) > 0 {
			checkFaults(t, faults)
			return
		}
		keepsEntries(t, []byte(src), list)
	})
}
