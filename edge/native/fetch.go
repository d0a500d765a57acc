package native

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"anteroom/edge/turn"
)

// client follows no redirect: it is an answer like any other.
var client = &http.Client{
	Transport: &http.Transport{
		DialContext: (&net.Dialer{}).DialContext, ForceAttemptHTTP2: true,
		IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: turn.MaxHead,
	},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func (h *Host) fetch(e turn.Fetch) turn.Result {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(e.TimeoutMillis)*time.Millisecond)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, e.Method, e.URL, bytes.NewReader(e.Body))
	if err != nil {
		return turn.Result{Failure: turn.Refused}
	}
	for _, field := range e.Header {
		r.Header.Add(field.Name, field.Value)
	}
	if e.Self {
		return h.fetchSelf(ctx, r, e.MaxBytes)
	}
	answer, err := client.Do(r)
	if err != nil {
		var dial *net.OpError
		if errors.As(err, &dial) && dial.Op == "dial" && !dial.Timeout() {
			return turn.Result{Failure: turn.Refused} // nothing was sent
		}
		return turn.Result{Failure: turn.Timeout}
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, int64(e.MaxBytes)))
	if err != nil {
		return turn.Result{Failure: turn.Timeout}
	}
	wait, _ := strconv.ParseUint(answer.Header.Get("Retry-After"), 10, 31)
	return turn.Result{Status: answer.StatusCode, Data: data, Reset: int64(wait)}
}

func (h *Host) fetchSelf(ctx context.Context, r *http.Request, maxBytes int) turn.Result {
	r.RequestURI, r.RemoteAddr = r.URL.RequestURI(), "127.0.0.1:0"
	answer := make(chan *inMemory, 1)
	go func() {
		w := &inMemory{header: http.Header{}}
		h.ServeHTTP(w, r)
		answer <- w
	}()
	select {
	case w := <-answer:
		return turn.Result{Status: cmp.Or(w.status, http.StatusOK), Data: w.body[:min(len(w.body), maxBytes)]}
	case <-ctx.Done():
		return turn.Result{Failure: turn.Timeout}
	}
}

type inMemory struct {
	header http.Header
	status int
	body   []byte
}

func (w *inMemory) Header() http.Header    { return w.header }
func (w *inMemory) WriteHeader(status int) { w.status = status }
func (w *inMemory) Write(p []byte) (int, error) {
	w.body = append(w.body, p...)
	return len(p), nil
}
