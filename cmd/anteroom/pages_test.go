package main

import (
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
	"anteroom/generator/site"

	"github.com/spf13/cobra"
)

func blocks(page, language string) (list []string) {
	for _, block := range regexp.MustCompile("(?ms)^( *)```"+language+"\n(.*?)^ *```$").FindAllStringSubmatch(page, -1) {
		list = append(list, regexp.MustCompile("(?m)^"+block[1]).ReplaceAllString(block[2], ""))
	}
	return list
}

// section returns the text of a page under a heading, and the page without it.
func section(t *testing.T, page, title string) (under, rest string) {
	t.Helper()
	before, after, found := strings.Cut(page, "\n## "+title+"\n")
	if !found {
		t.Fatalf("no section %q", title)
	}
	under, after, _ = strings.Cut(after, "\n## ")
	return under, before + "\n## " + after
}

func runBlocks(t *testing.T, list []string, environment ...string) (said string) {
	t.Helper()
	program, err := os.Executable()
	check(t, err)
	bin := t.TempDir()
	if err := os.Symlink(program, filepath.Join(bin, "anteroom")); err != nil { // TestMain runs it by this name
		t.Fatal(err)
	}
	clean := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "ANTEROOM_") || strings.HasPrefix(variable, "CLOUDFLARE_")
	})
	for _, block := range list {
		command := exec.Command("bash", "-euo", "pipefail", "-c", block)
		command.Env = slices.Concat(clean, environment, []string{"PATH=" + bin + ":" + os.Getenv("PATH")})
		out, err := command.CombinedOutput()
		if err != nil {
			t.Errorf("%s%v\n%s", block, err, out)
		}
		said += string(out)
	}
	return said
}

func has(t *testing.T, said string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(said, want) {
			t.Errorf("nothing says %q:\n%s", want, said)
		}
	}
}

// TestOperations runs the sh blocks of OPERATIONS.md in the folder of a new service. Two agents
// have registered there, with addresses that could not be relayed, and one was vouched for.
// TestReadme runs the section that needs a server.
func TestOperations(t *testing.T) {
	_, page := section(t, string(mustRead(t, "../../OPERATIONS.md")), "Keep a public log")
	list := blocks(page, "sh")
	dir := filepath.Join(t.TempDir(), "tern")
	operate(t, "init", dir, "--name", "Tern", "--host", "www.tern.example", "--contact", "ada@tern.example", "--yes")
	t.Chdir(dir)
	at := time.Now().Add(-2 * time.Hour)
	var rows []string
	for name, address := range map[string]string{"ledger-lark": "ada@example.org", "odd-owl": "owl@example.org"} {
		id, recorded := fmt.Sprintf("%032x", len(name)), at.UTC().Format(time.RFC3339)
		rows = append(rows,
			fmt.Sprintf("INSERT INTO registrations (record_id, recorded_at, agent_name, payload_sha256) VALUES ('%s', '%s', '%s', '%x')",
				id, recorded, name, sha256.Sum([]byte(canon.Registration(name, "")))),
			fmt.Sprintf("INSERT INTO contacts (record_id, address, created_at) VALUES ('%s', '%s', '%s')", id, address, recorded),
			fmt.Sprintf("INSERT INTO outbox (record_id, kind, payload, state, tries, created_at, next_try_at) VALUES ('%s', 'registration', '{\"address\":\"%s\"}', 'dead', 20, %d, %[3]d)",
				id, address, at.Unix()))
	}
	newStore(t, rows...)
	check(t, os.WriteFile("answers.yaml", []byte("{registrations: [{agent_name: ledger-lark, decision: vouch, reason: we met}, {agent_name: odd-owl, decision: leave}], texts: {}}"), 0o600))
	operate(t, "publish", "--no-live", "--answers", "answers.yaml", "--yes")
	operate(t, "generate")
	has(t, runBlocks(t, list), "erased 1 contact and 1 message", "all records match their verifications", "2 messages pending again", "ok      backups: ", "Readers will see of pilot_waitlist.verified_organic_agent_conversions: it was 1, and is 0. A test was counted.")
}

// A command that the pages name is one of the program, with flags that it has; a file or a target
// of make that they name is there.
func TestPagesAreTrue(t *testing.T) {
	call := regexp.MustCompile(`(?:^|[|;&{(]|sudo|-u anteroom|[A-Z_]+=\S+) *anteroom((?: (?:"[^"]*"|'[^']*'|[^\s|;&(){}<>'"]+))*)`)
	for page, least := range map[string]int{"OPERATIONS.md": 70, "README.md": 20, "CONTRIBUTING.md": 0, "SECURITY.md": 0} {
		text := string(mustRead(t, "../../"+page))
		code := append(blocks(text, "console"), blocks(text, "sh")...)
		for _, quoted := range regexp.MustCompile("`([^`\n]+)`").FindAllStringSubmatch(text, -1) {
			code = append(code, quoted[1])
		}
		known := 0
		for _, line := range strings.Split(strings.Join(code, "\n"), "\n") {
			line, _, _ = strings.Cut(line, " #")
			for _, args := range call.FindAllStringSubmatch(strings.TrimSpace(line), -1) {
				words := strings.Fields(args[1])
				if len(words) == 0 {
					continue
				}
				known++
				cmd, rest, err := newRoot().Find(words)
				if err == nil {
					err = cmd.ParseFlags(rest)
				}
				if err == nil && cmd.HasSubCommands() && len(cmd.Flags().Args()) > 0 {
					err = cmd.ValidateArgs(cmd.Flags().Args())
				}
				if err != nil {
					t.Errorf("%s: %s: %v", page, line, err)
				}
			}
		}
		if known < least {
			t.Errorf("%s: %d commands were found", page, known)
		}
		for _, target := range regexp.MustCompile("(?m)(?:`|^    )make ([a-z]+)").FindAllStringSubmatch(text, -1) {
			if !strings.Contains(string(mustRead(t, "../../Makefile")), "\n"+target[1]+":") {
				t.Errorf("%s: make %s is not a target", page, target[1])
			}
		}
		for _, file := range regexp.MustCompile("`(build/[^`*]+)`|\\]\\(([A-Z]+\\.md)\\)").FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat("../../" + file[1] + file[2]); err != nil && !strings.HasPrefix(file[1], "build/out") && !strings.HasPrefix(file[1], "build/bundle") {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
	s, err := site.Load(os.DirFS("../../content"))
	check(t, err)
	address := regexp.MustCompile(`\S+@[a-z.]+[a-z]`).FindString(string(mustRead(t, "../../SECURITY.md")))
	if !slices.Contains(s.Service.Security.Contacts, "mailto:"+address) {
		t.Errorf("SECURITY.md says to write to %q; the content has %q", address, s.Service.Security.Contacts)
	}
}

// A message that "When something fails" of OPERATIONS.md explains is one of the program.
func TestFailuresAreTrue(t *testing.T) {
	var sources strings.Builder
	for _, pattern := range []string{"*.go", "internal/*/*.go", "../../edge/*/*.go", "../../edge/*/*/*.go", "../../edge/worker/*.mjs", "../../generator/*/*.go"} {
		files, err := filepath.Glob(pattern)
		check(t, err)
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				sources.Write(mustRead(t, file))
			}
		}
	}
	page, _ := section(t, string(mustRead(t, "../../OPERATIONS.md")), "When something fails")
	messages := 0
	for _, row := range regexp.MustCompile("(?m)^\\| ([^|]*`[^|]*) \\| (?:[^|]* \\| )?[^|]* \\|\n(\\| ---)?").FindAllStringSubmatch(page, -1) {
		if row[2] != "" {
			continue // the head of a table
		}
		for _, message := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			messages++
			if !strings.Contains(sources.String(), message[1]) {
				t.Errorf("no source has the message %q", message[1])
			}
		}
	}
	if messages < 40 {
		t.Errorf("%d messages were found", messages)
	}
}

// A place in a page that another page, a hint or a help text names is one of its headings.
func TestPlacesInPages(t *testing.T) {
	places := regexp.MustCompile(`\]\(([A-Za-z/.]*\.md)?#([^)\s]+)\)|\b[Ss]ee "?([A-Z][a-z ]+?)"? in (OPERATIONS\.md)`)
	headingLine := regexp.MustCompile("(?m)^##+ (.*)$")
	files := []string{"help.txt", "../../build/service/README.md"}
	for _, pattern := range []string{"*.go", "internal/*/*.go", "../../*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	anchor := strings.NewReplacer(" ", "-", "`", "", ",", "", ".", "")
	named := map[string]int{}
	for _, file := range files {
		for _, place := range places.FindAllStringSubmatch(string(mustRead(t, file)), -1) {
			page, want := file, place[2]
			if place[1] != "" {
				page = filepath.Join(filepath.Dir(file), place[1])
			}
			if place[3] != "" {
				page, want = "../../"+place[4], anchor.Replace(strings.ToLower(place[3]))
			}
			var headings []string
			for _, line := range headingLine.FindAllStringSubmatch(string(mustRead(t, page)), -1) {
				headings = append(headings, anchor.Replace(strings.ToLower(line[1])))
			}
			if !slices.Contains(headings, want) {
				t.Errorf("%s: %s has no heading for %q", file, page, want)
			}
			named[filepath.Ext(file)]++
		}
	}
	if named[".go"] < 3 || named[".md"] < 30 {
		t.Errorf("places were found in %v", named)
	}
	operations := string(mustRead(t, "../../OPERATIONS.md"))
	if len(operations) > 22_000 {
		t.Errorf("OPERATIONS.md has %d bytes, want at most 22,000: an operator reads it in a hurry", len(operations))
	}
	contents, sections, _ := strings.Cut(operations, "\n## ")
	for _, line := range headingLine.FindAllStringSubmatch("## "+sections, -1) {
		if entry := "(#" + anchor.Replace(strings.ToLower(line[1])) + ")"; !strings.Contains(contents, entry) {
			t.Errorf("the list of sections of OPERATIONS.md lacks %s", entry)
		}
	}
}

func newRoot() *cobra.Command { return rootCommand(cli.New(nil, io.Discard, io.Discard)) }
