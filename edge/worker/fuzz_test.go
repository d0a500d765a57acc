//go:build full && fuzz

package main

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"anteroom/edge/api"
	"anteroom/edge/edgetest"
	"anteroom/edge/input"
	"anteroom/edge/native"
)

var (
	minutes = flag.Float64("minutes", 1, "how long requests are made")
	seed    = flag.Uint64("seed", 0, "seed of the requests; 0 takes the time")
	only    = flag.Uint64("request", 0, "make this request of the seed alone; 0 makes all")
)

// maker makes requests: the same ones of the same seed.
type maker struct {
	*rand.Rand
	host       string
	transcript []*http.Request // of all transcripts, without their bodies
	bodies     []string
}

func newMaker(t *testing.T, host string) *maker {
	m := &maker{host: host}
	files, err := filepath.Glob("../edgetest/transcripts/*.txt")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d transcripts, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for part := range strings.SplitSeq(string(text), "\n=== ") {
			_, part, _ = strings.Cut(part, "\n")
			asked, _, _ := strings.Cut(part, "\n---\n")
			head, body, _ := strings.Cut(asked, "\n\n")
			first, fields, _ := strings.Cut(head, "\n")
			method, target, _ := strings.Cut(first, " ")
			r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(method + " " + target + " HTTP/1.1\r\n" + strings.ReplaceAll(fields, "\n", "\r\n") + "\r\nHost: " + host + "\r\n\r\n")))
			if err == nil {
				m.transcript, m.bodies = append(m.transcript, r), append(m.bodies, strings.TrimSuffix(body, "\n"))
			}
		}
	}
	return m
}

func pick[T any](m *maker, of ...T) T { return of[m.IntN(len(of))] }

// pieces are what texts are made of.
var pieces = []string{
	"ada", "A long enough text for a suggestion. ", "0", "-1", "1e400", "true", "null", " ", "\n", "\x00", "\x7f", "\u2028", "é", "e\u0301", "😀", "\ufeff", "\xff", "\xed\xa0\x80",
	"\"", "\\", "%00", "%", "+", "=", "&", ";", ",", ":", "owner@example.org", "@", "2026-11-20", "2026-02-30", "us-nyse", "rainmaker:30", "__proto__", "\\ud800", "\\u0000", "{}", "[[[[", "}",
}

// scratched is a text with a few bytes changed, cut out, doubled or put in.
func (m *maker) scratched(s string) string {
	for range 1 + m.IntN(3) {
		from := m.IntN(len(s) + 1)
		to := min(len(s), from+m.IntN(pick(m, 1, 4, 100)+1))
		s = s[:from] + pick(m, "", s[from:to]+s[from:to], pick(m, pieces...), strings.Repeat(pick(m, pieces...), pick(m, 40, 100, 1000))) + s[to:]
	}
	return s
}

// of makes request n of a seed, and its body: one of a transcript, or a call of an operation. Most
// are damaged somewhere.
func (m *maker) of(seed, n uint64) (*http.Request, string) {
	one := *m
	one.Rand = rand.New(rand.NewPCG(seed, n))
	return one.request()
}

func (m *maker) request() (*http.Request, string) {
	i := m.IntN(len(m.transcript))
	r, body := m.transcript[i].Clone(context.Background()), m.bodies[i]
	if route := pick(m, api.Routes...); m.IntN(2) == 0 {
		op := pick(m, route.Operations...)
		r.Method, r.RequestURI, body = pick(m, op.Methods...), route.Path, op.Example
		if values := m.values(op.Fields); r.Method == "POST" && m.IntN(2) == 0 {
			text := ""
			for name, value := range values {
				text += fmt.Sprintf(",%q:%q", name, value[0])
			}
			body = "{" + strings.TrimPrefix(text, ",") + "}"
		} else {
			r.RequestURI += "?" + values.Encode()
		}
	}
	switch m.IntN(6) {
	case 0:
		r.Method = pick(m, "GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE")
	case 1:
		r.RequestURI = unsent.ReplaceAllString(m.scratched(r.RequestURI), "!")
	case 2:
		value := pick(m, edgetest.HeaderValues...)
		r.Header.Set(pick(m, api.RequestHeaders...), regexp.MustCompile(`[^ -~]`).ReplaceAllString(value, "~"))
	case 3, 4:
		body = m.scratched(body)
	}
	if r.Method == "GET" || r.Method == "HEAD" {
		body = ""
	}
	return r, body
}

// unsent is what no client sends in a target.
var unsent = regexp.MustCompile("[^!$-;=?-Z_a-z~]")

func (m *maker) values(fields []input.Field) url.Values {
	values := url.Values{}
	for _, f := range fields {
		if f.Required || m.IntN(2) == 0 {
			values.Set(f.Name, pick(m, append(f.Values, strings.Trim(f.Example, `"`), pick(m, pieces...), strings.Repeat("é", max(f.Max, 1)))...))
		}
	}
	return values
}

// varying is what differs between two answers to the same.
var varying = regexp.MustCompile(`[0-9a-f]{64}|[0-9a-f]{32}|[0-9a-f]{16}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|[A-Za-z0-9+/]{86}==`)

// TestHostsAlike makes requests for a while, which both hosts have to answer in the same way.
func TestHostsAlike(t *testing.T) {
	if *seed == 0 {
		*seed = uint64(time.Now().Unix())
	}
	published := unlimited()
	hosts := map[string]string{"native": startNative(t, native.Config{Snapshot: published}), "worker": start(t, bound(t, published)).url}
	m, asked, differing := newMaker(t, published.CanonicalHost), 0, 0
	for began, n := time.Now(), max(*only, 1); differing < 12 && time.Since(began) < time.Duration(*minutes*float64(time.Minute)); n++ {
		said := map[string]string{}
		r, body := m.of(*seed, n)
		target, err := url.ParseRequestURI(r.RequestURI)
		// Not compared: what a client does not send, what depends on former calls, and on documents.
		if err != nil || strings.Contains(target.Path, "/.") || target.Path == "/api/selftest" || target.Path == "/api/signal" || !api.IsDynamic(target.Path) ||
			r.Header.Get(api.Key.Name) != "" || strings.Contains(body+r.RequestURI, api.KeyArgument) {
			continue
		}
		for name, base := range hosts {
			out := r.Clone(context.Background())
			if out.URL, err = url.Parse(base + r.RequestURI); err != nil {
				break
			}
			out.RequestURI, out.Host, out.Body, out.ContentLength = "", m.host, io.NopCloser(strings.NewReader(body)), int64(len(body))
			answer, err := http.DefaultTransport.RoundTrip(out)
			if err != nil {
				said[name] = "no answer: " + regexp.MustCompile(`[0-9.]+:\d+`).ReplaceAllString(err.Error(), "")
				continue
			}
			text, _ := io.ReadAll(answer.Body)
			answer.Body.Close()
			for _, field := range []string{"Date", "Request-Id", "Connection", "Transfer-Encoding", "Content-Length", "Keep-Alive", "Vary"} {
				answer.Header.Del(field)
			}
			var all bytes.Buffer
			fmt.Fprintln(&all, answer.StatusCode)
			answer.Header.Write(&all)
			all.Write(text)
			said[name] = varying.ReplaceAllString(all.String(), "<>")
		}
		if asked++; said["native"] != said["worker"] {
			differing++
			t.Errorf("=== seed %d, request %d: %s %s\n%v\n%q\nnative: %.2000s\nworker: %.2000s", *seed, n, r.Method, r.RequestURI, r.Header, body, said["native"], said["worker"])
		}
		if *only > 0 {
			break
		}
	}
	t.Logf("seed %d: %d requests on each host", *seed, asked)
}
