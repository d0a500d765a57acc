package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"anteroom/edge/endpoint/health"
	"anteroom/edge/native/disk"
	"anteroom/edge/native/sqlite"
)

// port looks whether the address of the server is free or, where it is not, who answers there. It
// listens there for a moment.
func (d *doctor) port(ctx context.Context, f *findings) {
	if !d.native {
		return
	}
	at := d.serve.address
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", at)
	switch {
	case err == nil:
		listener.Close()
		f.ok("%s is free: nothing serves there", at)
	case errors.Is(err, syscall.EADDRINUSE):
		d.neighbour(ctx, f)
	case errors.Is(err, fs.ErrPermission):
		f.fault("choose a port from 1024 on, and let the proxy have the lower ones", "this user may not listen at %s", at)
	default:
		f.fault("mend --addr", "%v", err)
	}
}

// neighbour says who answers at the address of the server.
func (d *doctor) neighbour(ctx context.Context, f *findings) {
	at := d.serve.address
	host, port, _ := net.SplitHostPort(at) // it was listened at
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	const mend = "stop it, or choose another port with --addr"
	answer, err := ask(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+health.Live)
	if err != nil {
		f.fault(mend, "another program listens at %s and does not answer", at)
		return
	}
	defer answer.Body.Close()
	var alive struct{ Status, Content string }
	if json.NewDecoder(io.LimitReader(answer.Body, 1<<16)).Decode(&alive) != nil || alive.Status == "" {
		f.fault(mend, "another program answers at %s", at)
		return
	}
	if !d.ready(ctx, f, "http://"+net.JoinHostPort(host, port)) {
		return
	}
	switch {
	case d.output == nil || alive.Content == d.output.Snapshot.ShortVersion():
		f.ok("the service is running at %s, status %.20q, content %.12s", at, alive.Status, alive.Content)
	default:
		f.warn("reload or restart it to serve this content", "the service is running at %s, status %.20q, with content %.12q and not %s",
			at, alive.Status, alive.Content, d.output.Snapshot.ShortVersion())
	}
}

// ready reports whether the server at a URL can do its work, and adds why not.
func (d *doctor) ready(ctx context.Context, f *findings, url string) bool {
	const mend = "the section When something fails of OPERATIONS.md has each; the log says why"
	answer, err := ask(ctx, http.MethodGet, url+health.Ready)
	if err != nil {
		f.fault(mend, "the service is running at %s, and does not say whether it can work", d.serve.address)
		return false
	}
	defer answer.Body.Close()
	var ready struct{ Failing []string }
	if answer.StatusCode == http.StatusOK || json.NewDecoder(io.LimitReader(answer.Body, 1<<16)).Decode(&ready) != nil {
		return true // a program that has no such check is of another version, which the content tells
	}
	if len(ready.Failing) > 0 {
		f.fault(mend, "the service is running at %s, and cannot work: %.80q fails", d.serve.address, strings.Join(ready.Failing, ", "))
	}
	return len(ready.Failing) == 0
}

// transport makes the requests of ask. It is a variable so that tests ask no other machine.
var transport = http.DefaultTransport

// ask makes a request, and follows no redirect.
func ask(ctx context.Context, method, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, err
	}
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return client.Do(request)
}

// skewed is how far a clock may be off. A Date header has whole seconds, and an answer takes time.
const skewed = 30 * time.Second

// clock holds the clock of this machine against that of the host of the service. The time zone is
// of no matter: all times are in UTC.
func (d *doctor) clock(ctx context.Context, f *findings) {
	if d.origin == "" {
		return
	}
	answer, err := ask(ctx, http.MethodHead, d.origin+health.Live)
	if err != nil {
		f.warn("look at the network; if the service is not open yet, leave it", "not compared, as %s does not answer", d.origin)
		return
	}
	answer.Body.Close()
	theirs, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		f.warn("compare it with another clock", "not compared, as %s tells no time", d.origin)
		return
	}
	d.skew(f, theirs, d.origin)
}

// skew holds the clock of this machine against another.
func (d *doctor) skew(f *findings, theirs time.Time, whose string) {
	off := d.t.Now().Sub(theirs).Round(time.Second)
	if off.Abs() > skewed {
		f.warn("set it, and have NTP keep it", "the clock of this machine is %s off that of %s", off, whose)
		return
	}
	f.ok("the clock of this machine is that of %s", whose)
}

// permissions looks who may read what is private, and whether the service may write.
func (d *doctor) permissions(_ context.Context, f *findings) {
	key := d.serve.keyFile
	if d.native && key == "" && d.serve.key == "" {
		key = d.serve.defaultKeyFile()
	}
	var open []string
	private := func(path string) (info fs.FileInfo, closed bool) {
		info, err := os.Stat(path)
		if err != nil {
			return nil, true // the check that needs it says why
		}
		if closed = !disk.IsOpen(info); !closed {
			open = append(open, path)
		}
		return info, closed
	}
	if key != "" {
		private(key)
	}
	if d.logKey.file != "" {
		private(d.logKey.file)
	}
	if d.serve.smtpFile != "" {
		private(d.serve.smtpFile)
	}
	if d.native {
		if folder, closed := private(d.serve.data); folder != nil {
			if !closed {
				private(d.dataFile(sqlite.FileName))
			}
			d.writable(f, folder)
		}
		if d.serve.outbox != "" && d.serve.smtp == "" {
			private(d.serve.outbox)
		}
	}
	if len(open) > 0 {
		f.warn("chmod go= "+strings.Join(open, " "), "others may read %s", few(open))
	}
	if len(f.list) == 0 && (d.native || key != "" || d.logKey.file != "" || d.serve.smtpFile != "") {
		f.ok("what is private is this user's alone")
	}
}

// writable looks whether the data folder and what is in it can be written, and are of one user:
// what root has made in it, the service may not open.
func (d *doctor) writable(f *findings, folder fs.FileInfo) {
	var others, fixed []string
	owner := ownerOf(folder)
	look := func(path string, written bool) {
		info, err := os.Stat(path)
		if err != nil {
			return // it is not there
		}
		// Root may write everywhere, and the service is not root's.
		if written && (!mayWrite(path) || info.Mode().Perm()&0o200 == 0) {
			fixed = append(fixed, path)
		}
		if of := ownerOf(info); of != owner {
			others = append(others, path)
		}
	}
	look(d.serve.data, true)
	look(d.serve.defaultKeyFile(), false)
	look(d.serve.lastGoodFile(), false)
	for _, suffix := range []string{"", "-wal", "-shm"} {
		look(d.dataFile(sqlite.FileName)+suffix, true)
	}
	if d.serve.smtp == "" && d.serve.smtpFile == "" {
		for _, name := range []string{"", "tmp", "new", "cur"} {
			look(filepath.Join(d.serve.mailFolder(), name), true)
		}
	}
	if len(fixed) > 0 {
		f.fault("chmod u+w on each, or "+asTheUser, "%s cannot be written", few(fixed))
	}
	if len(others) > 0 {
		f.fault(fmt.Sprintf("chown -R %s %s; run every command as that user", owner, d.serve.data), "%s: of another user than the data folder, which is %s's", few(others), owner)
	}
}

// secrets are paths that git is not to keep, whether they are there or not.
var secrets = []string{".dev.vars", "receipt.key", "log.key", "backup.db"}

// git looks whether git ignores what is private. Without git or a repository there is nothing to
// look at.
func (d *doctor) git(ctx context.Context, f *findings) {
	if _, err := exec.LookPath("git"); err != nil || !inRepository() {
		return
	}
	root, err := gitSays(ctx, "rev-parse", "--show-toplevel")
	if err != nil {
		f.warn("run doctor as the owner of this folder", "git does not tell what it ignores: %v", err)
		return
	}
	paths := append([]string{d.dataFile(sqlite.FileName), filepath.Join(d.serve.mailFolder(), "new", "1"), d.serve.defaultKeyFile()}, secrets...)
	for _, file := range []string{d.serve.keyFile, d.logKey.file} {
		if file != "" {
			paths = append(paths, file)
		}
	}
	if d.backups != "" {
		paths = append(paths, filepath.Join(d.backups, "backup.db"))
	}
	var inside []string
	for _, path := range distinct(paths) {
		if inFolder(strings.TrimSpace(root), path) {
			inside = append(inside, path)
		}
	}
	tracked, err := gitSays(ctx, append([]string{"ls-files", "--"}, inside...)...)
	if err != nil {
		f.warn("mend the repository", "git does not tell what it keeps: %v", err)
		return
	}
	if list := strings.Fields(tracked); len(list) > 0 {
		f.fault("git rm --cached, and take it out of the history; of a key that was pushed, make a new one", "git keeps %s", few(list))
	}
	var told []string
	for _, path := range inside {
		// It ends with 1 where the path is not ignored.
		if _, err := gitSays(ctx, "check-ignore", "--no-index", "-q", "--", path); err != nil {
			told = append(told, path)
		}
	}
	if len(told) > 0 {
		f.warn("add them to .gitignore", "git does not ignore %s", few(told))
	}
	if len(f.list) == 0 {
		f.ok("git ignores keys, records and backups")
	}
}

// inRepository reports whether this folder is in a repository.
func inRepository() bool {
	folder, err := os.Getwd()
	for err == nil {
		if _, err := os.Lstat(filepath.Join(folder, ".git")); err == nil {
			return true
		}
		above := filepath.Dir(folder)
		if above == folder {
			break
		}
		folder = above
	}
	return false
}

// inFolder is inside, of paths whose links are resolved.
func inFolder(folder, path string) bool { return inside(folder, path) }

// gitSays runs git. The error is the first line that it complains with.
func gitSays(ctx context.Context, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, "git", args...).Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) && len(failed.Stderr) > 0 {
		line, _, _ := strings.Cut(string(failed.Stderr), "\n")
		err = errors.New(line)
	}
	return string(out), err
}

// tools looks for the tools that somebody uses here. The program itself needs none.
func (d *doctor) tools(ctx context.Context, f *findings) {
	if _, err := os.Stat(".wrangler"); err == nil { // wrangler has run here
		program := "wrangler"
		if local := filepath.Join("build", "npm", "node_modules", ".bin", program); isFile(local) {
			program, _ = filepath.Abs(local)
		} else if local := filepath.Join("node_modules", ".bin", program); isFile(local) {
			program, _ = filepath.Abs(local)
		}
		if version, err := says(ctx, program, "--version"); err != nil {
			f.warn("install Node.js and wrangler, or deploy without it", "wrangler was used here, and does not run: %v", err)
		} else {
			f.ok("wrangler %s", version)
		}
	}
	if !isFile(compileScript) || !isFile("go.mod") {
		if len(f.list) == 0 {
			f.ok("the program needs no other")
		}
		return
	}
	if version, err := says(ctx, "go", "env", "GOVERSION"); err != nil {
		f.warn("install the Go that go.mod names", "this is the folder of the source code, and go does not run: %v", err)
	} else {
		f.ok("%s", version)
	}
	const built = "build/cache/toolchain/tinygo"
	if _, err := exec.LookPath("tinygo"); err == nil || isFile(built) {
		f.ok("TinyGo is there, for the worker of Cloudflare")
	} else {
		f.ok("TinyGo, which the worker of Cloudflare is compiled by, is not there: anteroom build fetches it")
	}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// says gives the last line that a program prints.
func says(ctx context.Context, program string, args ...string) (string, error) {
	out, err := exec.CommandContext(ctx, program, args...).Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return fmt.Sprintf("%.80s", lines[len(lines)-1]), err
}
