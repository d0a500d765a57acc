package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

const now = "1795219200"

func TestMain(m *testing.M) {
	if _, set := os.LookupEnv("ANTEROOM_NO_LIVE"); !set { // a script sets it to "" to have the service asked
		os.Setenv("ANTEROOM_NO_LIVE", "true")
	}
	isRoot = os.Getenv("AS_ROOT") != "" // the tests of git run as any user
	if wait, err := time.ParseDuration(os.Getenv("RELOADING")); err == nil {
		reloading = wait
	}
	testscript.Main(m, map[string]func(){
		"anteroom": anteroom, "clock": clock, "edit": edit, "mode": mode, "post": post, "sha256": sha256Sum,
	})
}

// farAway is the zone of scripts, where most hours are of another day than in UTC.
var farAway = time.FixedZone("far away", -12*60*60)

func anteroom() {
	time.Local = farAway
	main()
}

// clock TIME ARGUMENT… is the program on a machine whose clock stands at a time.
func clock() {
	time.Local = farAway
	at, err := time.Parse(time.RFC3339, os.Args[1])
	if err != nil {
		panic(err)
	}
	os.Exit(runAt(func() time.Time { return at.Local() }, os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
}

// The programs below do for scripts what the programs of one system do in a way of their own.

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// edit FILE EXPRESSION TEXT replaces the first match of an expression, which must be there. \n in
// the text is a new line.
func edit() {
	text, err := os.ReadFile(os.Args[1])
	must(err)
	expression := regexp.MustCompile("(?m)" + os.Args[2])
	at := expression.FindSubmatchIndex(text)
	template := strings.ReplaceAll(os.Args[3], `\n`, "\n")
	edited := slices.Concat(text[:at[0]], expression.ExpandString(nil, template, string(text), at), text[at[1]:])
	must(os.WriteFile(os.Args[1], edited, 0o600))
}

// mode FILE… prints the modes of files.
func mode() {
	for _, file := range os.Args[1:] {
		info, err := os.Stat(file)
		must(err)
		fmt.Printf("%o\n", info.Mode().Perm())
	}
}

// post FILE URL sends a file as JSON. It fails if the answer is no 200.
func post() {
	body, err := os.Open(os.Args[1])
	must(err)
	answer, err := http.Post(os.Args[2], "application/json", body)
	must(err)
	if answer.StatusCode != http.StatusOK {
		os.Exit(1)
	}
}

// sha256Sum FILE… prints hashes as a snapshot has them.
func sha256Sum() {
	for _, file := range os.Args[1:] {
		text, err := os.ReadFile(file)
		must(err)
		fmt.Printf("%x  %s\n", sha256.Sum256(text), file)
	}
}

// TestScripts runs the scripts of testdata against the program itself. Each script runs in a folder
// that holds a copy of the project's content.
func TestScripts(t *testing.T) {
	content, err := filepath.Abs("../../content")
	if err != nil {
		t.Fatal(err)
	}
	params := scripts()
	params.Dir = "testdata"
	params.Setup = func(env *testscript.Env) error {
		env.Setenv("SOURCE_DATE_EPOCH", now)
		env.Setenv("ANTEROOM_NO_LIVE", "true")
		return os.CopyFS(filepath.Join(env.WorkDir, "content"), os.DirFS(content))
	}
	testscript.Run(t, params)
}

func scripts() testscript.Params {
	return testscript.Params{
		Condition: func(name string) (bool, error) {
			if name == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %s", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    exits,
			"freeport": freePort,
			"waitfor":  waitFor,
			"http":     request,
			"replace":  replace,
			"verify":   verifyBody,
			"sql":      sqlCommand,
			"locked":   lockedContent,
			"typed":    typedKeys,
			"logged":   loggedContent,
			"files":    fileServer,
			"witness":  witnessServer,
		},
	}
}

// exits CODE PROGRAM ARGUMENT… runs a program that must end with this code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	code := 0
	err := ts.Exec(args[1], args[2:]...)
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		code = ended.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// freePort VARIABLE sets a variable to a TCP port that nobody listens at.
func freePort(ts *testscript.TestScript, neg bool, args []string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv(args[0], strconv.Itoa(listener.Addr().(*net.TCPAddr).Port))
	ts.Check(listener.Close())
}

// waitFor waits for an answer if its argument is a URL, else for a file. With a second argument,
// the answer or the file must hold that text.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	for end := time.Now().Add(60 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var text []byte
		var err error
		if strings.HasPrefix(args[0], "http://") {
			var answer *http.Response
			if answer, err = http.Get(args[0]); err == nil {
				text, err = io.ReadAll(answer.Body)
				answer.Body.Close()
			}
		} else {
			text, err = os.ReadFile(ts.MkAbs(args[0]))
		}
		if err == nil && (len(args) == 1 || bytes.Contains(text, []byte(args[1]))) {
			return
		}
	}
	ts.Fatalf("waited in vain for %s", strings.Join(args, " "))
}

// request METHOD URL [FILE] sends a request and prints the status and the body. It also writes the
// body to the file "answer".
func request(ts *testscript.TestScript, neg bool, args []string) {
	var body io.Reader
	if len(args) > 2 {
		body = strings.NewReader(ts.ReadFile(args[2]))
	}
	r, err := http.NewRequest(args[0], args[1], body)
	ts.Check(err)
	answer, err := http.DefaultClient.Do(r)
	if neg {
		if err == nil {
			ts.Fatalf("there is an answer")
		}
		return
	}
	ts.Check(err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	ts.Check(err)
	fmt.Fprintf(ts.Stdout(), "%d\n%s\n", answer.StatusCode, text)
	ts.Check(os.WriteFile(ts.MkAbs("answer"), text, 0o600))
}

// replace FILE OLD NEW replaces a text that must be there.
func replace(ts *testscript.TestScript, neg bool, args []string) {
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.ReplaceAll(text, args[1], args[2])), 0o600))
}

// verifyBody FROM TO wraps a receipt as the endpoint wants it.
func verifyBody(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(`{"verify":`+ts.ReadFile(args[0])+`}`), 0o600))
}
