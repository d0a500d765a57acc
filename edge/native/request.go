package native

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"anteroom/edge/api"
	"anteroom/edge/endpoint/health"
	"anteroom/edge/endpoint/mcp"
	"anteroom/edge/endpoint/mcp/protocol"
	"anteroom/edge/respond"
	"anteroom/edge/turn"
)

// mostDrained is the most bytes read from a body. Beyond it, net/http closes the connection half a
// second after the answer.
const mostDrained = 8 << 20

// recorder records status and bytes for the access log. It reads the rest of the body before the
// answer, as unread bytes reset the connection, and a proxy then sends a 502 instead.
type recorder struct {
	http.ResponseWriter
	body          io.Reader
	status, bytes int
}

func (w *recorder) WriteHeader(status int) {
	io.Copy(io.Discard, w.body)
	w.ResponseWriter.WriteHeader(status) // which panics for an invalid status
	w.status = status
}

func (w *recorder) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.bytes += n
	return n, err
}

// ServeHTTP responds with a redirect from the apex, the core's response, or a document.
func (h *Host) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	start := time.Now()
	r.Body = http.MaxBytesReader(out, r.Body, mostDrained)
	w := &recorder{ResponseWriter: out, body: r.Body}
	on, host, target := h.site.Load(), hostName(r.Host), originForm(r.RequestURI)
	t := h.turn(on, turn.Request{Method: r.Method, Target: target, Host: host})
	w.Header().Set("Request-Id", t.RequestID())
	path, _, _ := strings.Cut(target, "?")
	defer func() {
		took := time.Since(start)
		h.count(on, r.Method, host, path, w.status, took)
		h.log.LogAttrs(context.Background(), slog.LevelInfo, "request",
			slog.String("method", r.Method), slog.String("host", cut(host)), slog.String("path", cut(path)),
			slog.Int("status", w.status), slog.Int("bytes", w.bytes), slog.Duration("duration", took),
			slog.String("request_id", t.RequestID()))
	}()
	defer h.recovered("request", func() {
		if w.status == 0 {
			clear(w.Header())
			w.Header().Set("Request-Id", t.RequestID())
			w.Header().Set("Connection", "close")
			send(w, r, respond.Unfinished(t))
		}
	})
	switch {
	case host == on.snapshot.ApexHost:
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("Location", on.snapshot.BaseURL()+target)
		w.WriteHeader(http.StatusPermanentRedirect)
	case headSize(r) > turn.MaxHead:
		refused := api.HeadTooLarge.Answer(t)
		if path == protocol.Path && r.Method == http.MethodPost {
			refused = mcp.Refused(api.HeadTooLarge)
		}
		send(w, r, refused)
	case api.IsDynamic(path), health.IsPath(path), r.Method == http.MethodOptions:
		h.dynamic(w, r, on, t, path)
	default:
		h.document(w, r, on, t)
	}
}

func (h *Host) document(w http.ResponseWriter, r *http.Request, on *site, t *turn.Turn) {
	accept := strings.Join(r.Header["Accept"], ", ")
	read := r.Method == http.MethodGet || r.Method == http.MethodHead
	has, redirect := on.documents.Has(r.URL)
	if redirect || has && read && api.TakesPage(accept) {
		on.documents.ServeHTTP(w, r)
		return
	}
	t.Request.Header = []turn.Header{{Name: "accept", Value: accept}}
	if has {
		t.Request.Header = append(t.Request.Header, api.Published)
	}
	switch answer := h.answer(on, t, ""); {
	case answer.Status == http.StatusOK:
		header := w.Header()
		addFields(header, answer.Header)
		r.URL = &url.URL{Path: header.Get("Content-Location")}
		on.documents.ServeHTTP(w, r)
	case answer.Status == http.StatusNotFound && (has || answer.Get("content-type") == ""):
		on.documents.ServeHTTP(w, r)
	default:
		send(w, r, answer)
	}
}

func headSize(r *http.Request) (size int) {
	for name, lines := range r.Header {
		for _, line := range lines {
			size += len(name) + len(line) + len(": \r\n")
		}
	}
	return size
}

func addFields(header http.Header, fields []turn.Header) {
	for _, field := range fields {
		header.Add(field.Name, field.Value)
	}
}

// commonFields are respond.CommonHeaders with the names of net/http, each of which costs an
// allocation to make.
var commonFields = http.Header{}

func init() { addFields(commonFields, respond.CommonHeaders) }

func (h *Host) dynamic(w http.ResponseWriter, r *http.Request, on *site, t *turn.Turn, path string) {
	body, err := io.ReadAll(io.LimitReader(r.Body, turn.MaxBody+1))
	request := &t.Request
	request.Body, request.Incomplete, t.Host.Client = body, err != nil && len(body) <= turn.MaxBody, h.callerAddress(r)
	for _, field := range slices.Sorted(maps.Keys(r.Header)) {
		if name := strings.ToLower(field); slices.Contains(api.RequestHeaders, name) || api.LikeKey(name) {
			value := strings.Join(r.Header[field], ", ")
			request.Header = append(request.Header, turn.Header{Name: name, Value: value})
		}
	}
	send(w, r, h.answer(on, t, path))
}

func send(w http.ResponseWriter, r *http.Request, answer *turn.Response) {
	header := w.Header()
	maps.Copy(header, commonFields)
	addFields(header, answer.Header)
	if r.Method == http.MethodHead || len(answer.Body) == 0 {
		w.WriteHeader(answer.Status)
		return
	}
	header.Set("Content-Length", strconv.Itoa(len(answer.Body)))
	w.WriteHeader(answer.Status)
	w.Write(answer.Body)
}

func (h *Host) answer(on *site, t *turn.Turn, path string) (answer *turn.Response) {
	run := func() *turn.Response { return h.run(on, t, on.edge.Handle, h.sendSoon) }
	if method := t.Request.Method; path == health.Ready && (method == http.MethodGet || method == http.MethodHead) {
		asked, now := fmt.Sprintf("%s %p", method, on), h.now()
		answer = h.readiness.do(asked, now, now.Add(health.KeepSeconds*time.Second), nil, run)
	} else {
		answer = run()
	}
	if answer == nil {
		answer = respond.Unfinished(t)
	}
	return answer
}

func (h *Host) callerAddress(r *http.Request) string {
	text := r.RemoteAddr
	if name := h.config.ClientIPHeader; name != "" {
		list := strings.Join(r.Header.Values(name), ",")
		text = strings.TrimSpace(list[strings.LastIndexByte(list, ',')+1:])
		if strings.EqualFold(name, "Forwarded") { // its pairs have the form of parameters (RFC 7239, section 4)
			_, pairs, _ := mime.ParseMediaType("forwarded;" + text)
			text = pairs["for"]
		}
	}
	address, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil {
		with, err := netip.ParseAddrPort(text)
		if err != nil {
			return ""
		}
		address = with.Addr()
	}
	return address.Unmap().WithZone("").String()
}

func hostName(host string) string {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		host, _, _ = strings.Cut(inner, "]")
	} else if strings.Count(host, ":") == 1 {
		host, _, _ = strings.Cut(host, ":")
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

func originForm(target string) string {
	if strings.HasPrefix(target, "/") { // RFC 9112, section 3.2
		return target
	}
	_, rest, _ := strings.Cut(target, "://")
	i := strings.IndexAny(rest, "/?")
	switch {
	case i < 0:
		return "/"
	case rest[i] == '?':
		return "/" + rest[i:]
	}
	return rest[i:]
}

func cut(s string) string { return s[:min(len(s), 200)] }
