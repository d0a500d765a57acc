//go:build !windows

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"anteroom/generator/site"
)

// TestReadme runs what the README shows: make run, then every line of its sh blocks against that
// server and in a copy of the content.
func TestReadme(t *testing.T) {
	for _, tool := range []string{"make", "curl", "bash"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%s is not installed: the README's commands need it", tool)
		}
	}
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "content"), os.DirFS("../../content")); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "bin", "anteroom"), ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	data := t.TempDir()
	address := makeRun(t, data)
	blocks := regexp.MustCompile("(?ms)^( *)```sh\n(.*?)^ *```$").FindAllStringSubmatch(string(text), -1)
	commands := 0
	for _, block := range blocks {
		for line := range strings.Lines(block[2]) {
			line = strings.TrimSpace(line)
			commands++
			command := exec.Command("bash", "-euc", strings.ReplaceAll(line, "http://127.0.0.1:8080", address))
			command.Dir = dir
			command.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"), "ANTEROOM_DATA="+data)
			out, err := command.Output()
			if err != nil {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
			if !strings.HasPrefix(line, "curl ") {
				continue
			}
			var answer map[string]any
			if err := json.Unmarshal(out, &answer); err != nil || answer["canonical_host"] == nil || answer["errors"] != nil {
				t.Errorf("%s: %s", line, out)
			}
		}
	}
	if commands < 8 {
		t.Errorf("the README has %d commands that could be run: is a fence mistyped?", commands)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range regexp.MustCompile(`(?m)^    make ([a-z]+)`).FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(string(makefile), "\n"+command[1]+":") {
			t.Errorf("make %s is no target", command[1])
		}
	}
}

// SECURITY.md names an address of those that the content publishes.
func TestSecurity(t *testing.T) {
	text, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	s, err := site.Load(os.DirFS("../../content"))
	if err != nil {
		t.Fatal(err)
	}
	address := regexp.MustCompile(`\S+@[a-z.]+[a-z]`).FindString(string(text))
	if !slices.Contains(s.Service.Security.Contacts, "mailto:"+address) {
		t.Errorf("SECURITY.md says to write to %q; the content has %q", address, s.Service.Security.Contacts)
	}
}

// makeRun starts make run on a free port and with a database of its own, and gives the address that
// make run prints.
func makeRun(t *testing.T, data string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	run := exec.CommandContext(ctx, "make", "run")
	run.Dir = "../.."
	run.Env = append(os.Environ(), "ANTEROOM_ADDR=127.0.0.1:0", "ANTEROOM_DATA="+data, "ANTEROOM_CREATE=true")
	run.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-run.Process.Pid, syscall.SIGINT)
		run.Wait()
		cancel()
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
