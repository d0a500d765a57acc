//go:build full

// Package service_test runs the files of this folder with the programs that read them: systemd,
// Caddy, and the host itself.
package service_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"fmt"
	"io"
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

// tool is the path of a program of the system, or of one that make test has fetched.
func tool(t *testing.T, name string) string {
	t.Helper()
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	for _, folder := range []string{"bin", "sbin"} {
		path, _ := filepath.Abs(filepath.Join("../cache/debian/usr", folder, name))
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
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// systemd accepts the units without a word, and counts the services as little exposed.
func TestUnits(t *testing.T) {
	services, _ := filepath.Glob("*.service")
	timers, _ := filepath.Glob("*.timer")
	dir, verify := t.TempDir(), []string{"verify", "--man=no"}
	for _, name := range append(services, timers...) {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(text(t, name), installed, program())), 0o600); err != nil {
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
	if out, err := exec.Command(tool(t, "systemd-analyze"), verify...).CombinedOutput(); err != nil || len(out) > 0 || len(services) == 0 || len(timers) == 0 {
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
	if file := text(t, "Caddyfile"); !strings.Contains(file, "\n"+canonical+", "+apex+" {\n") || address == nil || !strings.Contains(file, "h2c://"+address[1]+" {") {
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
	address string
}

// writeLimit is how many writes a minute a host lets one caller do.
const writeLimit = 3

// start starts a host on a data folder with the settings of anteroom.env. settings win over those.
func start(t *testing.T, data string, settings ...string) *host {
	t.Helper()
	h := &host{Cmd: exec.Command(program(), "serve")}
	h.Dir = "../.."
	h.Env = slices.DeleteFunc(os.Environ(), func(set string) bool { return strings.HasPrefix(set, "ANTEROOM_") })
	for line := range strings.Lines(text(t, "anteroom.env")) {
		if !strings.HasPrefix(line, "#") {
			h.Env = append(h.Env, strings.TrimSpace(line))
		}
	}
	h.Env = append(h.Env, "ANTEROOM_ADDR=127.0.0.1:0", "ANTEROOM_METRICS_ADDR=127.0.0.1:0", "ANTEROOM_DATA="+data, "ANTEROOM_CREATE=true", fmt.Sprint("ANTEROOM_WRITE_LIMIT=", writeLimit))
	h.Env = append(h.Env, settings...)
	h.address = begin(t, h.Cmd).until(t, `serving \S+ at http://(\S+) `)
	return h
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// startProxy starts Caddy with the Caddyfile, on other ports and with certificates of its own. It
// gives clients that call from an address.
func startProxy(t *testing.T, upstream, patience string) (said *output, from func(address string) *http.Client) {
	t.Helper()
	port, plain, dir := freePort(t), freePort(t), t.TempDir()
	for plain == port {
		plain = freePort(t)
	}
	options := fmt.Sprintf("{\n\tadmin off\n\tdefault_bind 127.0.0.1\n\thttp_port %d\n\thttps_port %d\n\tlocal_certs\n\tskip_install_trust\n", plain, port)
	file := strings.Replace(text(t, "Caddyfile"), "\n{\n", "\n"+options, 1)
	file = strings.Replace(file, "127.0.0.1:8080", upstream, 1)
	file = strings.Replace(file, "lb_try_duration 10s", "lb_try_duration "+patience, 1)
	path := filepath.Join(dir, "Caddyfile")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(tool(t, "caddy"), "run", "--config", path, "--adapter", "caddyfile")
	c.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	said = begin(t, c)
	at := fmt.Sprintf("127.0.0.1:%d", port)
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) { // its certificates take a moment
		conn, err := tls.Dial("tcp", at, &tls.Config{ServerName: canonical, InsecureSkipVerify: true})
		if err == nil {
			conn.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%v: %s", err, said)
		}
	}
	return said, func(address string) *http.Client {
		dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
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
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
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

func register(t *testing.T, client *http.Client, base string) {
	t.Helper()
	if answer, body := ask(t, client, "POST", base+"/api/waitlist", `{"agent_name":"lark"}`); answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s", base, answer.StatusCode, body)
	}
}

// Behind Caddy each caller has a limit of its own, the apex redirects, and the log names nobody.
func TestProxy(t *testing.T) {
	t.Parallel()
	h := start(t, t.TempDir())
	said, from := startProxy(t, h.address, "100ms")
	const base = "https://" + canonical
	for n, field := range []string{"X-Forwarded-For", "x-forwarded-for", "X-Real-IP", "Forwarded", "X-Forwarded-For"} {
		want := http.StatusOK // a caller that claims to be another is the same
		if n >= writeLimit {
			want = http.StatusTooManyRequests
		}
		answer, body := ask(t, from("127.0.0.1"), "POST", base+"/api/waitlist", `{"agent_name":"lark"}`, field, fmt.Sprintf("203.0.113.%d", n))
		if answer.StatusCode != want || answer.ProtoMajor != 2 {
			t.Errorf("write %d: %s %d %s", n, answer.Proto, answer.StatusCode, body)
		}
	}
	register(t, from("127.0.0.2"), base)
	answer, _ := ask(t, from("127.0.0.1"), "POST", "https://"+apex+"/api/waitlist?agent_name=x%20y", "{}")
	if answer.StatusCode != http.StatusPermanentRedirect || answer.Header.Get("Location") != base+"/api/waitlist?agent_name=x%20y" || answer.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("the apex: %d %v", answer.StatusCode, answer.Header)
	}
	if answer, body := ask(t, from("127.0.0.1"), "POST", base+"/api/waitlist", strings.Repeat(" ", 20<<20)); answer.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body: %d %s", answer.StatusCode, body)
	}

	checkCompressed(t, from("127.0.0.2"), base)

	h.Process.Kill()
	h.Wait()
	answer, _ = ask(t, from("127.0.0.3"), "GET", base+"/api/waitlist?agent_name=zebedee&owner_email=zebedee%40example.org", "", "User-Agent", "lark", "Cookie", "x=y")
	if answer.StatusCode != http.StatusBadGateway {
		t.Errorf("without a host: %d", answer.StatusCode)
	}
	said.until(t, `"logger":"(http.log.error)"`)
	for _, secret := range []string{"zebedee", "owner_email", "127.0.0.3", "lark", "Cookie"} {
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
		if plain.Header.Get("Content-Encoding") != "" || zipped.Header.Get("Content-Encoding") != "gzip" || len(short) > len(text)/2 ||
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

// nginx compresses with the directives that OPERATIONS.md names.
func TestNginx(t *testing.T) {
	t.Parallel()
	operations, err := os.ReadFile("../../OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	directives := regexp.MustCompile("`(gzip on;[^`]*)`").FindSubmatch(operations)
	if directives == nil {
		t.Fatal("OPERATIONS.md has no directives of nginx")
	}
	h, port, dir := start(t, t.TempDir()), freePort(t), t.TempDir()
	file := filepath.Join(dir, "nginx.conf")
	conf := fmt.Sprintf(`daemon off;
master_process off;
pid %[1]s/pid;
error_log stderr;
events {}
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	%[2]s
	server {
		listen 127.0.0.1:%[3]d;
		location / {
			proxy_pass http://%[4]s;
			proxy_set_header Host %[5]s;
		}
	}
}
`, dir, directives[1], port, h.address, canonical)
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	said := begin(t, exec.Command(tool(t, "nginx"), "-p", dir, "-e", "stderr", "-c", file))
	base := fmt.Sprintf("http://127.0.0.1:%d", port)
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		answer, err := http.Get(base + "/api/health")
		if err == nil {
			answer.Body.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%v: %s", err, said)
		}
	}
	checkCompressed(t, http.DefaultClient, base)
}

// Who calls while the host restarts waits for it, and gets an answer.
func TestRestart(t *testing.T) {
	t.Parallel()
	data, address := t.TempDir(), fmt.Sprintf("127.0.0.1:%d", freePort(t))
	h := start(t, data, "ANTEROOM_ADDR="+address)
	_, from := startProxy(t, address, "10s")
	register(t, from("127.0.0.1"), "https://"+canonical)
	h.Process.Signal(os.Interrupt)
	if err := h.Wait(); err != nil {
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	for _, request := range []string{"GET /api/quest", "POST /api/waitlist"} {
		calls.Go(func() {
			method, path, _ := strings.Cut(request, " ")
			r, _ := http.NewRequest(method, "https://"+canonical+path, strings.NewReader(`{"agent_name":"meanwhile"}`))
			if answer, err := from("127.0.0.1").Do(r); err != nil || answer.StatusCode != http.StatusOK {
				t.Errorf("%s: %v, %v", request, answer, err)
			}
		})
	}
	time.Sleep(100 * time.Millisecond) // both are under way by then, or test less
	start(t, data, "ANTEROOM_ADDR="+address)
	calls.Wait()
}

// A request that the host may have taken before it died is not sent again: a GET registers. That of
// a document is.
func TestDiesBeforeItAnswers(t *testing.T) {
	t.Parallel()
	type connection struct{}
	var mu sync.Mutex
	asked := map[string]int{}
	dies := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if asked[r.URL.Path]++; asked[r.URL.Path] == 1 {
			r.Context().Value(connection{}).(net.Conn).Close()
		}
	}))
	dies.Config.Protocols = new(http.Protocols)
	dies.Config.Protocols.SetUnencryptedHTTP2(true)
	dies.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connection{}, c) }
	dies.Start()
	defer dies.Close()
	_, from := startProxy(t, dies.Listener.Addr().String(), "10s")
	for path, want := range map[string][2]int{
		"/api/waitlist?agent_name=once": {http.StatusBadGateway, 1}, "/api/org": {http.StatusBadGateway, 1}, "/robots.txt": {http.StatusOK, 2},
	} {
		answer, _ := ask(t, from("127.0.0.1"), "GET", "https://"+canonical+path, "")
		name, _, _ := strings.Cut(path, "?")
		mu.Lock()
		if answer.StatusCode != want[0] || asked[name] != want[1] {
			t.Errorf("%s: %d, and the host was asked %d times", path, answer.StatusCode, asked[name])
		}
		mu.Unlock()
	}
}
