//go:build full

package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// TestReadme runs what README.md shows: make run, then every sh block against that server, in a
// copy of the content.
func TestReadme(t *testing.T) {
	list := blocks(string(mustRead(t, "../../README.md")), "sh")
	data := t.TempDir()
	address := makeRun(t, data)
	dir := t.TempDir()
	for _, folder := range []string{"content", "public", "build/service"} {
		if err := os.CopyFS(dir+"/"+folder, os.DirFS("../../"+folder)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(dir+"/build/snapshot.txt", mustRead(t, "../../build/snapshot.txt"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(data, dir+"/data"); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(strings.Join(list, ""), "http://127.0.0.1:8080", address)) {
		lines = append(lines, line)
	}
	for _, line := range lines {
		said := runBlocks(t, []string{line}, "ANTEROOM_DATA="+data)
		if !strings.HasPrefix(line, "curl ") {
			continue
		}
		var answer map[string]any
		if err := json.Unmarshal([]byte(said), &answer); err != nil || answer["canonical_host"] == nil || answer["errors"] != nil {
			t.Errorf("%s: %s", line, said)
		}
	}
	if len(lines) < 20 {
		t.Errorf("%d commands", len(lines))
	}
}

func makeRun(t *testing.T, data string) string {
	t.Helper()
	run := exec.Command("make", "run")
	run.Dir = "../.."
	run.Env = append(os.Environ(), "ANTEROOM_ADDR=127.0.0.1:0", "ANTEROOM_DATA="+data, "ANTEROOM_CREATE=true")
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := run.StdoutPipe()
	if err == nil {
		err = run.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-run.Process.Pid, syscall.SIGINT)
		run.Wait()
	})
	address := regexp.MustCompile(`http://127\.0\.0\.1:\d+`)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if found := address.FindString(lines.Text()); found != "" {
			go func() {
				for lines.Scan() { // read on, so that the server never blocks on a full pipe
				}
			}()
			return found
		}
	}
	t.Fatal("make run printed no address")
	return ""
}
