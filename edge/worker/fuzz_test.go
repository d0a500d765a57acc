//go:build full && fuzz

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"anteroom/edge/edgetest"
	"anteroom/edge/native"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/native/static"
	"anteroom/edge/respond"
	"anteroom/edge/turn"

	"github.com/go-json-experiment/json/jsontext"
)

var (
	minutes = flag.Float64("minutes", 1, "how long requests are made")
	seed    = flag.Uint64("seed", 0, "seed of the requests; 0 takes the time")
	only    = flag.Uint64("request", 0, "make this request of the seed alone; 0 makes all")
)

const (
	hang       = 5 * time.Second // that an answer may take
	callers    = 12              // connections to each host
	differing  = 12              // findings after which the run ends
	maxReduced = 400             // requests to reduce one finding
)

// caller asks a host over a connection that is kept.
type caller struct {
	address string
	conn    net.Conn
	reader  *bufio.Reader
}

// said is what a host answers. It is nil if the host closed the connection instead, as it may after
// a broken request.
type said struct {
	status int
	header http.Header
	body   []byte
}

func (c *caller) ask(r *request) (*said, error) {
	if r.broken != nil {
		c.close()
	}
	kept := c.conn != nil
	a, err := c.exchange(r)
	if err != nil && kept && !errors.Is(err, os.ErrDeadlineExceeded) { // the host may have closed it meanwhile
		a, err = c.exchange(r)
	}
	return a, err
}

func (c *caller) close() {
	if c.conn != nil {
		c.conn.Close()
	}
	c.conn = nil
}

func (c *caller) exchange(r *request) (a *said, err error) {
	if c.conn == nil {
		if c.conn, err = net.Dial("tcp", c.address); err != nil {
			return nil, err
		}
		c.reader = bufio.NewReader(c.conn)
	}
	defer func() {
		if err != nil || r.broken != nil {
			c.close()
		}
	}()
	c.conn.SetDeadline(time.Now().Add(hang))
	written, conn := make(chan error, 1), c.conn
	go func() { // as a host may answer before it has read all
		_, err := conn.Write(r.wire())
		if r.broken != nil {
			conn.(*net.TCPConn).CloseWrite()
		}
		written <- err
	}()
	answer, err := http.ReadResponse(c.reader, &http.Request{Method: r.method})
	if err == nil {
		a = &said{status: answer.StatusCode, header: answer.Header}
		a.body, err = io.ReadAll(answer.Body)
	}
	if err != nil {
		if r.broken != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return nil, nil
		}
		return nil, err
	}
	if answer.Close || len(r.body) > 0 && <-written != nil {
		c.close()
	}
	return a, nil
}

// overHTTP2 asks as a proxy does that speaks HTTP/2 without TLS. It reports whether the request can
// be put that way.
func overHTTP2(client *http.Client, address string, r *request) (*said, bool, error) {
	out, err := http.NewRequest(r.method, "http://"+address+r.target, bytes.NewReader(r.body))
	if err != nil || out.URL.RequestURI() != r.target || strings.ContainsAny(r.host, " []") {
		return nil, false, nil
	}
	out.Host = r.host
	for _, field := range r.header {
		out.Header.Add(field[0], field[1])
	}
	out.Header.Set("Accept-Encoding", "identity")
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	answer, err := client.Do(out.WithContext(ctx))
	if err != nil && strings.Contains(err.Error(), "larger than peer's advertised limit") {
		return nil, false, nil // each field counts for more there
	}
	if err != nil {
		return nil, true, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return &said{answer.StatusCode, answer.Header, body}, true, err
}

// fuzzer asks both hosts the same, and judges what they say.
type fuzzer struct {
	*maker
	t      *testing.T
	native string // address
	worker string
	client *http.Client // of HTTP/2
	next   atomic.Uint64
	asked  atomic.Int64

	mu       sync.Mutex
	told     map[string]map[[16]byte]string // by host, the records that were answered, each with where
	problems map[string]int                 // 5xx by kind
	findings map[string]int
	once     []string // what did not happen again
}

// TestHostsAlike makes requests for a while. Both hosts have to answer each of them, alike, and
// keep what they say that they keep.
func TestHostsAlike(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().Unix())
	}
	t.Logf("seed %d", *seed)
	engine := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(engine.Close)
	output := documentsWithLog(t)
	s := output.Snapshot
	s.WritesPerMinute, s.IndexNowURLs, s.CurrentKey = 0, []string{engine.URL}, edgetest.PublicKey(edgetest.Key)
	documents, err := static.New(output.Documents)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, d := range output.Documents {
		if d.Path != "/_headers" && d.Path != "/_redirects" {
			paths = append(paths, d.Path)
		}
	}
	data, log := t.TempDir(), &lines{}
	logger := slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	o := bound(t, s)
	o.Assets = publishedAssets(t, output.Documents)
	worker := start(t, o)
	f := &fuzzer{
		maker: newMaker(t, s, paths), t: t,
		native: strings.TrimPrefix(startNative(t, native.Config{Snapshot: s, Documents: documents, Data: data, Log: logger}), "http://"),
		worker: strings.TrimPrefix(worker.url, "http://"),
		told:   map[string]map[[16]byte]string{"native": {}, "worker": {}}, problems: map[string]int{}, findings: map[string]int{},
	}
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	t.Cleanup(transport.CloseIdleConnections)
	f.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	many := callers
	if *only > 0 {
		many = 1
		f.next.Store(*only - 1)
		t.Logf("%s", f.of(*seed, *only).transcript())
	}

	began, runtimes := time.Now(), workerds(t)
	length := time.Duration(*minutes * float64(time.Minute))
	var heap, resident uint64 // after two thirds of the time, as the runtime takes its time to collect
	var all sync.WaitGroup
	for range many {
		all.Go(func() {
			hosts := f.hosts()
			defer func() {
				for _, c := range hosts {
					c.close()
				}
			}()
			for time.Since(began) < length && f.found() < differing {
				f.try(f.next.Add(1), hosts)
				if *only > 0 {
					return
				}
			}
		})
	}
	done := make(chan struct{})
	go func() {
		all.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(length * 2 / 3):
		heap, resident = inUse(), residentOf(t, runtimes)
		<-done
	}
	took, asked := time.Since(began), f.asked.Load()
	f.store(worker, data)
	nativeKB, workerKB := inUse()>>10, residentOf(t, runtimes)>>10
	t.Logf("seed %d: %d requests on each host in %s, %d a second; 5xx %v", *seed, asked, took.Round(time.Second), int64(float64(asked)/took.Seconds()), f.problems)
	t.Logf("memory in kB: machine and test %d, then %d; workerd %d, then %d", heap>>10, nativeKB, resident>>10, workerKB)
	const slack = 64 << 10 // kB
	if grown := nativeKB > heap>>10*5/4+slack || workerKB > resident>>10*5/4+slack; grown && heap > 0 && *minutes >= 3 {
		t.Error("memory grows")
	}
	for _, line := range f.once {
		t.Log("not again: " + line)
	}
	for what, n := range f.findings {
		if n > 1 {
			t.Errorf("%d times: %s", n, what)
		}
	}
	for _, line := range worker.log() {
		log.Write([]byte("worker: " + line + "\n"))
	}
	t.Logf("log:\n%s", log.counted())
}

func (f *fuzzer) hosts() map[string]*caller {
	return map[string]*caller{"native": {address: f.native}, "worker": {address: f.worker}}
}

func (f *fuzzer) found() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.findings)
}

// try makes request n. What is wrong is reduced and reported if it happens again.
func (f *fuzzer) try(n uint64, hosts map[string]*caller) {
	r := f.of(*seed, n)
	what := f.judge(r, hosts, n%16 == 0)
	f.asked.Add(1)
	if what == "" {
		return
	}
	if again := f.judge(r, hosts, true); kindOf(again) != kindOf(what) {
		f.mu.Lock()
		f.once = append(f.once, fmt.Sprintf("request %d: %s\n%s", n, what, r.transcript()))
		f.mu.Unlock()
		return
	}
	f.mu.Lock()
	f.findings[kindOf(what)]++
	first := f.findings[kindOf(what)] == 1
	f.mu.Unlock()
	if !first {
		return
	}
	r, what = f.reduced(r, hosts, what)
	f.t.Errorf("=== seed %d, request %d: %s\n%s", *seed, n, what, r.transcript())
}

// kindOf is what two findings of one fault have in common.
func kindOf(what string) string {
	kind, _, _ := strings.Cut(what, "\n")
	return kind
}

// judge asks both hosts, and says what is wrong; "" if all is well. Its first line is the kind of
// fault. With twice each host is asked again, and has to say the same.
func (f *fuzzer) judge(r *request, hosts map[string]*caller, twice bool) string {
	answers := map[string]*said{}
	for _, host := range []string{"native", "worker"} {
		a, err := hosts[host].ask(r)
		if err != nil {
			return fmt.Sprintf("%s gives no answer: %s", host, regexp.MustCompile(`\d+\.\d+\.\d+\.\d+:\d+`).ReplaceAllString(err.Error(), ""))
		}
		if what := f.fault(r, host, a); what != "" {
			return host + ": " + what
		}
		answers[host] = a
		if !twice || r.broken != nil || r.alone {
			continue
		}
		again, err := hosts[host].ask(r)
		if err != nil {
			return fmt.Sprintf("%s gives no second answer: %v", host, err)
		}
		f.fault(r, host, again)
		if what := f.difference(r, a, again); what != "" {
			return fmt.Sprintf("%s, asked twice: %s", host, what)
		}
	}
	if r.broken != nil || r.alone {
		return ""
	}
	if what := f.difference(r, answers["native"], answers["worker"]); what != "" {
		return "native and worker: " + what
	}
	if twice {
		a, possible, err := overHTTP2(f.client, f.native, r)
		switch {
		case err != nil:
			return fmt.Sprintf("native gives no answer over HTTP/2: %v", err)
		case possible:
			f.fault(r, "native", a)
			if what := f.difference(r, answers["native"], a); what != "" {
				return "native over HTTP/1.1 and HTTP/2: " + what
			}
		}
	}
	return ""
}

var (
	recordID    = regexp.MustCompile(`"record_id":"([0-9a-f]{32})"`)
	problemSlug = regexp.MustCompile(`"type":"[^"]*/problems/([a-z-]+)\.html"`)
)

// fault is what is wrong with an answer by itself.
func (f *fuzzer) fault(r *request, host string, a *said) string {
	if a == nil {
		return ""
	}
	if a.status == 200 && dynamic.MatchString(r.target) {
		f.mu.Lock()
		for _, id := range recordID.FindAllSubmatch(a.body, -1) {
			var key [16]byte
			hex.Decode(key[:], id[1])
			f.told[host][key] = f.place(r)
		}
		f.mu.Unlock()
	}
	media := a.header.Get("Content-Type")
	isJSON := strings.HasPrefix(media, "application/") && strings.Contains(media, "json")
	if a.status >= 500 {
		slug := problemSlug.FindSubmatch(a.body)
		name := host + " " + strconv.Itoa(a.status)
		if slug != nil {
			name += " " + string(slug[1])
		}
		f.mu.Lock()
		f.problems[name]++
		f.mu.Unlock()
		known := slug != nil && slices.ContainsFunc(respond.ProblemTypes, func(p *respond.ProblemType) bool { return p.Slug == string(slug[1]) && p.Status == a.status })
		platform := host == "worker" && slug == nil // the runtime's own, for what Cloudflare's network refuses before it
		if r.broken == nil && (!known || !r.alone) || r.broken != nil && !platform && a.status != 501 && a.status != 505 {
			return fmt.Sprintf("status %s\n%s", name, a.body)
		}
	}
	switch {
	case r.broken != nil:
	case isJSON && len(a.body) > 0 && (!jsontext.Value(a.body).IsValid() || !utf8.Valid(a.body)):
		return fmt.Sprintf("status %d and a body that is not JSON\n%q", a.status, a.body)
	case len(a.body) > 0 && media == "":
		return fmt.Sprintf("status %d and a body of no type\n%q", a.status, a.body)
	case bytes.Contains(a.body, []byte(`"code":-32603`)):
		return fmt.Sprintf("an internal error\n%s", a.body)
	case bytes.Contains(a.body, []byte(`"pass":false`)) && r.alone && a.status == 200:
		return fmt.Sprintf("the self-test fails\n%s", a.body)
	}
	return ""
}

// varying is what differs between two answers to the same.
var varying = regexp.MustCompile(`[0-9a-f]{64}|[0-9a-f]{32}|[0-9a-f]{16}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|[A-Za-z0-9+/]{86}==|/log/lookup/[0-9a-f]{3}#`)

// unlike are the header fields in which two answers to the same may differ: what frames the answer,
// and what a CDN decides by itself.
var unlike = []string{"Date", "Request-Id", "Connection", "Transfer-Encoding", "Content-Length", "Keep-Alive", "Vary", "Accept-Ranges", "Cf-Cache-Status", "X-Mf-Additional-Response-Log"}

// difference says how two answers to the same differ, besides times and identifiers.
func (f *fuzzer) difference(r *request, a, b *said) string {
	if a.status != b.status {
		return fmt.Sprintf("%s, status %d and %d\n%s\n%s", f.place(r), a.status, b.status, cutBody(a.body), cutBody(b.body))
	}
	document := !dynamic.MatchString(r.target)
	names := slices.Sorted(maps.Keys(a.header))
	for name := range b.header {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		one, other := strings.Join(a.header[name], "|"), strings.Join(b.header[name], "|")
		if one == other || slices.Contains(unlike, name) && (name != "Content-Length" || r.method != "HEAD" || document) {
			continue
		}
		if document && (name == "Etag" || name == "Last-Modified" || name == "Cache-Control" && a.status != 200) {
			continue
		}
		return fmt.Sprintf("%s, status %d, header %s\n%q and\n%q", f.place(r), a.status, name, one, other)
	}
	one, other := a.body, b.body
	if !bytes.Equal(one, other) {
		one, other = varying.ReplaceAll(one, []byte("<>")), varying.ReplaceAll(other, []byte("<>"))
	}
	if !bytes.Equal(one, other) {
		at := 0
		for at < min(len(one), len(other)) && one[at] == other[at] {
			at++
		}
		from := max(at-60, 0)
		return fmt.Sprintf("%s, status %d, body\nfrom byte %d: %s\nand: %s", f.place(r), a.status, at, cutBody(one[from:]), cutBody(other[from:]))
	}
	return ""
}

// place is the endpoint of a request in a few words, so that like findings are told once.
func (f *fuzzer) place(r *request) string {
	path, _, _ := strings.Cut(r.target, "?")
	if slices.Contains(f.documents, path) {
		path = "a document"
	} else if path == "/healthz" || path == "/readyz" {
	} else if len(path) > 20 || !strings.HasPrefix(path, "/api/") {
		path = "another path"
	}
	return r.method + " " + path
}

func cutBody(b []byte) string {
	return strconv.Quote(string(b[:min(len(b), 300)]))
}

// reduced is the smallest request found that has the same fault, by leaving out halves of its
// parts, and what is said of it.
func (f *fuzzer) reduced(r *request, hosts map[string]*caller, what string) (*request, string) {
	left, kind := maxReduced, kindOf(what)
	still := func(smaller *request) bool {
		left--
		if smaller.alone = r.broken == nil && alone(smaller, f.maker); smaller.alone != r.alone {
			return false
		}
		said := ""
		if left >= 0 {
			said = f.judge(smaller, hosts, true)
		}
		if kindOf(said) != kind {
			return false
		}
		what = said
		return true
	}
	for _, part := range []struct {
		length func(*request) int
		cut    func(r *request, from, to int)
	}{
		{func(r *request) int { return len(r.broken) }, func(r *request, from, to int) { r.broken = slices.Delete(bytes.Clone(r.broken), from, to) }},
		{func(r *request) int { return len(r.header) }, func(r *request, from, to int) { r.header = slices.Delete(slices.Clone(r.header), from, to) }},
		{func(r *request) int { return len(r.body) }, func(r *request, from, to int) { r.body = slices.Delete(bytes.Clone(r.body), from, to) }},
		{func(r *request) int { return len(r.target) - 1 }, func(r *request, from, to int) { r.target = r.target[:from+1] + r.target[to+1:] }},
	} {
		for size := part.length(r) / 2; size > 0; size /= 2 {
			for from := 0; from+size <= part.length(r) && left > 0; {
				smaller := *r
				part.cut(&smaller, from, from+size)
				if still(&smaller) {
					r = &smaller
				} else {
					from += size
				}
			}
		}
	}
	return r, what
}

// transcript is the request as a transcript has it.
func (r *request) transcript() string {
	if r.broken != nil {
		return strconv.Quote(string(r.broken))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\nhost: %s\n", r.method, r.target, r.host)
	for _, field := range r.header {
		fmt.Fprintf(&b, "%s: %s\n", field[0], field[1])
	}
	body := string(r.body)
	if strconv.Quote(body) != `"`+strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(body)+`"` {
		body = "quoted: " + strconv.Quote(body)
	}
	if r.chunk > 0 {
		fmt.Fprintf(&b, "(in chunks of %d bytes)\n", r.chunk)
	}
	return b.String() + "\n" + body
}

// store compares the records that were answered with those that are stored.
func (f *fuzzer) store(worker *service, data string) {
	reader, err := sqlite.OpenReadOnly(filepath.Join(data, sqlite.FileName))
	if err != nil {
		f.t.Fatal(err)
	}
	defer reader.Close()
	for _, host := range []string{"native", "worker"} {
		told, rows := f.told[host], 0
		for _, table := range []string{"registrations", "charters", "suggestions"} {
			query := "SELECT lower(record_id) AS id FROM " + table
			var ids []string
			if host == "worker" {
				for from := 0; ; from += 10_000 { // a line of the harness is bounded
					part := worker.sql(fmt.Sprintf("%s ORDER BY seq LIMIT 10000 OFFSET %d", query, from))
					for _, row := range part {
						ids = append(ids, row["id"].(string))
					}
					if len(part) == 0 {
						break
					}
				}
			} else {
				result, err := reader.Read(context.Background(), turn.Statement{SQL: query})
				if err != nil {
					f.t.Fatal(err)
				}
				for _, row := range result[0] {
					ids = append(ids, row[0].(string))
				}
			}
			rows += len(ids)
			for _, id := range ids {
				var key [16]byte
				hex.Decode(key[:], []byte(id))
				delete(told, key)
			}
		}
		f.t.Logf("%s: %d records", host, rows)
		for key, place := range told {
			f.t.Errorf("%s has lost record %x, which it answered at %s", host, key, place)
		}
	}
}

// workerds are the processes of the runtime: the children of the harness.
func workerds(t *testing.T) (pids []string) {
	t.Helper()
	children, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", harness.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range children {
		text, _ := os.ReadFile(file)
		pids = append(pids, strings.Fields(string(text))...)
	}
	if len(pids) == 0 {
		t.Fatal("the runtime is not found")
	}
	return pids
}

// residentOf is the memory of processes, in bytes.
func residentOf(t *testing.T, pids []string) (bytes uint64) {
	t.Helper()
	for _, pid := range pids {
		text, err := os.ReadFile("/proc/" + pid + "/statm")
		if err != nil {
			t.Fatal(err)
		}
		pages, _ := strconv.ParseUint(strings.Fields(string(text))[1], 10, 64)
		bytes += pages * uint64(os.Getpagesize())
	}
	return bytes
}

// inUse is the memory of this process, in bytes.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// lines counts the lines of a log that are alike.
type lines struct {
	mu    sync.Mutex
	count map[string]int
}

var special = regexp.MustCompile(`time=\S+|load: .*|reference = \S+|[0-9a-f]{8,}|\d+`)

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count == nil {
		l.count = map[string]int{}
	}
	line, _, _ := strings.Cut(string(p), "\n")
	l.count[special.ReplaceAllString(line, "#")]++
	return len(p), nil
}

func (l *lines) counted() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	for _, line := range slices.Sorted(maps.Keys(l.count)) {
		fmt.Fprintf(&b, "%6d %s\n", l.count[line], line)
	}
	return b.String()
}
