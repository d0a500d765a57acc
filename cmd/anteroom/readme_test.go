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
// copy of the content. The public log of OPERATIONS.md follows, as it needs that server too.
func TestReadme(t *testing.T) {
	list := blocks(string(mustRead(t, "../../README.md")), "sh")
	log, _ := section(t, string(mustRead(t, "../../OPERATIONS.md")), "Keep a public log")
	list = append(list, blocks(log, "sh")...)
	data := t.TempDir()
	check(t, os.Chmod(data, 0o700))
	address := makeRun(t, data)
	dir := t.TempDir()
	for _, folder := range []string{"content", "public", "build/service"} {
		check(t, os.CopyFS(dir+"/"+folder, os.DirFS("../../"+folder)))
	}
	check(t, os.WriteFile(dir+"/build/snapshot.txt", mustRead(t, "../../build/snapshot.txt"), 0o600))
	check(t, os.Symlink(data, dir+"/data"))
	t.Chdir(dir)
	commands, said := 0, ""
	for line := range strings.Lines(strings.ReplaceAll(strings.Join(list, ""), "http://127.0.0.1:8080", address)) {
		if shown, is := strings.CutPrefix(line, "# "); is {
			shows(t, said, strings.TrimSpace(shown))
			continue
		}
		commands++
		said = runBlocks(t, []string{line}, "ANTEROOM_DATA="+data)
		if !strings.HasPrefix(line, "curl ") {
			continue
		}
		var answer map[string]any
		if err := json.Unmarshal([]byte(said), &answer); err != nil || answer["canonical_host"] == nil || answer["errors"] != nil {
			t.Errorf("%s: %s", line, said)
		}
	}
	if commands < 20 {
		t.Errorf("%d commands", commands)
	}
}

// shows fails if an answer does not have what the page shows of it, in that order.
func shows(t *testing.T, answer, shown string) {
	t.Helper()
	for piece := range strings.SplitSeq(strings.TrimSuffix(shown, " ..."), " ... ") {
		_, after, found := strings.Cut(answer, piece)
		if !found {
			t.Errorf("the page shows %s, and the rest of the answer is %s", piece, answer)
			return
		}
		answer = after
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
	check(t, err)
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
