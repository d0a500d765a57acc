package live

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"anteroom/generator"
	"anteroom/generator/tlog"
	"anteroom/generator/tlog/tlogtest"

	"golang.org/x/mod/sumdb/note"
)

// logs makes logs under one key, with so many registrations in each stage. The payload tells
// forks apart.
type logs struct {
	t      *testing.T
	key    string
	signer note.Signer
}

func newLogs(t *testing.T) *logs {
	t.Helper()
	key, signer := tlogtest.Key(t, tlog.Origin("www.base.example", 1))
	return &logs{t, key, signer}
}

func (l *logs) log(payload string, sizes ...int) *tlog.Log {
	l.t.Helper()
	log := tlog.New([]string{l.key}, nil)
	for day, n := range sizes {
		name := fmt.Sprintf("2026-11-%02d", day+1)
		var entries []tlog.Entry
		for i := range n {
			entries = append(entries, tlog.Entry{Kind: tlog.Registration, Hash: tlog.RecordHash(fmt.Sprint(day, i), payload)})
		}
		entries = append(entries, tlog.Entry{Kind: tlog.Verification, AsOf: name, Board: "/scoreboard/" + name + ".json", BoardSHA256: tlog.RecordHash(name, "")})
		if _, _, err := log.Append(name, entries, l.signer); err != nil {
			l.t.Fatal(err)
		}
	}
	return log
}

// withLog is a content with a log.
func withLog(t *testing.T, output *generator.Output, log *tlog.Log) *generator.Output {
	t.Helper()
	files, err := log.Files()
	if err != nil {
		t.Fatal(err)
	}
	with := *output
	with.Log, with.Documents = log, slices.Clone(output.Documents)
	for _, f := range files {
		with.Documents = append(with.Documents, generator.File{Path: f.Path, MediaType: "x/log", Cache: "no-store", Bytes: f.Bytes, Make: f.Make})
	}
	return &with
}

// Of a log the newest documents are asked for and a few others, which are others with each content.
func TestLogIsSampled(t *testing.T) {
	output := withLog(t, content(t, nil), newLogs(t).log("", 300, 300))
	h := host(t, output, key)
	look := func(output *generator.Output, with tamper) (r *Report, asked map[string]bool) {
		var mutex sync.Mutex
		asked = map[string]bool{}
		s := serve(t, h, func(w http.ResponseWriter, r *http.Request, honest http.Handler) bool {
			mutex.Lock()
			if tlog.Published(r.URL.Path) {
				asked[r.URL.Path] = true
			}
			mutex.Unlock()
			return with != nil && with(w, r, honest)
		})
		r, err := s.Inspect(t.Context(), output, quick)
		if err != nil {
			t.Fatal(err)
		}
		return r, asked
	}
	check := func(r *Report, name string) Check {
		return r.Checks[slices.IndexFunc(r.Checks, func(c Check) bool { return c.Name == name })]
	}
	newest := append(output.Log.Edge(), tlog.KeysPath, tlog.PolicyPath(tlog.Folder), tlog.CheckpointPath(tlog.Folder))
	r, asked := look(output, nil)
	for _, p := range newest {
		if !asked[p] {
			t.Errorf("%s is not asked for", p)
		}
	}
	if len(asked) != len(newest)+logSample || !r.OK || !strings.Contains(check(r, CheckDocuments).Detail, "of the log ") {
		t.Errorf("%d documents are asked for: %v\n%+v", len(asked), asked, r)
	}
	changed := newest[0]
	r, _ = look(output, answered(changed, 200, "something else"))
	if c := check(r, CheckDocuments); c.Status != Differs || len(c.Differences) != 1 || c.Differences[0].Path != changed {
		t.Errorf("%s was changed: %+v", changed, c)
	}
	other := *output
	snapshot := *output.Snapshot
	snapshot.Version = strings.Repeat("0", len(snapshot.Version))
	other.Snapshot = &snapshot
	if slices.Equal(sorted(sample(output)), sorted(sample(&other))) {
		t.Error("the sample is the same with another content")
	}
}

func sorted(set map[string]bool) (list []string) {
	for p := range set {
		list = append(list, p)
	}
	slices.Sort(list)
	return list
}
