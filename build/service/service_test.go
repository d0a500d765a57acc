// Package service_test holds the files of this folder against the programs that read them: systemd,
// Caddy, and the host itself.
package service_test

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
)

// installed is where the files of this folder say that the program is.
const installed = "/usr/local/bin/anteroom"

// maxExposure is how exposed a service may be, by what systemd-analyze counts.
const maxExposure = 2.0

var folder string // of the program

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "anteroom-service-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(folder)
	os.Exit(code)
}

var built = sync.OnceValues(func() (string, error) {
	program := filepath.Join(folder, "anteroom")
	if text, err := exec.Command("go", "build", "-o", program, "../../cmd/anteroom").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the program: %w: %s", err, text)
	}
	return program, nil
})

// program is the path of the program, built from these sources.
func program(t *testing.T) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// tool is the path of a program of the system, or of one that make test has fetched.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	path, err = filepath.Abs(filepath.Join("../cache/debian/usr/bin", name))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatalf("%s is not installed (build/toolchain/debian.sh fetches it on Debian)", name)
	}
	return path
}

// text is a file of this folder.
func text(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// units are the names of the files that systemd reads as units.
func units(t *testing.T) []string {
	t.Helper()
	services, _ := filepath.Glob("*.service")
	timers, _ := filepath.Glob("*.timer")
	if len(services) == 0 || len(timers) == 0 {
		t.Fatalf("%q, %q", services, timers)
	}
	return append(services, timers...)
}

// setUp copies the units into a folder, for the program as it is built now.
func setUp(t *testing.T) (paths []string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range units(t) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text(t, name), installed, program(t))), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

// systemd has nothing to say against the units.
func TestUnits(t *testing.T) {
	out, err := exec.Command(tool(t, "systemd-analyze"), append([]string{"verify", "--man=no"}, setUp(t)...)...).CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
}

func TestExposure(t *testing.T) {
	overall := regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+)`)
	for _, path := range setUp(t) {
		if filepath.Ext(path) != ".service" {
			continue
		}
		out, err := exec.Command(tool(t, "systemd-analyze"), "security", "--no-pager", "--offline=true", path).CombinedOutput()
		match := overall.FindSubmatch(out)
		if err != nil || match == nil {
			t.Fatalf("%s: %v: %s", filepath.Base(path), err, out)
		}
		exposure, err := strconv.ParseFloat(string(match[1]), 64)
		if err != nil || exposure > maxExposure {
			t.Errorf("%s: its exposure is %s, want at most %.1f:\n%s", filepath.Base(path), match[1], maxExposure, out)
		}
	}
}

// What is set for the program is a flag of it: an unknown variable would be ignored without a word.
func TestSettings(t *testing.T) {
	for file, command := range map[string]string{
		"anteroom.service": "serve", "anteroom.env": "serve", "anteroom-backup.service": "backup", "anteroom-reminder.service": "verify",
	} {
		help, err := exec.Command(program(t), command, "--help").CombinedOutput()
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile(`(?m)^#?(?:Environment=)?ANTEROOM_([A-Z_]+)=`).FindAllStringSubmatch(text(t, file), -1)
		if len(names) == 0 {
			t.Errorf("%s sets nothing", file)
		}
		for _, name := range names {
			flag := "--" + strings.ToLower(strings.ReplaceAll(name[1], "_", "-")) + " "
			if !strings.Contains(string(help), flag) && !strings.Contains(string(help), strings.TrimSpace(flag)+"\n") {
				t.Errorf("%s sets ANTEROOM_%s, and anteroom %s has no flag %s", file, name[1], command, flag)
			}
		}
	}
	for line := range strings.Lines(text(t, "anteroom.env")) {
		if regexp.MustCompile(`PASSWORD|ANTEROOM_KEY=|://`).MatchString(line) && !strings.HasPrefix(line, "# ") {
			t.Errorf("anteroom.env holds a secret: %s", line)
		}
	}
}

func TestUser(t *testing.T) {
	root := t.TempDir()
	out, err := exec.Command(tool(t, "systemd-sysusers"), "--dry-run", "--root="+root, "--inline", "--", strings.TrimSpace(regexp.MustCompile(`(?m)^#.*$`).ReplaceAllString(text(t, "anteroom.sysusers"), ""))).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "user 'anteroom' (Anteroom)") {
		t.Errorf("%v: %s", err, out)
	}
	for _, name := range units(t) {
		if filepath.Ext(name) == ".service" && !strings.Contains(text(t, name), "\nUser=anteroom\nGroup=anteroom\n") {
			t.Errorf("%s runs as another user", name)
		}
	}
}

// README.md tells of every file, and of no other.
func TestReadme(t *testing.T) {
	readme := text(t, "README.md")
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := f.Name(); name != "README.md" && !strings.HasSuffix(name, "_test.go") && !strings.Contains(readme, "`"+name+"`") {
			t.Errorf("README.md does not tell of %s", name)
		}
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `.*? \\|").FindAllString(readme, -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row, -1) {
			if _, err := os.Stat(name[1]); err != nil {
				t.Error(err)
			}
		}
	}
	_, data, _ := strings.Cut(text(t, "anteroom-backup.service"), "Environment=KEEP=")
	keep, _, _ := strings.Cut(data, "\n")
	if !strings.Contains(readme, "of which "+keep+" are kept") || !strings.Contains(text(t, "anteroom-backup.service"), "newest "+keep+" are kept") {
		t.Errorf("%s backups are kept, and another number is told", keep)
	}
}

// commands are what a unit runs, one after the other, as systemd would read it: without the quotes,
// the escapes and the specifiers.
func commands(t *testing.T, unit string) (all [][]string) {
	t.Helper()
	for _, line := range regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindAllStringSubmatch(text(t, unit), -1) {
		plain, quoted, isQuoted := strings.Cut(line[1], "'")
		arguments := strings.Fields(plain)
		if isQuoted {
			quoted, end, _ := strings.Cut(quoted, "'")
			if end != "" {
				t.Fatalf("%s: %s", unit, line[0])
			}
			arguments = append(arguments, strings.NewReplacer(`\\`, `\`, "%%", "%", "$$", "$").Replace(quoted))
		}
		for i := range arguments {
			arguments[i] = strings.ReplaceAll(arguments[i], installed, program(t))
		}
		all = append(all, arguments)
	}
	if len(all) == 0 {
		t.Fatalf("%s runs nothing", unit)
	}
	return all
}

// run runs the commands of a unit in a folder, up to the first that fails.
func run(t *testing.T, unit, dir string, environment ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	for _, set := range regexp.MustCompile(`(?m)^Environment=(\S+)$`).FindAllStringSubmatch(text(t, unit), -1) {
		environment = append([]string{set[1]}, environment...)
	}
	for _, arguments := range commands(t, unit) {
		c := exec.Command(arguments[0], arguments[1:]...)
		c.Dir, c.Env, c.Stdout, c.Stderr = dir, append(os.Environ(), environment...), &out, &out
		if err := c.Run(); err != nil {
			return out.String(), err
		}
	}
	return out.String(), nil
}

// A backup has the day in its name, and the oldest ones go, but not where the new one failed.
func TestBackup(t *testing.T) {
	data, backups := t.TempDir(), t.TempDir()
	var old []string
	for day := range 20 {
		old = append(old, fmt.Sprintf("anteroom-2025-01-%02d.db", day+1))
	}
	for _, name := range append(old, "notes.txt", "anteroom-mine.db") {
		if err := os.WriteFile(filepath.Join(backups, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list := func() (names []string) {
		entries, err := os.ReadDir(backups)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	before := list()
	if out, err := run(t, "anteroom-backup.service", backups, "ANTEROOM_DATA="+data); err == nil || !slices.Equal(list(), before) {
		t.Errorf("a backup of nothing: %v %s, and %q are left", err, out, list())
	}
	host := start(t, data)
	host.register(t, "ledger-lark")
	today := time.Now().UTC()
	out, err := run(t, "anteroom-backup.service", backups, "ANTEROOM_DATA="+data)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	names := list()
	dated := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !regexp.MustCompile(`^anteroom-\d{4}-\d\d-\d\d\.db$`).MatchString(name) })
	newest := dated[len(dated)-1]
	if len(dated) != 14 || len(names) != 16 || !slices.Equal(dated[:13], old[7:]) {
		t.Errorf("%q are left", names)
	}
	if newest != today.Format("anteroom-2006-01-02.db") && newest != time.Now().UTC().Format("anteroom-2006-01-02.db") {
		t.Errorf("the newest is %s", newest)
	}
	if info, err := os.Stat(filepath.Join(backups, newest)); err != nil || info.Size() == 0 || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if out, err := run(t, "anteroom-backup.service", backups, "ANTEROOM_DATA="+data); err != nil || !slices.Equal(list(), names) {
		t.Errorf("again on the same day: %v %s, and %q are left", err, out, list())
	}
}

// The reminder is one line with the numbers, and fails where the records cannot be read.
func TestReminder(t *testing.T) {
	data := t.TempDir()
	host := start(t, data)
	host.register(t, "ledger-lark")
	host.register(t, `"new":{"registrations":99}`)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	out, err := run(t, "anteroom-reminder.service", root, "ANTEROOM_DATA="+data)
	if line, _, _ := strings.Cut(out, "\n"); err != nil || line != "waiting for a hand verification: registrations:2,charters:0,suggestions:0" {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := run(t, "anteroom-reminder.service", root, "ANTEROOM_DATA="+t.TempDir()); err == nil {
		t.Errorf("without a database: %s", out)
	}
}

// The Caddyfile names the hosts of the content.
func TestHosts(t *testing.T) {
	var service struct {
		Canonical string `yaml:"canonical_host"`
		Apex      string `yaml:"apex_host"`
	}
	if err := yaml.Unmarshal([]byte(text(t, "../../content/service.yaml")), &service); err != nil {
		t.Fatal(err)
	}
	if want := "\n" + service.Canonical + ", " + service.Apex + " {\n"; !strings.Contains(text(t, "Caddyfile"), want) {
		t.Errorf("the Caddyfile lacks the line %q", want)
	}
	address := regexp.MustCompile(`(?m)^ANTEROOM_ADDR=(.*)$`).FindStringSubmatch(text(t, "anteroom.env"))
	if address == nil || !strings.Contains(text(t, "Caddyfile"), "h2c://"+address[1]+" {") {
		t.Errorf("the Caddyfile does not lead to %q", address)
	}
}

// manager listens to what a service tells of its state.
func manager(t *testing.T) (socket string, ready func()) {
	t.Helper()
	socket = filepath.Join(t.TempDir(), "notify")
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return socket, func() {
		t.Helper()
		conn.SetReadDeadline(time.Now().Add(30 * time.Second))
		for message := make([]byte, 4096); ; {
			n, err := conn.Read(message)
			if err != nil {
				t.Fatalf("it is not ready: %v", err)
			}
			if slices.Contains(strings.Split(string(message[:n]), "\n"), "READY=1") {
				return
			}
		}
	}
}
