package content

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/generator"
	"anteroom/generator/publish"
	"anteroom/generator/tlog"
	"anteroom/generator/tlog/tlogtest"
)

// day is a day on which the content that is shipped can be generated.
var day = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

func copyContent(t *testing.T) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "content")
	if err := os.CopyFS(folder, os.DirFS("../../../../content")); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestPublishLog: a published log is only published again by a content that extends it, and stays
// as it is otherwise. The report has a line for all of its files.
func TestPublishLog(t *testing.T) {
	t.Parallel()
	key, signer := tlogtest.Key(t, tlog.Origin("www.base.example", 1))
	s, output, err := Generate(copyContent(t), day)
	if err != nil {
		t.Fatal(err)
	}
	logged := func(payload string, sizes ...int) *generator.Output {
		log := tlog.New([]string{key}, nil)
		for n, size := range sizes {
			name := fmt.Sprintf("2026-11-%02d", n+1)
			var entries []tlog.Entry
			for i := range size {
				entries = append(entries, tlog.Entry{Kind: tlog.Registration, Hash: tlog.RecordHash(fmt.Sprint(n, i), payload)})
			}
			entries = append(entries, tlog.Entry{Kind: tlog.Verification, AsOf: name, Board: tlog.BoardPath(name), BoardSHA256: tlog.RecordHash(name, "")})
			if _, _, err := log.Append(name, entries, signer); err != nil {
				t.Fatal(err)
			}
		}
		files, err := log.Files()
		if err != nil {
			t.Fatal(err)
		}
		with := *output
		with.Log, with.Documents = log, append(slices.Clone(output.Documents), files...)
		return &with
	}
	dir := t.TempDir()
	public, snapshot := filepath.Join(dir, "public"), filepath.Join(dir, "snapshot.txt")
	var said bytes.Buffer
	term := cli.New(strings.NewReader(""), &said, io.Discard)
	first := logged("", 3, 300)
	if _, err := Publish(term, public, snapshot, s, first, false, day); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(public, tlog.CheckpointPath(tlog.Folder)))
	if err != nil {
		t.Fatal(err)
	}
	for want, next := range map[string]*generator.Output{
		"a public log is published, and would vanish": output, "it lacks what was published": logged("", 3), "is forked": logged("x", 3, 300),
	} {
		if _, err := Publish(term, public, snapshot, s, next, false, day); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if now, err := os.ReadFile(filepath.Join(public, tlog.CheckpointPath(tlog.Folder))); err != nil || !bytes.Equal(now, before) {
		t.Errorf("the checkpoint was changed: %v", err)
	}
	r, err := Publish(term, public, snapshot, s, logged("", 3, 300, 5), false, day)
	if err != nil {
		t.Fatal(err)
	}
	r.Print(term, false, false)
	term.Out.Flush()
	if lines := strings.Count(said.String(), tlog.Folder+"/"); lines != 3 || !strings.Contains(said.String(), "/log/, ") {
		t.Errorf("%d lines are about the log:\n%s", lines, &said)
	}
}

// TestFolderCalledLog: without a log, the folder that is called like it is anybody's.
func TestFolderCalledLog(t *testing.T) {
	t.Parallel()
	s, output, err := Generate(copyContent(t), day)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	own := filepath.Join(dir, "public", "log", "diary.txt")
	if err := errors.Join(os.MkdirAll(filepath.Dir(own), 0o777), os.WriteFile(own, []byte("dear diary"), 0o666)); err != nil {
		t.Fatal(err)
	}
	term := cli.New(strings.NewReader(""), io.Discard, io.Discard)
	r, err := Publish(term, filepath.Join(dir, "public"), filepath.Join(dir, "snapshot.txt"), s, output, false, day)
	if err != nil || r.Counts[publish.Kept] != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := os.Stat(own); err != nil {
		t.Error(err)
	}
}

// TestRefuseSeed: a secret key is found in any document, and is not repeated.
func TestRefuseSeed(t *testing.T) {
	t.Parallel()
	key := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	seed := base64.StdEncoding.EncodeToString(key.Seed())
	files := []generator.File{{Path: "/a", Bytes: []byte("a")}, {Path: "/b", Bytes: []byte("x" + seed + "y")}}
	if err := RefuseSeed(files, key); err == nil || !strings.HasPrefix(err.Error(), "/b holds the secret receipt key") || strings.Contains(err.Error(), seed) {
		t.Error(err)
	}
	if err := errors.Join(RefuseSeed(files, nil), RefuseSeed(files[:1], key)); err != nil {
		t.Error(err)
	}
}

// TestExpiry: a security.txt is not used from the moment on when it expires. Warnings come before.
func TestExpiry(t *testing.T) {
	t.Parallel()
	for left, want := range map[time.Duration]string{
		0: "true security.txt expired at 2026-11-21T00:00:00Z (", -time.Hour: "true security.txt expired", time.Second: "false security.txt expires at", 40 * 24 * time.Hour: "false ",
	} {
		expired, notice := Expiry(day, day.Add(-left))
		if got := fmt.Sprint(expired, " ", notice); !strings.HasPrefix(got, want) || left > 30*24*time.Hour && got != want {
			t.Errorf("%v before: %s", left, got)
		}
	}
}

// TestLoad: a folder that does not exist, an unfinished verification and a day in the future are
// refused.
func TestLoad(t *testing.T) {
	t.Parallel()
	folder := copyContent(t)
	if _, err := Load(folder, day); err != nil {
		t.Error(err)
	}
	faults := cli.ContentError{}
	if _, err := Load(folder, day.AddDate(0, 0, -5)); !errors.As(err, &faults) || !strings.HasPrefix(FaultLine(err), folder+"/scoreboard/2026-11-20.yaml:") {
		t.Errorf("before its board: %v", err)
	}
	if _, err := Load(folder+"/nowhere", day); err == nil || !strings.Contains(err.Error(), "there is no content folder") {
		t.Error(err)
	}
	before := fingerprint(folder)
	if err := errors.Join(os.Mkdir(filepath.Join(folder, ".verification"), 0o700), os.WriteFile(filepath.Join(folder, "aup.yaml~"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(folder, day); err == nil || !strings.Contains(err.Error(), "(run anteroom verify to finish it)") {
		t.Error(err)
	}
	if fingerprint(folder) != before {
		t.Error("copies of editors and hidden folders change the fingerprint")
	}
	if err := os.WriteFile(filepath.Join(folder, "aup.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if fingerprint(folder) == before {
		t.Error("a change does not change the fingerprint")
	}
}
