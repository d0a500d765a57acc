package continuity_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"anteroom/cmd/anteroom/internal/continuity"
	"anteroom/edge/assets"
	"anteroom/generator/model"
	"anteroom/generator/tlog"
	"anteroom/generator/tlog/tlogtest"

	"golang.org/x/mod/sumdb/note"
)

// logFiles are the files of a log that has so many registrations in each stage. The payload tells
// forks apart.
func logFiles(t *testing.T, key string, signer note.Signer, payload string, sizes ...int) []assets.File {
	t.Helper()
	log := tlog.New(key, nil)
	for day, n := range sizes {
		name := fmt.Sprintf("2026-11-%02d", day+1)
		var entries []tlog.Entry
		for i := range n {
			entries = append(entries, tlog.Entry{Kind: tlog.Registration, Hash: tlog.RecordHash(fmt.Sprint(day, i), payload)})
		}
		entries = append(entries, tlog.Entry{Kind: tlog.Verification, AsOf: name, Board: tlog.BoardPath(name), BoardSHA256: tlog.RecordHash(name, "")})
		if _, _, err := log.Append(name, entries, signer); err != nil {
			t.Fatal(err)
		}
	}
	files, err := log.Files()
	check(t, err)
	return files
}

func check(t testing.TB, faults ...error) {
	t.Helper()
	for _, err := range faults {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestCheck: each thing that is withdrawn is found, by its kind and its path, and nothing else is.
func TestCheck(t *testing.T) {
	t.Parallel()
	key, signer := tlogtest.Key(t, tlog.Origin("www.base.example", ""))
	otherKey, otherSigner := tlogtest.Key(t, tlog.Origin("www.base.example", ""))
	withLog := func(files []assets.File) func(*continuity.Facts) {
		return func(f *continuity.Facts) {
			facts, err := continuity.FromFiles(files, nil)
			check(t, err)
			f.LogKey, f.Checkpoints = facts.LogKey, facts.Checkpoints
		}
	}
	published := continuity.Facts{
		AsOf: "2026-11-20", Keys: []string{"current", "retired"},
		Revoked:   []string{"retired"},
		Policy:    continuity.Rules{Version: "0.2", Prohibited: []model.Prohibited{{Code: "illegal", Rule: "No crime."}}},
		Documents: map[string]string{"/scoreboard/2026-11-20.json": "1", "/scoreboard.json": "2", "/scoreboard.html": "3"},
	}
	withLog(logFiles(t, key, signer, "", 3, 400))(&published)
	for name, c := range map[string]struct {
		change func(*continuity.Facts)
		want   string // kinds, paths and what is said, as a pattern
	}{
		"the same":          {func(*continuity.Facts) {}, `^$`},
		"first publication": {func(f *continuity.Facts) { *f = continuity.Facts{} }, `^as_of .*\nboard .*\ndocument .*\ndocument .*\nkey .*\nkey .*\nlog /log/vkey .*$`},
		"more":              {func(f *continuity.Facts) { f.AsOf, f.Documents["/more"] = "2026-12-01", "4" }, `^$`},
		"other words":       {func(f *continuity.Facts) { f.Documents["/scoreboard.html"] = "9" }, `^$`},
		"older":             {func(f *continuity.Facts) { f.AsOf = "2026-11-19" }, `^as_of /scoreboard.json .* is dated 2026-11-20, and would be dated "2026-11-19"`},
		"board gone":        {func(f *continuity.Facts) { delete(f.Documents, "/scoreboard/2026-11-20.json") }, `^board /scoreboard/2026-11-20.json .*vanish \(bring back scoreboard/2026-11-20.yaml and `},
		"board changed":     {func(f *continuity.Facts) { f.Documents["/scoreboard/2026-11-20.json"] = "9" }, `^board /scoreboard/2026-11-20.json .*change`},
		"document gone":     {func(f *continuity.Facts) { delete(f.Documents, "/scoreboard.html") }, `^document /scoreboard.html `},
		"key retired":       {func(f *continuity.Facts) { f.Keys = []string{"new", "current", "retired"} }, `^$`},
		"key gone":          {func(f *continuity.Facts) { f.Keys = []string{"current"} }, `^key /manifest.json .*key retired is published`},
		"key trusted again": {func(f *continuity.Facts) { f.Revoked = nil }, `^key /manifest.json .*key retired is revoked, and would not be`},
		"other policy": {func(f *continuity.Facts) {
			f.Policy = continuity.Rules{Version: "0.3", Policy: "All.", Prohibited: []model.Prohibited{{Code: "illegal"}}}
		}, `^$`},
		"other rules": {func(f *continuity.Facts) { f.Policy.Prohibited = []model.Prohibited{{Code: "illegal"}} }, `^policy /api/aup the policy 0.2 is published with other rules \(set the next version in aup.yaml\)$`},
		"log grown":   {withLog(logFiles(t, key, signer, "", 3, 400, 5)), `^$`},
		"log gone":    {withLog(nil), `^log /log/vkey .*vanish`},
		"newest lost": {func(f *continuity.Facts) { delete(f.Checkpoints, "/log/checkpoint") }, `^$`},
		"log forked":  {withLog(logFiles(t, key, signer, "x", 3, 400, 7)), `^log /log/checkpoint .*forked: .*405 entries.*\n(?s:.*\n.*— .*— )`},
		"another key": {withLog(logFiles(t, otherKey, otherSigner, "", 3, 400)), `^log /log/checkpoint .*not signed by the key of the log`},
	} {
		next := published
		next.Documents, next.Checkpoints = maps.Clone(published.Documents), maps.Clone(published.Checkpoints)
		c.change(&next)
		found := continuity.Check(published, next)
		var lines []string
		for _, r := range found {
			lines = append(lines, fmt.Sprint(r.Kind, " ", r.Path, " ", r))
		}
		if got := strings.Join(lines, "\n"); !regexp.MustCompile(c.want).MatchString(got) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if fresh := continuity.Check(continuity.Facts{}, next); len(fresh) > 0 {
			t.Errorf("%s: of nothing that is published: %v", name, fresh)
		}
		var allowed []string
		for _, r := range found {
			allowed = append(allowed, r.Kind)
		}
		if err := continuity.Refuse(found); (err == nil) != (len(found) == 0) {
			t.Errorf("%s: %v", name, err)
		}
		if err := continuity.Refuse(found, allowed...); err != nil {
			t.Errorf("%s is allowed: %v", name, err)
		}
		if one := (continuity.Regression{}); len(found) > 0 && (!errors.As(continuity.Refuse(found[:1]), &one) || one != found[0]) {
			t.Errorf("%s: %+v", name, one)
		}
	}
}

// TestFromFolder: the facts of a folder are those of the files in it, and its boards are among
// them whatever its manifest lists: a run of generate that was killed may have left one.
func TestFromFolder(t *testing.T) {
	t.Parallel()
	key, signer := tlogtest.Key(t, tlog.Origin("www.base.example", ""))
	const board = "/scoreboard/2026-11-20.json"
	sum := assets.SumOf([]byte("{}"))
	const unlisted = "/scoreboard/2026-11-21.json"
	files := append(logFiles(t, key, signer, "", 2, 3), assets.File{Path: board, Bytes: []byte("{}")},
		assets.File{Path: unlisted, Bytes: []byte("{}")}, assets.File{Path: "/manifest.json", Bytes: []byte(`{"receipt_key":"k","documents":[{"path":"` + board + `","sha256":"` + sum + `"}]}`)})
	dir := t.TempDir()
	for i := range files {
		name := filepath.Join(dir, files[i].Path)
		check(t, os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, files[i].Bytes, 0o600))
	}
	want, err := continuity.FromFiles(files, nil)
	check(t, err)
	want.Documents[unlisted] = sum
	got, err := continuity.FromFolder(dir, filepath.Join(dir, "snapshot.txt"))
	if err != nil || len(want.Checkpoints) != 3 || want.LogKey != key || !slices.Equal(want.Keys, []string{"k"}) {
		t.Fatalf("%+v, %v", want, err)
	}
	if !maps.Equal(got.Documents, want.Documents) || len(continuity.Check(want, got))+len(continuity.Check(got, want)) > 0 {
		t.Errorf("%+v, want %+v", got, want)
	}
	check(t, os.Remove(filepath.Join(dir, "manifest.json")))
	if got, err = continuity.FromFolder(dir, ""); err != nil || !maps.Equal(got.Documents, want.Documents) {
		t.Errorf("without a manifest: %+v, %v", got, err)
	}
	// Without its newest checkpoint a log is still known by those of its verifications.
	check(t, os.Remove(filepath.Join(dir, "log", "checkpoint")))
	got, err = continuity.FromFolder(dir, "")
	shorter, wrong := continuity.FromFiles(logFiles(t, key, signer, "", 2), nil)
	if found := continuity.Check(got, shorter); err != nil || wrong != nil || !strings.Contains(fmt.Sprint(found), "published entries are missing") {
		t.Errorf("%v, %v, %v", found, err, wrong)
	}
	check(t, os.WriteFile(filepath.Join(dir, "log", "vkey"), []byte("x"), 0o600))
	if _, err := continuity.FromFolder(dir, ""); err == nil || !strings.HasPrefix(err.Error(), "/log/vkey: ") {
		t.Errorf("a key that is damaged: %v", err)
	}
	check(t, os.Mkdir(filepath.Join(dir, "manifest.json"), 0o700))
	if _, err := continuity.FromFolder(dir, ""); err == nil || !strings.HasPrefix(err.Error(), "look for published files: ") {
		t.Errorf("a manifest that cannot be read: %v", err)
	}
}
