package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/canon"
	"anteroom/edge/sha256"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func operationsPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// blocks are the fenced blocks of a page in a language, without their indentation.
func blocks(page, language string) (list []string) {
	for _, block := range regexp.MustCompile("(?ms)^( *)```"+language+"\n(.*?)^ *```$").FindAllStringSubmatch(page, -1) {
		list = append(list, regexp.MustCompile("(?m)^"+block[1]).ReplaceAllString(block[2], ""))
	}
	return list
}

// TestOperations carries out the sh blocks of OPERATIONS.md, one after the other, in the folder of
// a new service. In its store two agents have registered, with addresses that could not be relayed,
// and one was vouched for.
func TestOperations(t *testing.T) {
	list := blocks(operationsPage(t), "sh")
	dir := filepath.Join(t.TempDir(), "tern")
	operate(t, "init", dir, "--name", "Tern", "--host", "www.tern.example", "--contact", "ada@tern.example", "--yes")
	t.Chdir(dir)
	at := time.Now().Add(-2 * time.Hour)
	var rows []string
	for name, id := range map[string]string{"ledger-lark": strings.Repeat("5b", 16), "odd-owl": strings.Repeat("0d", 16)} {
		address := map[string]string{"ledger-lark": "ada@example.org", "odd-owl": "owl@example.org"}[name]
		time := at.UTC().Format(time.RFC3339)
		rows = append(rows,
			fmt.Sprintf("INSERT INTO registrations (record_id, recorded_at, agent_name, payload_sha256) VALUES ('%s', '%s', '%s', '%x')",
				id, time, name, sha256.Sum([]byte(canon.Registration(name, "")))),
			fmt.Sprintf("INSERT INTO contacts (record_id, address, created_at) VALUES ('%s', '%s', '%s')", id, address, time),
			fmt.Sprintf("INSERT INTO outbox (record_id, kind, payload, state, tries, created_at, next_try_at) VALUES ('%s', 'registration', '{\"address\":\"%s\"}', 'dead', 20, %d, %[3]d)",
				id, address, at.Unix()))
	}
	newStore(t, rows...)
	if err := os.WriteFile("answers.yaml", []byte("{registrations: [{agent_name: ledger-lark, decision: vouch, reason: we met}], texts: unchanged}"), 0o600); err != nil {
		t.Fatal(err)
	}
	operate(t, "verify", "--answers", "answers.yaml", "--yes")
	operate(t, "generate")

	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(program, filepath.Join(bin, "anteroom")); err != nil { // TestMain runs it by this name
		t.Fatal(err)
	}
	environment := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "ANTEROOM_") || strings.HasPrefix(variable, "CLOUDFLARE_")
	})
	said := ""
	for _, block := range list {
		command := exec.Command("bash", "-euo", "pipefail", "-c", block)
		command.Env = append(environment, "PATH="+bin+":"+os.Getenv("PATH"))
		out, err := command.CombinedOutput()
		if err != nil {
			t.Errorf("%s%v\n%s", block, err, out)
		}
		said += string(out)
	}
	if len(list) < 6 {
		t.Errorf("the page has %d blocks that can be carried out: is a fence mistyped?", len(list))
	}
	// What the commands are there for has happened.
	for _, want := range []string{
		"erased 1 contact and 1 message", "everything is as it was verified", "1 message pending again", "ok      backups: ",
		"otherwise than in", "/scoreboard.json ",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("nothing says %q:\n%s", want, said)
		}
	}
}

// Every command of a page, also where a test cannot carry it out, is one of the program, with flags
// and arguments that it takes.
func TestPagesNameCommands(t *testing.T) {
	flags := allFlags()
	for name, least := range map[string]int{"OPERATIONS.md": 40, "README.md": 40} {
		page, known := string(mustRead(t, "../../"+name)), 0
		for _, block := range append(blocks(page, "console"), blocks(page, "sh")...) {
			for line := range strings.Lines(block) {
				for _, args := range calls(line) {
					known++
					if err := understood(args, true); err != nil {
						t.Errorf("%s: %s: %v", name, strings.TrimSpace(line), err)
					}
				}
			}
		}
		for _, quoted := range regexp.MustCompile("`(?:ANTEROOM_[A-Z_]+=\\S+ )?anteroom ([^`\n]+)`").FindAllStringSubmatch(page, -1) {
			known++
			if err := understood(strings.Fields(quoted[1]), false); err != nil {
				t.Errorf("%s: %s: %v", name, quoted[0], err)
			}
		}
		if known < least {
			t.Errorf("%s: %d commands were found: are they not recognized?", name, known)
		}
		for _, quoted := range regexp.MustCompile("`(--[^`\n]+)`").FindAllStringSubmatch(page, -1) {
			for word := range strings.FieldsSeq(quoted[1]) {
				if strings.HasPrefix(word, "--") && !slices.ContainsFunc(flags, func(f string) bool { return strings.HasSuffix(f, " "+word) }) {
					t.Errorf("%s: %s is a flag of no command", name, word)
				}
			}
		}
	}
}

// What OPERATIONS.md links to, or names as a file or a target of make, is there.
func TestOperationsLinks(t *testing.T) {
	page := operationsPage(t)
	if lines := strings.Count(page, "\n"); lines > 280 {
		t.Errorf("the page has %d lines, and more than 280 are not read", lines)
	}
	anchors := map[string]bool{}
	for _, heading := range regexp.MustCompile("(?m)^## (.*)$").FindAllStringSubmatch(page, -1) {
		anchors["#"+strings.ReplaceAll(strings.ToLower(heading[1]), " ", "-")] = true
	}
	links := regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(page, -1)
	if len(links) < 8 {
		t.Errorf("%d links", len(links))
	}
	for _, link := range links {
		if _, err := os.Stat(filepath.Join("../..", link[1])); !anchors[link[1]] && err != nil {
			t.Errorf("%s leads nowhere", link[1])
		}
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range regexp.MustCompile("`(make ([a-z]+))`").FindAllStringSubmatch(page, -1) {
		if !bytes.Contains(makefile, []byte("\n"+target[2]+":")) {
			t.Errorf("%s is no target", target[1])
		}
	}
	metrics, source := regexp.MustCompile("`(anteroom_[a-z_]+)`").FindAllStringSubmatch(page, -1), mustRead(t, "../../edge/native/metrics/metrics.go")
	for _, name := range metrics {
		if !bytes.Contains(source, []byte(`"`+name[1]+`"`)) {
			t.Errorf("%s is no metric", name[1])
		}
	}
	if len(metrics) < 5 {
		t.Errorf("%d metrics", len(metrics))
	}
	for _, file := range regexp.MustCompile("`(build/[^`]+)`").FindAllStringSubmatch(page, -1) {
		if _, err := os.Stat("../../" + file[1]); err != nil {
			t.Errorf("%s: %v", file[1], err)
		}
	}
}

func newRoot() *cobra.Command { return rootCommand(cli.New(nil, io.Discard, io.Discard)) }

// allFlags are the flags of all commands, with these before them: "anteroom serve --addr".
func allFlags() (list []string) {
	for cmd := range cli.Commands(newRoot()) {
		for _, set := range []*pflag.FlagSet{cmd.Flags(), cmd.InheritedFlags()} {
			set.VisitAll(func(f *pflag.Flag) { list = append(list, cmd.CommandPath()+" --"+f.Name) })
		}
	}
	return append(list, "anteroom --help")
}

// shellWords matches a word of a shell command: quoted or not.
var shellWords = regexp.MustCompile(`'[^']*'|"[^"]*"|[|;&(){}]+|[^\s'"|;&(){}]+`)

// redirection matches a word that begins a redirection.
var redirection = regexp.MustCompile(`^[0-9]?[<>]`)

// calls gives the arguments of each call of anteroom in a line of a shell script, as far as the
// page writes such lines.
func calls(line string) (list [][]string) {
	line, _, _ = strings.Cut(line, " #")
	var call []string
	end := func() {
		if len(call) > 1 && call[0] == "sudo" {
			if call = call[1:]; call[0] == "-u" {
				call = call[2:]
			}
		}
		if len(call) > 0 && call[0] == "anteroom" {
			list = append(list, call[1:])
		}
		call = nil
	}
	redirected := false
	for _, word := range shellWords.FindAllString(line, -1) {
		switch {
		case strings.Trim(word, "|;&(){}") == "":
			end()
		case redirected:
			redirected = false
		case redirection.MatchString(word):
			redirected = strings.HasSuffix(word, ">") || strings.HasSuffix(word, "<")
		default:
			call = append(call, strings.Trim(word, `'"`))
		}
	}
	end()
	return list
}

// understood says what is wrong with the arguments of a call: a command or a flag that there is
// not or, where the call is whole, arguments that are refused.
func understood(args []string, whole bool) error {
	cmd, rest, err := newRoot().Find(args)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	if rest = cmd.Flags().Args(); whole || cmd.HasSubCommands() && len(rest) > 0 {
		return cmd.ValidateArgs(rest)
	}
	return nil
}

func TestCalls(t *testing.T) {
	for line, want := range map[string]string{
		"anteroom doctor --json": "[[doctor --json]]",
		"sudo -u anteroom anteroom serve --addr 127.0.0.1:1 # as it is":   "[[serve --addr 127.0.0.1:1]]",
		"sudo install -o anteroom anteroom /usr/local/bin/anteroom":       "[]",
		"echo '{a: [b]}' | anteroom verify --answers - --yes >out 2> err": "[[verify --answers - --yes]]",
		"anteroom generate && { anteroom backup b.db; cd anteroom; }":     "[[generate] [backup b.db]]",
		"wrangler secret put anteroom":                                    "[]",
		"anteroom":                                                        "[[]]",
	} {
		if got := fmt.Sprint(calls(line)); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
	for call, want := range map[string]string{
		"doctor --json": "", "serve --addr 127.0.0.1:1": "", "backup b.db": "", "records outbox list --data d": "",
		"dctor": "unknown command", "doctor --jsn": "unknown flag", "backup": "accepts 1 arg", "records outbox lst": "unknown command", "doctor more": "unknown command",
	} {
		if err := understood(strings.Fields(call), true); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", call, err, want)
		}
	}
}
