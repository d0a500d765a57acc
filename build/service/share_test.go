//go:build full

package service_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// machine is a machine with users. What OPERATIONS.md and the file sudoers call dana, eve,
// anteroom-ops, /srv/anteroom and the like has other names here, which go with the test.
type machine struct {
	t     *testing.T
	root  string // a folder that all users may pass
	names *strings.Replacer
}

func (m *machine) user(name string) string { return fmt.Sprintf("ant%d-%s", os.Getpid(), name) }

var accounts = []string{"server", "dana", "eve", "mallory"}

func newMachine(t *testing.T) *machine {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("this test makes users: run it as root")
	}
	root, err := os.MkdirTemp("/var/tmp", "anteroom-share-") // the folders of go test are closed to other users
	m := &machine{t: t, root: root}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	m.names = strings.NewReplacer(
		"/usr/local/bin/anteroom", root+"/bin/anteroom",
		"-u anteroom anteroom ", "-u "+m.user("server")+" "+root+"/bin/anteroom ", "(anteroom)", "("+m.user("server")+")",
		"/usr/bin/systemctl reload anteroom", root+"/bin/reload", "systemctl reload anteroom", root+"/bin/reload",
		"/var/lib/anteroom", root+"/data", "/srv/anteroom", root+"/srv",
		"/etc/anteroom/secrets", root+"/secrets", "service/sudoers", root+"/sudoers", "/etc/sudoers.d/anteroom", "/etc/sudoers.d/"+m.user("test"),
		"anteroom-ops", m.user("ops"), "dana", m.user("dana"), "eve", m.user("eve"), "mallory", m.user("mallory"),
	)
	t.Cleanup(func() {
		os.Remove(m.names.Replace("/etc/sudoers.d/anteroom"))
		for _, name := range accounts {
			exec.Command(tool(t, "userdel"), "-f", m.user(name)).Run()
		}
		exec.Command(tool(t, "groupdel"), m.user("ops")).Run()
		os.RemoveAll(root)
		if left := text(t, "/etc/passwd") + text(t, "/etc/group"); strings.Contains(left, m.user("")) {
			t.Errorf("users of this test are left: userdel %s* and groupdel remove them", m.user(""))
		}
	})
	for folder, mode := range map[string]uint32{"": 0o755, "bin": 0o755, "home": 0o755, "tmp": 0o1777} {
		must(os.MkdirAll(filepath.Join(root, folder), 0o700))
		must(syscall.Chmod(filepath.Join(root, folder), mode))
	}
	for name, text := range map[string]string{
		"bin/anteroom": text(t, program()), "bin/reload": "#!/bin/sh\nexec kill -HUP $(cat " + root + "/pid)\n",
		"sudoers": m.names.Replace(text(t, "sudoers")),
	} {
		must(os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
		must(os.Chmod(filepath.Join(root, name), 0o755))
	}
	for _, file := range []string{"sudoers", filepath.Join(root, "sudoers")} {
		if out, err := exec.Command(tool(t, "visudo"), "-cf", file).CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", file, err, out)
		}
	}
	for _, name := range accounts {
		add := exec.Command(tool(t, "useradd"), "-r", "-U", "-m", "-d", filepath.Join(root, "home", name), m.user(name))
		if out, err := add.CombinedOutput(); err != nil {
			t.Fatalf("useradd: %v: %s", err, out)
		}
	}
	server := m.user("server")
	m.expect("root", 0, "install -d -m 0700 -o "+server+" -g "+server+" /var/lib/anteroom /var/lib/anteroom-backup")
	return m
}

// as makes a command of a user who has just logged in, or of root.
func (m *machine) as(user, folder, script string) *exec.Cmd {
	c := exec.Command("sh", "-c", m.names.Replace(script))
	if user != "root" {
		c.Args = append([]string{"setpriv", "--reuid", m.user(user), "--regid", m.user(user), "--init-groups"}, c.Args...)
		c.Path = tool(m.t, "setpriv")
	}
	c.Dir = folder
	c.Env = []string{
		"HOME=" + filepath.Join(m.root, "home", user), "PATH=" + m.root + "/bin:" + os.Getenv("PATH"), "TERM=dumb",
		"TMPDIR=" + m.root + "/tmp", "GIT_CONFIG_SYSTEM=" + m.root + "/gitconfig",
	}
	return c
}

// expect runs a script as a user in the folder of the service. Its exit code and lines of its
// output are known.
func (m *machine) expect(user string, code int, script string, lines ...string) string {
	m.t.Helper()
	folder := m.root + "/srv"
	if _, err := os.Stat(folder); err != nil {
		folder = m.root
	}
	out, err := m.as(user, folder, script).CombinedOutput()
	got, ended := 0, (*exec.ExitError)(nil)
	if errors.As(err, &ended) {
		got, err = ended.ExitCode(), nil
	}
	if err != nil || got != code {
		m.t.Fatalf("%s, as %s: %v, exit code %d, want %d: %s", script, user, err, got, code, out)
	}
	said := strings.ReplaceAll(string(out), "\r", "")
	for _, line := range lines {
		if !regexp.MustCompile(`(?m)` + m.names.Replace(line)).MatchString(said) {
			m.t.Errorf("%s, as %s: nothing matches %s:\n%s", script, user, line, said)
		}
	}
	return said
}

// section gives the first block of a kind in a section of OPERATIONS.md.
func section(t *testing.T, title, kind string) string {
	t.Helper()
	_, rest, _ := strings.Cut(text(t, "../../OPERATIONS.md"), "\n## "+title+"\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	found := regexp.MustCompile("(?ms)^ *```" + kind + "\n(.*?)^ *```$").FindStringSubmatch(rest)
	if found == nil {
		t.Fatalf("OPERATIONS.md has no %s under %q", kind, title)
	}
	return found[1]
}

// install begins a service and follows OPERATIONS.md, where dana has a narrow umask.
func (m *machine) install(address string) {
	m.t.Helper()
	settings := section(m.t, "Open on a machine", "toml") +
		`addr = "` + address + "\"\n"
	home := m.root + "/home/dana"
	script := `git config --global user.name Dana && git config --global user.email dana@tern.test
anteroom init tern --name Tern --host www.tern.test --contact ada@tern.test --yes && cd tern &&
anteroom key rotate --out receipt.key && anteroom generate && cat >anteroom.toml <<'end'
` + settings + "end\n"
	commands := []string{script}
	for line := range strings.Lines(section(m.t, "Share the machine", "console")) {
		commands = append(commands, strings.TrimSpace(line))
	}
	for _, command := range commands {
		if command == "cd /srv/anteroom" {
			home = m.root + "/srv"
			continue
		}
		user, script := "dana", "umask 077\n"+command
		if bare, is := strings.CutPrefix(command, "sudo "); is {
			user, script = "root", bare
		}
		if out, err := m.as(user, home, script).CombinedOutput(); err != nil {
			m.t.Fatalf("%s: %v: %s", command, err, out)
		}
	}
	m.expect("eve", 0, "git config --global user.name Eve && git config --global user.email eve@tern.test")
	// systemd hands the server copies of the secrets.
	m.expect("root", 0, `umask 077; mkdir /etc/anteroom/secrets && cp receipt.key /etc/anteroom/secrets &&
echo 'smtp://127.0.0.1:1?tls=none' >/etc/anteroom/secrets/smtp && cp -r /etc/anteroom/secrets `+m.root+`/credentials &&
chown -R `+m.user("server")+` `+m.root+`/credentials`)
}

// Two deployers share a machine as OPERATIONS.md says. Neither is root; one carries on where the
// other was stopped, whatever their umasks. The data stays with the user of the server.
func TestShare(t *testing.T) {
	t.Parallel()
	tool(t, "sudo")
	m := newMachine(t)
	address := fmt.Sprintf("127.0.0.1:%d", freePort(t))
	m.install(address)

	serve := m.as("server", m.root+"/srv", "umask 077; cd ../credentials; export ANTEROOM_KEY_FILE=$PWD/receipt.key ANTEROOM_SMTP_FILE=$PWD/smtp; cd ../srv; "+
		"exec anteroom serve --create --write-limit 0")
	log := begin(t, serve)
	log.until(t, `serving \S+ at (http)`)
	if err := os.WriteFile(m.root+"/pid", fmt.Append(nil, serve.Process.Pid), 0o600); err != nil {
		t.Fatal(err)
	}
	arrive := func() { // after the second of the verification before
		t.Helper()
		time.Sleep(1100 * time.Millisecond)
		register(t, http.DefaultClient, "http://"+address)
	}
	const publish = "umask 077; anteroom verify --template --offline >~/answers && anteroom publish --answers ~/answers --yes"
	shows := `^check     http://` + address + ` shows the board of \S+-`

	for user, line := range map[string]string{
		"dana":    `^ok      publish: dana may write content, documents and snapshot; the store is read by store-command$`,
		"eve":     `^ok      publish: eve may write content, documents and snapshot; the store is read by store-command$`,
		"mallory": `^warning publish: mallory may not write into content \(add mallory to the group anteroom-ops, and run chmod g\+ws on it; or run this as dana\)$`,
		"server":  `^ok      publish: dana owns the content: publish as that user or another of the group, not as ` + m.user("server") + `$`,
		"root":    `^ok      publish: dana owns the content: publish as that user or another of the group, not as root$`,
	} {
		code := 0
		if user == "mallory" { // sudo refuses her
			code = 1
		}
		m.expect(user, code, "anteroom doctor", line)
	}

	m.expect("dana", 0, "umask 077; rm .git/COMMIT_EDITMSG; git commit --quiet --allow-empty --message 'By hand'")

	// Dana is killed at her editor. Eve is shown her answers.
	register(t, http.DefaultClient, "http://"+address)
	m.expect("dana", 128+9, `export EDITOR='sed -i "s/leave, reason: \"\"/vouch, reason: known/" "$1"; kill -9 $PPID; :'
umask 077; script -qec "anteroom publish" /dev/null </dev/null`, `^look      1 record to be verified$`)
	m.expect("eve", 0, `export EDITOR=touch; echo y | script -qec "anteroom publish" /dev/null`,
		`^pilot_waitlist.verified_organic_agent_conversions +0     1  counted$`, `^commit    Hand verification of \S+-2$`,
		`^live      ran sudo -n \S+/reload$`, shows+"2$")

	// Dana is killed while the server is to reload. Eve takes the step.
	arrive()
	m.expect("dana", 128+9, publish+" --reload 'kill -9 $PPID'", `^commit    Hand verification of \S+-3$`)
	m.expect("eve", 0, "anteroom publish", `^verify    \S+-3 is written, and is published now$`, `^commit    no changes$`, shows+"3$")

	// The server cannot read the snapshot. It says so, and goes on.
	arrive()
	m.expect("root", 0, "chmod 2770 build")
	m.expect("dana", 1, publish+" --wait 1s", `^commit    Hand verification of \S+-4$`,
		`http://`+address+` still shows content [0-9a-f]+ after "sudo -n \S+/reload": the server refused the new documents, or has `+
			`not reloaded \(do not restart it: its log or systemctl status names the reason\)$`, `publish stopped at live`)
	log.until(t, `msg="(reload refused: the old documents stay served)" content=\S+ faults="read the snapshot: .*build/snapshot.txt: permission denied`)
	m.expect("dana", 0, "anteroom doctor", `^warning publish: only its owner and its group may read \S+/srv/build, and the server runs as `+
		m.user("server")+` \(run chmod a\+rX on it; a restart of the server before that may be an outage\)$`)
	m.expect("root", 0, "chmod 2775 build")
	m.expect("eve", 0, "anteroom publish", shows+"4$")

	if authors := m.expect("eve", 0, "git log --format=%an"); authors != "Dana\nDana\nEve\nDana\nDana\n" {
		t.Errorf("the authors are %q", authors)
	}
	if closed := m.expect("root", 0, "find . -path ./.git -prune -o ! -name receipt.key ! -perm -664 -print; find .git -type d ! -perm -2770; "+
		"find .git/COMMIT_EDITMSG ! -perm 660; find receipt.key -perm /077"); closed != "" {
		t.Errorf("the server may not read it, the group not write it, or others may read a key: %s", closed)
	}
	m.expect("server", 1, "touch content/x 2>&1 || exit 1")
	m.expect("server", 0, "anteroom records audit", `^/\S+/data/anteroom.db: all records match their verifications`)
	m.expect("dana", 0, "anteroom records audit", `^the copy of /\S+/data/anteroom.db: all records match their verifications`)

	// What changes the store is for its user, and a copy does not grow.
	const permission = `permission denied \(run this as the user of the service: sudo -u anteroom …\)$`
	for _, command := range []string{
		"records erase --email a@b.example", "records outbox revive", "backup x.db", "records count --store-command ''",
	} {
		m.expect("dana", 1, "anteroom "+command, permission)
	}
	m.expect("dana", 0, "anteroom doctor --store-command ''", `^warning store: .*permission denied \(run doctor as root\)$`,
		`^warning key: read receipt key: .*permission denied \(run doctor as root\)$`, `^warning backups: .*permission denied \(run doctor as root\)$`,
		`^warning publish: dana may write the content, but not read the store \(name a store-command: see Share the machine in OPERATIONS.md\)$`)
	m.expect("dana", 1, "anteroom records list registrations --follow",
		`the copy of \S+ gets no more records \(leave --follow out, or run this as the user of the service\)$`)

	// A command that fails, a part of a backup, and an interrupt: no records, and no file is left.
	m.expect("dana", 1, "anteroom inbox --store-command 'echo no >&2; echo way >&2; exit 3'",
		`^anteroom: read the store by "echo no >&2; echo way >&2; exit 3": exit status 3: no; way \(run it by hand\)$`)
	copied := regexp.MustCompile(`store-command = "(.*)"`).FindStringSubmatch(section(t, "Open on a machine", "toml"))[1]
	m.expect("dana", 1, "anteroom inbox --store-command '"+copied+" | head -c 20000'", `^anteroom: read the store by ".*": check backup \S+: damaged: `)
	m.expect("dana", 1, "timeout --foreground --preserve-status -s INT 0.5 anteroom inbox --store-command 'exec sleep 30'", `^anteroom: interrupted$`)
	m.expect("mallory", 1, "anteroom inbox", `^anteroom: read the store by ".*": exit status 1: sudo: a password is required \(run it by hand\)$`)
	if left, _ := os.ReadDir(m.root + "/tmp"); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}
