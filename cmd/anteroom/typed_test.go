package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"
)

// typed KEYS PROGRAM ARGUMENT… runs a program at a terminal of its own and prints what it shows.
// KEYS are typed part by part, with "|" between them, each once the terminal shows a prompt. In
// KEYS \n is Enter, and \c an interrupt.
func typedKeys(ts *testscript.TestScript, neg bool, args []string) {
	terminal, inside, err := pty.Open()
	ts.Check(err)
	defer terminal.Close()
	program := args[1]
	for _, folder := range filepath.SplitList(ts.Getenv("PATH")) {
		if _, err := os.Stat(filepath.Join(folder, program)); err == nil {
			program = filepath.Join(folder, program)
			break
		}
	}
	// The kernel throws away what a terminal has not shown yet once the leader of its session ends. So
	// the leader is a shell that ends only when the mark after all output was read.
	const mark = "\x00"
	ended, end, err := os.Pipe()
	ts.Check(err)
	leader := `trap : INT; "$@"; code=$?; printf '\000'; read line <&3; exit $code`
	command := exec.Command("sh", append([]string{"-c", leader, "sh", program}, args[2:]...)...)
	command.ExtraFiles = []*os.File{ended}
	command.Dir = ts.MkAbs(".")
	for _, variable := range []string{"PATH", "HOME", "EDITOR", "NO_COLOR", "PORT", "ANTEROOM_NO_LIVE", "SOURCE_DATE_EPOCH", "WORK"} {
		command.Env = append(command.Env, variable+"="+ts.Getenv(variable))
	}
	command.Env = append(command.Env, "PS1=$ ")
	command.Stdin, command.Stdout, command.Stderr = inside, inside, inside
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	ts.Check(command.Start())
	inside.Close()
	ended.Close()
	defer end.Close()
	guard := time.AfterFunc(20*time.Second, func() { command.Process.Kill() })
	defer guard.Stop()
	keys := strings.Split(strings.NewReplacer(`\n`, "\n", `\c`, "\x03").Replace(args[0]), "|")
	var shown bytes.Buffer
	part := make([]byte, 4096)
	for asked := 0; ; {
		n, err := terminal.Read(part)
		shown.Write(part[:n])
		if err != nil || bytes.HasSuffix(shown.Bytes(), []byte(mark)) {
			break // the program has ended
		}
		text := bytes.TrimRight(shown.Bytes()[asked:], "\r\n")
		if len(keys) > 0 && keys[0] != "" && (bytes.HasSuffix(text, []byte(": ")) || bytes.HasSuffix(text, []byte("$ "))) {
			asked = shown.Len()
			terminal.WriteString(keys[0])
			keys = keys[1:]
		}
	}
	end.Close()
	err = command.Wait()
	shown.Truncate(len(bytes.TrimSuffix(shown.Bytes(), []byte(mark))))
	ts.Stdout().Write(bytes.ReplaceAll(shown.Bytes(), []byte("\r\n"), []byte("\n")))
	if (err != nil) != neg {
		ts.Fatalf("it ended with %v and shows\n%s", err, &shown)
	}
}
