package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
)

// commit is the time of the release, an odd second: zip by itself keeps even ones.
const commit = 1795219201

// A release has an archive for each system, sorted and of one time and owner, a bill of materials,
// and sums that fit. Made again of files of another time and mode it is the same.
func TestRelease(t *testing.T) {
	var outs []map[string][]byte
	for _, mode := range []os.FileMode{0o600, 0o777} {
		stage, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
		files := map[string]string{"common/LICENSE": "licence", "common/man/man1/anteroom.1": "page", "common/README.md": "read"}
		for name, text := range files {
			write(t, filepath.Join(stage, name), []byte(text), mode)
		}
		write(t, filepath.Join(stage, "modules"), modules(t), mode)
		write(t, filepath.Join(stage, "programs/linux_amd64/anteroom"), testProgram(t), mode)
		write(t, filepath.Join(stage, "programs/windows_arm64/anteroom.exe"), testProgram(t), mode)
		if err := run(stage, out, "v1.2.3+dirty", fmt.Sprint(commit)); err != nil {
			t.Fatal(err)
		}
		outs = append(outs, readAll(t, out))
	}
	for name, data := range outs[0] {
		if !bytes.Equal(data, outs[1][name]) {
			t.Errorf("%s differs when it is made again", name)
		}
	}
	made := outs[0]
	want := map[string]string{"LICENSES.txt": "-rw-r--r--", "LICENSE": "-rw-r--r--", "README.md": "-rw-r--r--", "anteroom": "-rwxr-xr-x", "man/man1/anteroom.1": "-rw-r--r--"}
	checkArchive(t, "anteroom_v1.2.3+dirty_linux_amd64", tarEntries(t, made["anteroom_v1.2.3+dirty_linux_amd64.tar.gz"]), want)
	page, err := os.ReadFile("../../OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	installed := regexp.MustCompile(`(?m)^sudo install -m 0755 (\S+) `).FindAllStringSubmatch(string(page), -1)
	for _, command := range installed {
		if fits, err := path.Match(command[1], "anteroom_v1.2.3+dirty_linux_amd64/anteroom"); !fits || err != nil {
			t.Errorf("OPERATIONS.md installs %s, which the archive does not hold", command[1])
		}
	}
	if len(installed) == 0 {
		t.Error("OPERATIONS.md installs nothing")
	}
	want["anteroom.exe"] = want["anteroom"]
	delete(want, "anteroom")
	checkArchive(t, "anteroom_v1.2.3+dirty_windows_arm64", zipEntries(t, made["anteroom_v1.2.3+dirty_windows_arm64.zip"]), want)

	sums := 0
	for line := range strings.Lines(string(made["SHA256SUMS"])) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if got := sha256.Sum256(made[name]); hex.EncodeToString(got[:]) != sum {
			t.Errorf("%s has the sum %x, want %s", name, got, sum)
		}
		sums++
	}
	if sums != 4 || len(made) != 5 {
		t.Errorf("%d sums, %d files", sums, len(made))
	}
}

// Every archive has the licences of what is in its program. What has none stops the release.
func TestLicences(t *testing.T) {
	info := &buildinfo.BuildInfo{GoVersion: "go1", Deps: []*debug.Module{{Path: "a", Version: "v1"}, {Path: "b", Version: "v2"}}}
	folders := map[string]string{standardLibrary: t.TempDir(), "a": t.TempDir(), "b": t.TempDir()}
	write(t, filepath.Join(folders[standardLibrary], "LICENSE"), []byte("Go's\n"), 0o600)
	write(t, filepath.Join(folders["a"], "COPYING.txt"), []byte("\nA's"), 0o600)
	write(t, filepath.Join(folders["a"], "NOTICE"), []byte("by A"), 0o600)
	write(t, filepath.Join(folders["a"], "licenses.go"), []byte("package a"), 0o600)
	if _, err := licences(info, folders); err == nil || !strings.Contains(err.Error(), "b has no licence in ") {
		t.Errorf("error %v", err)
	}
	write(t, filepath.Join(folders["b"], "License-MIT"), []byte("B's"), 0o600)
	info.Deps = append(info.Deps, &debug.Module{Path: "c", Version: "v3"})
	folders["c"] = t.TempDir()
	write(t, filepath.Join(folders["c"], "README.md"), []byte("MIT"), 0o600)
	write(t, filepath.Join(folders["b"], "README.md"), []byte("words"), 0o600)
	text, err := licences(info, folders)
	const want = "==== std go1: LICENSE ====\n\nGo's\n\n==== a v1: COPYING.txt ====\n\nA's\n\n==== a v1: NOTICE ====\n\nby A\n\n==== b v2: License-MIT ====\n\nB's\n\n==== c v3: README.md ====\n\nMIT\n\n"
	if err != nil || string(text) != want {
		t.Errorf("%v: %s", err, text)
	}
}

// A bill names the program, every module in it with its hash, and Go's own library.
func TestBill(t *testing.T) {
	stage, out := t.TempDir(), t.TempDir()
	write(t, filepath.Join(stage, "common/LICENSE"), nil, 0o600)
	write(t, filepath.Join(stage, "modules"), modules(t), 0o600)
	write(t, filepath.Join(stage, "programs/linux_amd64/anteroom"), testProgram(t), 0o700)
	if err := run(stage, out, "v1.2.3", fmt.Sprint(commit)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(out, "anteroom_v1.2.3_linux_amd64.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var bom struct {
		SpecVersion, SerialNumber string
		Metadata                  struct {
			Timestamp string
			Component struct{ Name, Version, PURL string }
		}
		Components []struct {
			Name, Version, PURL string
			Hashes              []struct{ Alg, Content string }
		}
		Dependencies []struct{ DependsOn []string }
	}
	if err := json.Unmarshal(text, &bom); err != nil {
		t.Fatal(err)
	}
	if bom.SpecVersion != "1.6" || bom.SerialNumber != "" || bom.Metadata.Timestamp != time.Unix(commit, 0).UTC().Format(time.RFC3339) {
		t.Errorf("%.300s", text)
	}
	if self := bom.Metadata.Component; self.Name != "anteroom" || self.Version != "v1.2.3" || self.PURL != "pkg:golang/anteroom@v1.2.3" {
		t.Errorf("the program is %+v", self)
	}
	listed, err := exec.Command("go", "version", "-m", filepath.Join(stage, "programs/linux_amd64/anteroom")).Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := strings.Count(string(listed), "\n\tdep\t")
	if modules == 0 || len(bom.Components) != modules+1 || len(bom.Dependencies[0].DependsOn) != modules+1 {
		t.Errorf("%d components for %d modules", len(bom.Components), modules)
	}
	for _, c := range bom.Components {
		hashed := len(c.Hashes) == 1 && c.Hashes[0].Alg == "SHA-256" && len(c.Hashes[0].Content) == 2*sha256.Size
		if c.Name != "std" && (!hashed || c.PURL != "pkg:golang/"+c.Name+"@"+c.Version) {
			t.Errorf("component %+v", c)
		}
	}
}

// What is no program stops a release.
func TestNoProgram(t *testing.T) {
	stage, out := t.TempDir(), t.TempDir()
	write(t, filepath.Join(stage, "common/LICENSE"), nil, 0o600)
	write(t, filepath.Join(stage, "modules"), nil, 0o600)
	write(t, filepath.Join(stage, "programs/linux_amd64/anteroom"), []byte("#!/bin/sh\n"), 0o700)
	if err := run(stage, out, "v1", "0"); err == nil || !strings.Contains(err.Error(), "read anteroom: ") {
		t.Errorf("error %v", err)
	}
	if err := run(stage, out, "v1", "now"); err == nil || !strings.Contains(err.Error(), `TIME "now"`) {
		t.Errorf("error %v", err)
	}
	if made, _ := os.ReadDir(out); len(made) > 0 {
		t.Errorf("made all the same: %v", made)
	}
}

func checkArchive(t *testing.T, folder string, got []entry, want map[string]string) {
	t.Helper()
	if !slices.IsSortedFunc(got, func(a, b entry) int { return strings.Compare(a.name, b.name) }) || len(got) != len(want) {
		t.Errorf("%s holds %v", folder, got)
	}
	for _, e := range got {
		name, inside := strings.CutPrefix(e.name, folder+"/")
		if mode := want[name]; !inside || e.mode != mode || e.owner != 0 || e.at.Unix() != commit {
			t.Errorf("%s: %+v, want mode %s", folder, e, mode)
		}
		if e.size == 0 {
			t.Errorf("%s: %s is empty", folder, e.name)
		}
	}
}

// entry is a file of an archive.
type entry struct {
	name, mode string
	owner      int
	at         time.Time
	size       int
}

func tarEntries(t *testing.T, archive []byte) (entries []entry) {
	t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	if !zipped.ModTime.IsZero() || zipped.Name != "" {
		t.Errorf("gzip says %+v", zipped.Header)
	}
	for r := tar.NewReader(zipped); ; {
		header, err := r.Next()
		if err == io.EOF {
			return entries
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		owner := header.Uid + header.Gid + len(header.Uname) + len(header.Gname)
		entries = append(entries, entry{header.Name, header.FileInfo().Mode().String(), owner, header.ModTime, len(text)})
	}
}

func zipEntries(t *testing.T, archive []byte) (entries []entry) {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.File {
		open, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(open)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, entry{f.Name, f.Mode().String(), 0, f.Modified, len(text)})
	}
	return entries
}

// testProgram is a program that is made of modules: this test.
func testProgram(t *testing.T) []byte {
	t.Helper()
	file, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// modules lists the folder of Go and those of all modules.
func modules(t *testing.T) []byte {
	t.Helper()
	list, err := exec.Command("go", "list", "-m", "-f", "{{.Path}} {{.Dir}}", "all").Output()
	if err != nil {
		t.Fatal(err)
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	return append(list, "std "+string(goroot)...)
}

func write(t *testing.T, name string, data []byte, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, mode); err != nil {
		t.Fatal(err)
	}
}

func readAll(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, entry := range entries {
		if files[entry.Name()], err = os.ReadFile(filepath.Join(folder, entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return files
}
