//go:build full

package service_test

import (
	"bytes"
	"fmt"
	"mime/quotedprintable"
	"net"
	"net/http"
	netmail "net/mail"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"text/template"
	"time"
)

// mailServers is where build/toolchain/debian.sh puts Postfix and Exim.
const mailServers = "../cache/mail"

// server is a mail server that is running. It is strict about the names of its clients. Its folder
// has boxes with a Maildir of each mailbox.
type server struct {
	t       *testing.T
	Folder  string // with all that it needs, open to its user
	Root    string // what was unpacked
	Library string // a folder of it
	Port    int
	User    *user.User
	command *exec.Cmd
}

// newServer prepares a folder: the programs, and a certificate.
func newServer(t *testing.T) *server {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("mail servers deliver as other users: run this test as root, as in a container")
	}
	folder, err := os.MkdirTemp("", "anteroom-mail-")
	check(t, err, os.Chmod(folder, 0o755))
	t.Cleanup(func() { os.RemoveAll(folder) })
	s := &server{t: t, Folder: folder, Root: filepath.Join(folder, "root"), Port: freePort(t)}
	s.User, err = user.Lookup("mail")
	check(t, err)
	if _, err := os.Stat(mailServers); err != nil {
		t.Fatal("Postfix and Exim are not unpacked (build/toolchain/debian.sh fetches them on Debian)")
	}
	check(t, os.CopyFS(s.Root, os.DirFS(mailServers)))
	libraries, _ := filepath.Glob(filepath.Join(s.Root, "usr/lib/*-linux-gnu*/libnss_wrapper.so"))
	if len(libraries) != 1 {
		t.Fatalf("found %q, want one library (remove build/cache/mail, and run build/toolchain/debian.sh)", libraries)
	}
	s.Library = filepath.Dir(libraries[0])
	certify(t, s.Folder)
	return s
}

func check(t *testing.T, faults ...error) {
	t.Helper()
	for _, err := range faults {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// write writes a file of the folder, and its folder. The text is a template about the server.
func (s *server) write(name, text string) {
	s.t.Helper()
	var filled bytes.Buffer
	parsed, err := template.New("").Parse(text)
	check(s.t, err, parsed.Execute(&filled, s))
	path := filepath.Join(s.Folder, name)
	check(s.t, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, filled.Bytes(), 0o644))
}

// own gives files to the user of the server, and folders that it makes.
func (s *server) own(names ...string) {
	s.t.Helper()
	var uid, gid int
	fmt.Sscan(s.User.Uid+" "+s.User.Gid, &uid, &gid)
	for _, name := range names {
		path := filepath.Join(s.Folder, name)
		if _, err := os.Stat(path); err != nil {
			check(s.t, os.MkdirAll(path, 0o755))
		}
		check(s.t, os.Chown(path, uid, gid))
	}
}

// start runs the server until the end of the test, and waits until it listens.
func (s *server) start(environment []string, name string, args ...string) {
	s.t.Helper()
	s.command = exec.Command(filepath.Join(s.Root, name), args...)
	s.command.Env = append(environment, "PATH=/usr/sbin:/usr/bin:/sbin:/bin")
	s.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	log, err := os.Create(filepath.Join(s.Folder, "boxes", "out.log"))
	check(s.t, err)
	s.command.Stdout, s.command.Stderr = log, log
	check(s.t, s.command.Start())
	s.t.Cleanup(func() {
		syscall.Kill(-s.command.Process.Pid, syscall.SIGTERM)
		s.command.Wait()
		log.Close()
		if s.t.Failed() {
			s.t.Log(s.logs())
		}
	})
	s.eventually("the server listens", func() bool {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.Port))
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

// logs are what the server has said.
func (s *server) logs() string {
	names, _ := filepath.Glob(filepath.Join(s.Folder, "*", "*log"))
	var all strings.Builder
	for _, name := range names {
		text, _ := os.ReadFile(name)
		all.Write(text)
	}
	return all.String()
}

func (s *server) eventually(what string, is func() bool) {
	s.t.Helper()
	for end := time.Now().Add(30 * time.Second); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			s.t.Fatalf("not in time: %s\n%s", what, s.logs())
		}
	}
}

// mails waits for so many mails in a mailbox, and gives them.
func (s *server) mails(box string, n int) (mails []*netmail.Message) {
	s.t.Helper()
	var files []string
	s.eventually(fmt.Sprintf("%d mails for %s", n, box), func() bool {
		files, _ = filepath.Glob(filepath.Join(s.Folder, "boxes", box, "new", "*"))
		return len(files) == n
	})
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(s.t, err)
		mail, err := netmail.ReadMessage(bytes.NewReader(text))
		check(s.t, err)
		mails = append(mails, mail)
	}
	return mails
}

// postfix starts Postfix, which refuses clients whose name has no dot. It does so when they name a
// recipient, as it does unless it is told otherwise.
func postfix(t *testing.T) (s *server, address string) {
	s = newServer(t)
	s.write("conf/main.cf", `
compatibility_level = 3.6
import_environment = MAIL_CONFIG LD_LIBRARY_PATH SASL_PATH
queue_directory = {{.Folder}}/queue
data_directory = {{.Folder}}/data
command_directory = {{.Root}}/usr/sbin
daemon_directory = {{.Root}}/usr/lib/postfix/sbin
meta_directory = {{.Folder}}/conf
shlib_directory = no
mail_owner = {{.User.Username}}
setgid_group = staff
default_privs = daemon
maillog_file = {{.Folder}}/conf/log
maillog_file_prefixes = {{.Folder}}
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
myhostname = mail.anteroom.example
mydestination =
alias_maps =
virtual_mailbox_domains = anteroom.example
virtual_mailbox_base = {{.Folder}}/boxes
virtual_mailbox_maps = inline:{operator@anteroom.example=operator/, bounces@anteroom.example=bounces/, full@anteroom.example=full/}
virtual_minimum_uid = 1
virtual_uid_maps = static:{{.User.Uid}}
virtual_gid_maps = static:{{.User.Gid}}
transport_maps = inline:{full@anteroom.example=full:}
smtpd_helo_required = yes
smtpd_helo_restrictions = reject_non_fqdn_helo_hostname, reject_invalid_helo_hostname
smtpd_relay_restrictions = reject_non_fqdn_sender, reject_non_fqdn_recipient, permit_sasl_authenticated, reject
smtpd_sasl_auth_enable = yes
smtpd_sasl_local_domain = anteroom.example
smtpd_tls_security_level = encrypt
smtpd_tls_auth_only = yes
smtpd_tls_cert_file = {{.Folder}}/certificate.pem
smtpd_tls_key_file = {{.Folder}}/key.pem
`)
	s.write("conf/master.cf", `
127.0.0.1:{{.Port}} inet n - n - - smtpd
postlog unix-dgram n - n - 1 postlogd
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
error unix - - n - - error
anvil unix - - n - 1 anvil
proxymap unix - - n - - proxymap
virtual unix - n n - - virtual
full unix - n n - - pipe user=nobody argv=/bin/false
`)
	s.write("conf/sasl/smtpd.conf", `
pwcheck_method: auxprop
auxprop_plugin: sasldb
sasldb_path: {{.Folder}}/sasldb
mech_list: SCRAM-SHA-256 PLAIN LOGIN
`)
	s.own("queue/active", "queue/bounce", "queue/corrupt", "queue/defer", "queue/deferred", "queue/flush", "queue/hold", "queue/incoming",
		"queue/maildrop", "queue/private", "queue/public", "queue/saved", "queue/trace", "data", "boxes")
	check(t, os.Mkdir(filepath.Join(s.Folder, "queue/pid"), 0o755))
	environment := []string{"LD_LIBRARY_PATH=" + s.Library + ":" + filepath.Join(s.Root, "usr/lib/postfix"), "SASL_PATH=" + filepath.Join(s.Library, "sasl2")}
	set := exec.Command(filepath.Join(s.Root, "usr/sbin/saslpasswd2"), "-p", "-c", "-f", filepath.Join(s.Folder, "sasldb"), "-u", "anteroom.example", "relay")
	set.Env, set.Stdin = environment, strings.NewReader("p@ss:/ ?#%")
	if said, err := set.CombinedOutput(); err != nil {
		t.Fatalf("saslpasswd2: %v: %s", err, said)
	}
	s.own("sasldb")
	s.start(environment, "usr/lib/postfix/sbin/master", "-c", filepath.Join(s.Folder, "conf"), "-d")
	return s, fmt.Sprintf("smtp://relay%%40anteroom.example:p%%40ss%%3A%%2F%%20%%3F%%23%%25@127.0.0.1:%d?ca=", s.Port)
}

// exim starts Exim, which refuses clients whose name has no dot at once.
func exim(t *testing.T) (s *server, address string) {
	s = newServer(t)
	s.write("exim.conf", `
exim_user = {{.User.Username}}
exim_group = {{.User.Username}}
exim_path = {{.Root}}/usr/sbin/exim4
never_users =
deliver_drop_privilege
keep_environment = LD_LIBRARY_PATH : LD_PRELOAD : NSS_WRAPPER_PASSWD : NSS_WRAPPER_GROUP
add_environment = PATH=/bin
spool_directory = {{.Folder}}/spool
log_file_path = {{.Folder}}/spool/%slog
primary_hostname = mail.anteroom.example
local_interfaces = 127.0.0.1
daemon_smtp_ports = {{.Port}}
tls_on_connect_ports = {{.Port}}
tls_certificate = {{.Folder}}/certificate.pem
tls_privatekey = {{.Folder}}/key.pem
smtputf8_advertise_hosts = *
dsn_advertise_hosts = *
host_lookup =
rfc1413_hosts =
acl_smtp_helo = helo
acl_smtp_rcpt = recipient
begin acl
helo:
  deny condition = ${if match{$sender_helo_name}{\N\.\N}{no}{yes}}
       message = need fully-qualified hostname
  accept
recipient:
  require authenticated = *
  require verify = recipient
  accept
begin routers
full:
  driver = redirect
  local_parts = full
  allow_fail
  data = :fail: mailbox full
  no_verify
box:
  driver = accept
  domains = anteroom.example
  local_parts = operator : bounces : full
  transport = box
begin transports
box:
  driver = appendfile
  directory = {{.Folder}}/boxes/$local_part_data
  maildir_format
  return_path_add
begin retry
* * F,1h,1s
begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_condition = ${if and{{ "{{" }}eq{$auth2}{relay@anteroom.example}}{eq{$auth3}{p@ss:/ ?#%}}}{yes}{no}}
  server_set_id = $auth2
  server_advertise_condition = ${if def:tls_in_cipher}
`)
	s.own("spool", "boxes", "certificate.pem", "key.pem")
	// The user that Debian's Exim looks for may not be on this machine.
	for _, name := range []string{"passwd", "group"} {
		known, err := os.ReadFile("/etc/" + name)
		check(t, err)
		line := map[string]string{"passwd": "Debian-exim:x:{{.User.Uid}}:{{.User.Gid}}::/:/bin/false\n", "group": "Debian-exim:x:{{.User.Gid}}:\n"}[name]
		s.write(name, string(known)+line)
	}
	s.start([]string{
		"LD_LIBRARY_PATH=" + s.Library, "LD_PRELOAD=" + filepath.Join(s.Library, "libnss_wrapper.so"),
		"NSS_WRAPPER_PASSWD=" + filepath.Join(s.Folder, "passwd"), "NSS_WRAPPER_GROUP=" + filepath.Join(s.Folder, "group"),
	}, "usr/sbin/exim4", "-C", filepath.Join(s.Folder, "exim.conf"), "-bdf", "-q1s")
	return s, fmt.Sprintf("smtps://relay%%40anteroom.example:p%%40ss%%3A%%2F%%20%%3F%%23%%25@127.0.0.1:%d?ca=", s.Port)
}

// own is a service of its own, and the settings of its commands.
type own struct {
	t        *testing.T
	folder   string
	settings []string
}

// newOwn makes a service that mails to one mailbox, and whose bounces go to another.
func newOwn(t *testing.T, to, relay string) *own {
	t.Helper()
	folder := t.TempDir()
	o := &own{t, folder, []string{
		"ANTEROOM_SMTP=" + relay, "ANTEROOM_OUTBOX=" + filepath.Join(folder, "copies"), "ANTEROOM_DATA=" + filepath.Join(folder, "data"),
		"ANTEROOM_PUBLIC=" + filepath.Join(folder, "public"),
	}}
	check(t, os.CopyFS(filepath.Join(folder, "content"), os.DirFS("../../content")))
	edited := regexp.MustCompile(`(?m)^  to: .*$`).ReplaceAllString(text(t, "../../content/service.yaml"), "  to: "+to+"@anteroom.example\n  bounces: bounces@anteroom.example")
	write(t, filepath.Join(folder, "content"), "service.yaml", edited)
	o.run(0, "generate")
	return o
}

// run runs a command, which has to end with a code, and gives what it prints.
func (o *own) run(code int, args ...string) string {
	o.t.Helper()
	command := exec.Command(program(), args...)
	command.Dir, command.Env = o.folder, append(os.Environ(), o.settings...)
	said, _ := command.CombinedOutput()
	if got := command.ProcessState.ExitCode(); got != code {
		o.t.Fatalf("anteroom %q: code %d, want %d: %s", args, got, code, said)
	}
	return string(said)
}

// serve runs the server while do calls it at an address.
func (o *own) serve(do func(base string)) {
	o.t.Helper()
	h := start(o.t, filepath.Join(o.folder, "data"), o.settings...)
	do("http://" + h.address)
	h.Process.Signal(os.Interrupt)
	if err := h.Wait(); err != nil || o.t.Failed() {
		o.t.Errorf("%v: %s", err, h.said)
	}
}

// TestServers: a suggestion and an address arrive, the operator can act upon them, and one that
// bounces is not lost.
func TestServers(t *testing.T) {
	words := strings.Repeat("Publish the tables of holidays. ", 20) + "\\n.\\nZoë"
	for name, start := range map[string]func(*testing.T) (*server, string){"postfix": postfix, "exim": exim} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, address := start(t)
			address += url.QueryEscape(filepath.Join(s.Folder, "certificate.pem"))
			own := newOwn(t, "operator", address)
			own.serve(func(base string) {
				if said := own.run(0, "doctor"); !strings.Contains(said, "\nok      mail: the mail server would take a message; nothing was sent\n") {
					t.Error(said)
				}
				post(t, http.DefaultClient, base+"/api/suggest", `{"suggestion":"`+words+`","contact":"owner@example.org"}`)
				post(t, http.DefaultClient, base+"/api/waitlist", `{"agent_name":"ledger-lark","owner_email":"owner@example.org"}`)
				lists := map[string]bool{}
				for _, mail := range s.mails("operator", 2) {
					lists[mail.Header.Get("List-Id")] = true
					if from := mail.Header.Get("From"); from != `"Anteroom" <relay@anteroom.example>` || mail.Header.Get("Return-Path") != "<bounces@anteroom.example>" ||
						!strings.Contains(mail.Header.Get("Received"), "www.anteroom.example") || !strings.HasPrefix(mail.Header.Get("Subject"), "[Anteroom] ") {
						t.Errorf("%q", mail.Header)
					}
					var text bytes.Buffer
					if _, err := text.ReadFrom(quotedprintable.NewReader(mail.Body)); err != nil || regexp.MustCompile(`(?m)^.{79,}$`).Match(text.Bytes()) {
						t.Errorf("%v: %s", err, &text)
					}
				}
				if len(lists) != 2 || !lists["<suggestions.www.anteroom.example>"] || !lists["<contacts.www.anteroom.example>"] {
					t.Errorf("lists %v", lists)
				}
			})
			if said := own.run(3, "inbox", "--json"); !strings.Contains(said, `"text": "`+strings.TrimSpace(words)+`"`) {
				t.Error(said)
			}
			if said := own.run(1, "doctor", "--smtp", address+"&helo=vm"); !strings.Contains(said, refusals[name]) {
				t.Errorf("a name without a dot: %s, want %s", said, refusals[name])
			}
			lost := newOwn(t, "full", address)
			lost.serve(func(base string) {
				post(t, http.DefaultClient, base+"/api/suggest", `{"suggestion":"Empty your mailbox."}`)
			})
			if bounce := s.mails("bounces", 1)[0]; !strings.Contains(strings.ToLower(bounce.Header.Get("From")), "mailer-daemon@") {
				t.Errorf("a bounce: %q", bounce.Header)
			}
			if said := lost.run(3, "inbox", "--json"); !strings.Contains(said, `"text": "Empty your mailbox."`) {
				t.Errorf("no copy: %s", said)
			}
			// Postfix counts what it was told: by doctor, for two messages, with the bad name, for the last.
			const begin, sent = "ehlo=2 starttls=1 auth=1 mail=1 ", "rcpt=1 data=1 quit=1 commands=8"
			want := []string{begin + "rcpt=2 rset=1 quit=1 commands=9", begin + sent, begin + sent, begin + "rcpt=0/1 quit=1 commands=6/7", begin + sent}
			if got := regexp.MustCompile(`ehlo=2.*`).FindAllString(s.logs(), -1); name == "postfix" && !slices.Equal(got, want) {
				t.Errorf("Postfix was told %q, want %q", got, want)
			}
		})
	}
}

// refusals are the words for a client that calls itself vm.
var refusals = map[string]string{
	"postfix": " RCPT TO: 504 5.5.2 <vm>: Helo command rejected: need fully-qualified hostname (",
	"exim":    " EHLO vm: 550 need fully-qualified hostname (",
}
