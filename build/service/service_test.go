//go:build full

// Package service_test runs the files of this folder with the programs that read them: systemd,
// Caddy, mail servers, and the host itself.
package service_test

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// installed is where the files of this folder say that the program is.
const installed = "/usr/local/bin/anteroom"

// The hosts of the content, which TestHosts compares.
const (
	canonical = "www.anteroom.example"
	apex      = "anteroom.example"
)

// program is the path of the program: the one that the gate has built, or a new one.
var program = sync.OnceValue(func() string {
	if built := os.Getenv("ANTEROOM_BIN"); built != "" {
		return built
	}
	built := filepath.Join(os.TempDir(), "anteroom-service-test")
	if said, err := exec.Command("go", "build", "-o", built, "../../cmd/anteroom").CombinedOutput(); err != nil {
		panic(fmt.Sprintf("build the program: %v: %s", err, said))
	}
	return built
})

// unpacked is the folder of the programs that make gate has fetched.
var unpacked = sync.OnceValue(func() string {
	folder, err := filepath.Abs("../cache/debian/usr")
	if err != nil {
		panic(err)
	}
	return folder
})

// command is a call of a program of the system, or of one that make gate has fetched.
func command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(tool(t, name), args...)
	libraries, _ := filepath.Glob(filepath.Join(unpacked(), "lib/*-linux-gnu"))
	c.Env = append(os.Environ(), "LD_LIBRARY_PATH="+strings.Join(libraries, ":"))
	return c
}

// tool is the path of such a program.
func tool(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, folder := range []string{"bin", "sbin"} {
		path := filepath.Join(unpacked(), folder, name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	t.Fatalf("%s is not installed (build/toolchain/debian.sh fetches it on Debian)", name)
	return ""
}

// text is a file of this folder.
func text(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	check(t, err)
	return string(b)
}

// systemd accepts the units without a word, and counts the services as little exposed.
func TestUnits(t *testing.T) {
	services, _ := filepath.Glob("*.service")
	timers, _ := filepath.Glob("*.timer")
	sockets, _ := filepath.Glob("*.socket")
	dir, verify := t.TempDir(), []string{"verify", "--man=no"}
	for _, name := range slices.Concat(services, timers, sockets) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.NewReplacer(installed, program(), "/usr/local/bin/litestream", program()).Replace(text(t, name))), 0o600); err != nil {
			t.Fatal(err)
		}
		verify = append(verify, path)
		if filepath.Ext(name) != ".service" {
			continue
		}
		if !strings.Contains(text(t, name), "\nUser=anteroom\nGroup=anteroom\n") && !strings.Contains(text(t, name), "\nDynamicUser=true\n") {
			t.Errorf("%s runs as another user", name)
		}
		out, err := exec.Command(tool(t, "systemd-analyze"), "security", "--no-pager", "--offline=true", path).CombinedOutput()
		match := regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+)`).FindSubmatch(out)
		if err != nil || match == nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
		if exposure, err := strconv.ParseFloat(string(match[1]), 64); err != nil || exposure > 2 {
			t.Errorf("%s: its exposure is %s, want at most 2:\n%s", name, match[1], out)
		}
	}
	if out, err := exec.Command(tool(t, "systemd-analyze"), verify...).CombinedOutput(); err != nil || len(out) > 0 || len(services) == 0 || len(timers) == 0 || len(sockets) == 0 {
		t.Errorf("%v: %s", err, out)
	}
	users := strings.TrimSpace(regexp.MustCompile(`(?m)^#.*$`).ReplaceAllString(text(t, "anteroom.sysusers"), ""))
	out, err := exec.Command(tool(t, "systemd-sysusers"), "--dry-run", "--root="+t.TempDir(), "--inline", "--", users).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "user 'anteroom' (Anteroom)") {
		t.Errorf("%v: %s", err, out)
	}
}

// Every variable that is set for the program is one of its flags: an unknown one would be ignored.
func TestSettings(t *testing.T) {
	for file, command := range map[string]string{
		"anteroom.service": "serve", "anteroom.env": "serve", "anteroom-backup.service": "backup",
	} {
		help, err := exec.Command(program(), command, "--help").CombinedOutput()
		names := regexp.MustCompile(`(?m)^#?(?:Environment=)?ANTEROOM_([A-Z_]+)=`).FindAllStringSubmatch(text(t, file), -1)
		if err != nil || len(names) == 0 {
			t.Errorf("%s: %v, %d settings", file, err, len(names))
		}
		for _, name := range names {
			flag := "--" + strings.ToLower(strings.ReplaceAll(name[1], "_", "-"))
			if !regexp.MustCompile(flag + `\s`).Match(help) {
				t.Errorf("%s sets ANTEROOM_%s, and anteroom %s has no flag %s", file, name[1], command, flag)
			}
		}
	}
}

// The Caddyfile names the hosts of the content, and the address of the service.
func TestHosts(t *testing.T) {
	for _, line := range []string{`canonical_host: ` + canonical, `apex_host: ` + apex} {
		if !regexp.MustCompile(`(?m)^` + line + `(\s|$)`).MatchString(text(t, "../../content/service.yaml")) {
			t.Errorf("the content lacks %q", line)
		}
	}
	address := regexp.MustCompile(`(?m)^ANTEROOM_ADDR=(.*)$`).FindStringSubmatch(text(t, "anteroom.env"))
	if file := text(t, "Caddyfile"); !strings.Contains(file, "\n"+canonical+", "+apex+" {\n") || address == nil || !strings.Contains(file, "reverse_proxy "+address[1]+" {") {
		t.Errorf("the Caddyfile does not lead from these hosts to %q", address)
	}
}

// runUnit runs the commands of a unit in a folder, up to the first that fails, as systemd reads
// them: without quotes, escapes and specifiers.
func runUnit(t *testing.T, unit, dir string, environment ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	for _, set := range regexp.MustCompile(`(?m)^Environment=(\S+)$`).FindAllStringSubmatch(text(t, unit), -1) {
		environment = append([]string{set[1]}, environment...)
	}
	for _, line := range regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindAllStringSubmatch(text(t, unit), -1) {
		plain, quoted, isQuoted := strings.Cut(strings.ReplaceAll(line[1], installed, program()), "'")
		arguments := strings.Fields(plain)
		if isQuoted {
			arguments = append(arguments, strings.NewReplacer(`\\`, `\`, "%%", "%", "$$", "$").Replace(strings.TrimSuffix(quoted, "'")))
		}
		c := exec.Command(arguments[0], arguments[1:]...)
		c.Dir, c.Env, c.Stdout, c.Stderr = dir, append(os.Environ(), environment...), &out, &out
		if err := c.Run(); err != nil {
			return out.String(), err
		}
	}
	return out.String(), nil
}

// A backup has the day in its name, and the oldest ones go, unless the new one failed.
func TestTimers(t *testing.T) {
	data, backups := t.TempDir(), t.TempDir()
	for day := range 20 {
		os.WriteFile(filepath.Join(backups, fmt.Sprintf("anteroom-2025-01-%02d.db", day+1)), nil, 0o600)
	}
	list := func() (names []string) {
		entries, _ := os.ReadDir(backups)
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	before := list()
	if out, err := runUnit(t, "anteroom-backup.service", backups, "ANTEROOM_DATA="+data); err == nil || !slices.Equal(list(), before) {
		t.Errorf("a backup of nothing: %v %s, and %q are left", err, out, list())
	}
	h := start(t, data)
	register(t, http.DefaultClient, "http://"+h.address)
	for range 2 { // the second one of a day replaces the first
		if out, err := runUnit(t, "anteroom-backup.service", backups, "ANTEROOM_DATA="+data); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	names := list()
	if newest := names[len(names)-1]; len(names) != 14 || !slices.Equal(names[:13], before[7:]) || !strings.HasPrefix(newest, time.Now().UTC().Format("anteroom-2006-01-")) {
		t.Errorf("%q are left", names)
	}
}

// output is what a program says, while it runs.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// until waits until a part of what was said matches, and gives what the parentheses hold.
func (o *output) until(t *testing.T, pattern string) string {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if match := regexp.MustCompile(pattern).FindStringSubmatch(o.String()); match != nil {
			return match[1]
		}
	}
	t.Fatalf("it never says %s: %s", pattern, o)
	return ""
}

// begin starts a command, which ends with the test.
func begin(t *testing.T, c *exec.Cmd) *output {
	t.Helper()
	said := &output{}
	c.Stdout, c.Stderr = said, said
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	return said
}

// host is a running host.
type host struct {
	*exec.Cmd
	said    *output
	address string
}

// writeLimit is how many writes a minute a host lets one caller do.
const writeLimit = 3

// start starts a host on a data folder with the settings of anteroom.env. settings win over those.
func start(t *testing.T, data string, settings ...string) *host {
	t.Helper()
	return startWith(t, nil, data, settings...)
}

// startWith starts a host as a service manager does that has opened its socket, unless that is nil.
func startWith(t *testing.T, socket *os.File, data string, settings ...string) *host {
	t.Helper()
	h := &host{Cmd: exec.Command(program(), "serve")}
	os.Chmod(data, 0o700) // t.TempDir is open to others; serve makes a missing folder
	if socket != nil {
		h.Cmd = exec.Command("sh", "-c", `LISTEN_PID=$$ exec "$0" serve`, program())
		h.ExtraFiles, settings = []*os.File{socket}, append(slices.Clone(settings), "LISTEN_FDS=1")
	}
	h.Dir = "../.."
	h.Env = slices.DeleteFunc(os.Environ(), func(set string) bool { return strings.HasPrefix(set, "ANTEROOM_") })
	for line := range strings.Lines(text(t, "anteroom.env")) {
		if !strings.HasPrefix(line, "#") {
			h.Env = append(h.Env, strings.TrimSpace(line))
		}
	}
	h.Env = append(h.Env, "ANTEROOM_ADDR=127.0.0.1:0", "ANTEROOM_METRICS_ADDR=127.0.0.1:0", "ANTEROOM_DATA="+data, "ANTEROOM_CREATE=true", fmt.Sprint("ANTEROOM_WRITE_LIMIT=", writeLimit))
	h.Env = append(h.Env, settings...)
	h.said = begin(t, h.Cmd)
	h.address = h.said.until(t, `(?m)^http://(\S+)$`)
	return h
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", ":0") // of IPv4 and IPv6
	check(t, err)
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// changed is a configuration with other texts in place of some, each of which it has.
func changed(t *testing.T, conf string, texts ...string) string {
	t.Helper()
	for i := 0; i < len(texts); i += 2 {
		if !strings.Contains(conf, texts[i]) {
			t.Fatalf("the configuration lacks %q", texts[i])
		}
		conf = strings.Replace(conf, texts[i], texts[i+1], 1)
	}
	return conf
}

// write writes a file into a folder, and gives its path.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	check(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// proxies start a proxy with its file of this folder, on other ports of 127.0.0.1 and ::1.
var proxies = map[string]func(t *testing.T, dir, upstream string, secure, plain int) *exec.Cmd{
	"Caddy": func(t *testing.T, dir, upstream string, secure, plain int) *exec.Cmd {
		options := fmt.Sprintf("\n{\n\tadmin off\n\tdefault_bind 127.0.0.1 [::1]\n\thttp_port %d\n\thttps_port %d\n\tlocal_certs\n\tskip_install_trust\n", plain, secure)
		path := write(t, dir, "Caddyfile", changed(t, text(t, "Caddyfile"), "\n{\n", options, "127.0.0.1:8080", upstream))
		c := command(t, "caddy", "run", "--config", path, "--adapter", "caddyfile")
		c.Env = append(c.Env, "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
		return c
	},
	"nginx": func(t *testing.T, dir, upstream string, secure, plain int) *exec.Cmd {
		certificate, key := certify(t, dir)
		write(t, dir, "anteroom.conf", changed(t, text(t, "nginx.conf"),
			"listen 80;", fmt.Sprintf("listen 127.0.0.1:%d;", plain), "listen [::]:80;", fmt.Sprintf("listen [::1]:%d;", plain),
			"listen 443 ssl", fmt.Sprintf("listen 127.0.0.1:%d ssl", secure), "listen [::]:443 ssl", fmt.Sprintf("listen [::1]:%d ssl", secure),
			"/etc/ssl/anteroom/fullchain.pem", certificate, "/etc/ssl/anteroom/privkey.pem", key,
			"/var/log/nginx/anteroom.log", "stderr", "127.0.0.1:8080", upstream))
		main := "daemon off;\nmaster_process off;\npid pid;\nerror_log stderr;\nevents {}\nhttp {\n\taccess_log off;\n\tinclude anteroom.conf;\n"
		for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
			main += "\t" + kind + "_temp_path " + kind + ";\n"
		}
		return command(t, "nginx", "-p", dir, "-e", "stderr", "-c", write(t, dir, "nginx.conf", main+"}\n"))
	},
}

// certify makes a certificate of both hosts, and gives its file and that of its key.
func certify(t *testing.T, dir string) (certificate, key string) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	about := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{canonical, apex}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, about, about, secret.Public(), secret)
	check(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(secret)
	check(t, err)
	return write(t, dir, "certificate.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))),
		write(t, dir, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
}

// startProxy starts a proxy. from returns a client that calls from an address of this machine, of
// IPv4 or IPv6.
func startProxy(t *testing.T, name, upstream string) (said *output, from func(address string) *http.Client) {
	t.Helper()
	port, plain := freePort(t), freePort(t)
	for plain == port {
		plain = freePort(t)
	}
	said = begin(t, proxies[name](t, t.TempDir(), upstream, port, plain))
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) { // certificates take a moment
		conn, err := tls.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port), &tls.Config{ServerName: canonical, InsecureSkipVerify: true})
		if err == nil {
			conn.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%v: %s", err, said)
		}
	}
	return said, func(address string) *http.Client {
		dialer, at := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}, fmt.Sprintf("127.0.0.1:%d", port)
		if address == "::1" {
			at = fmt.Sprintf("[::1]:%d", port)
		}
		transport := &http.Transport{
			DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return dialer.DialContext(ctx, network, at)
			},
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true,
		}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
}

// ask sends a request with header lines, and gives the answer with its body.
func ask(t *testing.T, client *http.Client, method, url, body string, header ...string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	check(t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	r.Host = cmp.Or(r.Header.Get("Host"), r.Host)
	answer, err := client.Do(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return answer, string(said)
}

func post(t *testing.T, client *http.Client, url, body string) {
	t.Helper()
	if answer, said := ask(t, client, "POST", url, body, "Content-Type", "application/json"); answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s", url, answer.StatusCode, said)
	}
}

func register(t *testing.T, client *http.Client, base string) {
	t.Helper()
	post(t, client, base+"/api/waitlist", `{"agent_name":"lark"}`)
}

// Behind each proxy a caller has a limit of its own, over IPv4 and IPv6. The apex redirects, and
// the host refuses another host name, a large body and a long address.
func TestProxies(t *testing.T) {
	t.Parallel()
	for name := range proxies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, from := startProxy(t, name, start(t, t.TempDir()).address)
			const base = "https://" + canonical
			for _, caller := range []string{"127.0.0.1", "::1"} {
				for n, field := range []string{"X-Forwarded-For", "x-forwarded-for", "X-Real-IP", "Forwarded", "X-Forwarded-For"} {
					want := http.StatusOK // a caller that claims to be another is the same
					if n >= writeLimit {
						want = http.StatusTooManyRequests
					}
					answer, body := ask(t, from(caller), "POST", base+"/api/waitlist", `{"agent_name":"lark"}`, field, fmt.Sprintf("203.0.113.%d", n))
					if answer.StatusCode != want || answer.ProtoMajor != 2 {
						t.Errorf("write %d from %s: %s %d %s", n, caller, answer.Proto, answer.StatusCode, body)
					}
				}
			}
			register(t, from("127.0.0.2"), base)
			answer, _ := ask(t, from("127.0.0.1"), "POST", "https://"+apex+"/api/waitlist?agent_name=x%20y", "{}")
			if answer.StatusCode != http.StatusPermanentRedirect || answer.Header.Get("Location") != base+"/api/waitlist?agent_name=x%20y" || answer.Header.Get("Access-Control-Allow-Origin") != "*" {
				t.Errorf("the apex: %d %v", answer.StatusCode, answer.Header)
			}
			for what, c := range map[string]struct {
				method, url, body, host string
				want                    int
			}{
				"a large body":   {"POST", base + "/api/waitlist", strings.Repeat(" ", 20<<20), canonical, http.StatusRequestEntityTooLarge},
				"a long address": {"GET", base + "/api/waitlist?agent_name=" + strings.Repeat("x", 20<<10), "", canonical, http.StatusRequestURITooLong},
				"another host":   {"GET", base + "/api/quest", "", "www.other.example", http.StatusMisdirectedRequest},
			} {
				if answer, _ := ask(t, from("127.0.0.1"), c.method, c.url, c.body, "Host", c.host); answer.StatusCode != c.want {
					t.Errorf("%s: %d, want %d", what, answer.StatusCode, c.want)
				}
			}
			checkCompressed(t, from("127.0.0.2"), base)
			checkRefusedEarly(t, from("127.0.0.1"))
		})
	}
}

// checkRefusedEarly checks that a refusal arrives, however much of the body the host leaves unread:
// over HTTP/2, and over HTTP/1.1 by a caller that reads once it has sent everything.
func checkRefusedEarly(t *testing.T, client *http.Client) {
	t.Helper()
	dial := client.Transport.(*http.Transport).DialContext
	var all sync.WaitGroup
	defer all.Wait()
	for _, size := range []int{64<<10 + 1, 300 << 10, 5 << 20} {
		for url, want := range map[string]int{
			"https://" + canonical + "/api/waitlist": http.StatusRequestEntityTooLarge,
			"https://" + canonical + "/api/mcp":      http.StatusRequestEntityTooLarge,
			"https://" + canonical + "/llms.txt":     http.StatusMethodNotAllowed,
			"https://" + canonical + "/api/quest":    http.StatusMethodNotAllowed,
			"https://" + canonical + "/nope":         http.StatusNotFound,
			"https://" + canonical + "/api/nope":     http.StatusNotFound,
			"https://" + apex + "/api/waitlist":      http.StatusPermanentRedirect,
			"https://" + canonical + "/mcp":          http.StatusPermanentRedirect,
		} {
			all.Go(func() {
				for range 4 {
					answer, err := client.Post(url, "application/json", bytes.NewReader(make([]byte, size)))
					if err != nil {
						t.Errorf("%d bytes to %s over HTTP/2: %v", size, url, err)
						continue
					}
					answer.Body.Close()
					if answer.StatusCode != want {
						t.Errorf("%d bytes to %s over %s: %d, want %d", size, url, answer.Proto, answer.StatusCode, want)
					}
					if answer, err = sendWhole(dial, url, size); err != nil || answer.StatusCode != want {
						t.Errorf("%d bytes to %s over HTTP/1.1: %v (%v), want %d", size, url, answer, err, want)
					}
				}
			})
		}
	}
}

// sendWhole sends zeros over HTTP/1.1, and reads the answer after the last of them.
func sendWhole(
	dial func(context.Context, string, string) (net.Conn, error), url string, size int,
) (*http.Response, error) {
	r, err := http.NewRequest("POST", url, bytes.NewReader(make([]byte, size)))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	plain, err := dial(r.Context(), "tcp", "")
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	plain.SetDeadline(time.Now().Add(30 * time.Second))
	conn := tls.Client(plain, &tls.Config{ServerName: r.Host, InsecureSkipVerify: true})
	if err := r.Write(conn); err != nil {
		return nil, fmt.Errorf("send: %w", err)
	}
	return http.ReadResponse(bufio.NewReader(conn), r)
}

// What Caddy logs of a failure names neither its caller nor what it sent.
func TestCaddyLog(t *testing.T) {
	t.Parallel()
	said, from := startProxy(t, "Caddy", fmt.Sprintf("127.0.0.1:%d", freePort(t)))
	go from("127.0.0.3").Get("https://" + canonical + "/api/waitlist?agent_name=zebedee&owner_email=zebedee%40example.org")
	said.until(t, `"logger":"(http.log.error)"`)
	for _, secret := range []string{"zebedee", "owner_email", "127.0.0.3", "Go-http-client"} {
		if log := said.String(); strings.Contains(log, secret) || !strings.Contains(log, `"uri":"/api/waitlist"`) {
			t.Errorf("the log holds %q, or does not say what has failed", secret)
		}
	}
}

// checkCompressed checks that a proxy compresses, and that a compressed answer does not keep the
// strong tag of the plain one, but is revalidated by its tag.
func checkCompressed(t *testing.T, client *http.Client, base string) {
	t.Helper()
	for _, path := range []string{"/openapi.json", "/api/quest", "/", "/llms.txt"} {
		plain, text := ask(t, client, "GET", base+path, "", "Accept-Encoding", "identity;q=1, *;q=0")
		zipped, short := ask(t, client, "GET", base+path, "", "Accept-Encoding", "gzip")
		tag := zipped.Header.Get("ETag")
		if plain.Header.Get("Content-Encoding") != "" || zipped.Header.Get("Content-Encoding") != "gzip" || len(short) >= len(text) ||
			tag != "W/"+strings.TrimPrefix(plain.Header.Get("ETag"), "W/") {
			t.Errorf("%s: plain %v, compressed %v", path, plain.Header, zipped.Header)
		}
		if unzipped, err := gzip.NewReader(strings.NewReader(short)); err != nil {
			t.Error(err)
		} else if all, err := io.ReadAll(unzipped); err != nil || string(all) != text {
			t.Errorf("%s: decompressed, the text differs (%v)", path, err)
		}
		if again, _ := ask(t, client, "GET", base+path, "", "Accept-Encoding", "gzip", "If-None-Match", tag); again.StatusCode != http.StatusNotModified {
			t.Errorf("%s: If-None-Match %s: status %d", path, tag, again.StatusCode)
		}
	}
}

// Nobody who calls while the host restarts gets an error, if the service manager holds the socket:
// the proxies make a connection for each request.
func TestRestart(t *testing.T) {
	t.Parallel()
	for name := range proxies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			socket, err := net.Listen("tcp", "127.0.0.1:0")
			check(t, err)
			defer socket.Close()
			file, err := socket.(*net.TCPListener).File()
			check(t, err)
			defer file.Close()
			settings := []string{"ANTEROOM_ADDR=" + socket.Addr().String(), "ANTEROOM_WRITE_LIMIT=0"}
			data := t.TempDir()
			h := startWith(t, file, data, settings...)
			_, from := startProxy(t, name, h.address)
			register(t, from("127.0.0.1"), "https://"+canonical)
			const calls = 200
			var all sync.WaitGroup
			var lost output
			for i := range calls {
				all.Go(func() {
					time.Sleep(time.Duration(i) * 10 * time.Millisecond) // over two seconds
					method, path := "POST", "/api/waitlist"
					if i%2 == 0 {
						method, path = "GET", "/api/quest"
					}
					r, _ := http.NewRequest(method, "https://"+canonical+path, strings.NewReader(`{"agent_name":"meanwhile"}`))
					answer, err := from("127.0.0.1").Do(r)
					if err == nil && answer.StatusCode != http.StatusOK {
						err = errors.New(answer.Status)
					}
					if err != nil {
						fmt.Fprintln(&lost, method, err)
						return
					}
					answer.Body.Close()
				})
			}
			time.Sleep(500 * time.Millisecond)
			h.Process.Signal(os.Interrupt)
			if err := h.Wait(); err != nil {
				t.Error(err)
			}
			time.Sleep(500 * time.Millisecond)
			startWith(t, file, data, settings...)
			all.Wait()
			if said := lost.String(); said != "" {
				t.Errorf("%d of %d calls failed: %s", strings.Count(said, "\n"), calls, said)
			}
		})
	}
}

// A request that the host may have taken before it died is not sent again: a GET registers.
func TestDiesBeforeItAnswers(t *testing.T) {
	t.Parallel()
	for name := range proxies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var asked atomic.Int64
			dies := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if asked.Add(1) > 1 { // the first has told the proxy that the host is well
					panic(http.ErrAbortHandler)
				}
			}))
			defer dies.Close()
			_, from := startProxy(t, name, dies.Listener.Addr().String())
			for n, want := range []int{http.StatusOK, http.StatusBadGateway, http.StatusBadGateway} {
				answer, _ := ask(t, from("127.0.0.1"), "GET", "https://"+canonical+"/api/waitlist?agent_name=once", "")
				if answer.StatusCode != want || asked.Load() != int64(n+1) {
					t.Errorf("request %d: %d, and the host was asked %d times", n, answer.StatusCode, asked.Load())
				}
			}
		})
	}
}
