package native

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"

	"anteroom/edge/kernel"
)

// perform performs the effects of one round side by side, and returns their results in order. relay sends a message.
func (h *Host) perform(on *site, effects []kernel.Effect, relay relayer) []kernel.Result {
	results := make([]kernel.Result, len(effects))
	if len(effects) == 1 {
		results[0] = h.performOne(on, effects[0], relay)
		return results
	}
	var all sync.WaitGroup
	for i, effect := range effects {
		all.Go(func() {
			defer h.recovered("effect", func() { results[i] = kernel.Result{Failure: kernel.Timeout} })
			results[i] = h.performOne(on, effect, relay)
		})
	}
	all.Wait()
	return results
}

func (h *Host) performOne(on *site, effect kernel.Effect, relay relayer) kernel.Result {
	switch e := effect.(type) {
	case kernel.Exec:
		return h.store.Exec(e)
	case kernel.Relay:
		return relay(on, e.Message)
	case kernel.Sign:
		if h.config.Key == nil {
			return kernel.Result{Failure: kernel.Unavailable}
		}
		return kernel.Result{Data: ed25519.Sign(h.config.Key, e.Message)}
	case kernel.Verify:
		return kernel.Result{OK: len(e.PublicKey) == ed25519.PublicKeySize && ed25519.Verify(e.PublicKey, e.Message, e.Signature)}
	case kernel.Limit:
		limit := on.snapshot.WritesPerMinute
		if limit <= 0 {
			return kernel.Result{Failure: kernel.Unavailable}
		}
		return h.limiter.take(e.Key, limit)
	case kernel.Fetch:
		return h.fetches.do(e, h.now, func() kernel.Result {
			began := time.Now()
			result := h.fetch(e)
			result.Millis = time.Since(began).Milliseconds()
			return result
		})
	}
	return kernel.Result{Failure: kernel.Unavailable}
}

// relayer is sendMail or sendSoon.
type relayer func(*site, kernel.Message) kernel.Result

// sendMail relays a message to the operator, however long that takes, and logs what went wrong.
func (h *Host) sendMail(on *site, m kernel.Message) kernel.Result {
	result := h.transact(on, m)
	switch result.Failure {
	case kernel.Refused:
		h.log.Error("relay refused", "message", m.ID, "why", string(result.Data))
	case kernel.Timeout:
		h.log.Error("relay failed: it is not known whether the message was taken", "message", m.ID, "why", string(result.Data))
	}
	return result
}

// sendSoon is sendMail for a request, whose caller does not wait for as long as a mail server may take. After relayPause the
// answer is that nothing is known. The transaction goes on: to break it off or to begin another could give the operator the
// same message twice. What became of it is logged.
func (h *Host) sendSoon(on *site, m kernel.Message) kernel.Result {
	select {
	case h.relaying <- struct{}{}:
	default:
		return kernel.Result{Failure: kernel.Refused, Data: []byte("too many under way")}
	}
	done, left := make(chan kernel.Result), make(chan struct{})
	go func() {
		defer func() { <-h.relaying }()
		result := kernel.Result{Failure: kernel.Timeout, Data: []byte("broke off")}
		func() {
			defer h.recovered("relay", func() {})
			result = h.sendMail(on, m)
		}()
		select {
		case done <- result:
		case <-left:
			switch result.Failure {
			case kernel.None:
				h.log.Error("relay arrived late: count it by hand", "message", m.ID)
			case kernel.Refused:
				h.log.Error("relay was refused after all", "message", m.ID)
			}
		}
	}()
	select {
	case result := <-done:
		return result
	case <-time.After(h.relayPause):
		close(left)
		h.log.Warn("relay takes long: its request was answered, and it goes on", "message", m.ID)
		return kernel.Result{Failure: kernel.Timeout, Data: []byte("timed out")}
	}
}

// endRelays waits for the relays of requests to end, and has none begin any more.
func (h *Host) endRelays() {
	h.ended.Do(func() {
		for range cap(h.relaying) {
			h.relaying <- struct{}{}
		}
	})
}

// transact relays a message. Its result says why it failed without anybody's words.
func (h *Host) transact(on *site, m kernel.Message) kernel.Result {
	if h.relay == nil || on.snapshot.RelayTo == "" {
		return kernel.Result{Failure: kernel.Unavailable, Data: []byte("no relay")}
	}
	message, err := compose(m, on.snapshot, h.now())
	if err == nil {
		err = h.relay(h.relayContext, message)
	}
	failed := new(relayError)
	switch {
	case err == nil:
		return kernel.Result{}
	case errors.As(err, &failed) && failed.unknown:
		return kernel.Result{Failure: kernel.Timeout, Data: []byte(failed.why)}
	}
	return kernel.Result{Failure: kernel.Refused, Status: failed.status, Data: []byte(failed.why)}
}

// fetches shares the results of fetches. The zero value is ready.
type fetches struct {
	mu    sync.Mutex
	known map[string]*sharedFetch // by what was asked
}

type sharedFetch struct {
	until  time.Time
	done   chan struct{} // closed when result is there
	result kernel.Result
}

// do gives the shared result of a fetch, or has it made. Who asks while it is made waits for it.
func (f *fetches) do(e kernel.Fetch, now func() time.Time, fetch func() kernel.Result) kernel.Result {
	if e.ShareSeconds <= 0 {
		return fetch()
	}
	asked, at := fmt.Sprintf("%t %s %s %q %q", e.Self, e.Method, e.URL, e.Header, e.Body), now()
	f.mu.Lock()
	maps.DeleteFunc(f.known, func(_ string, s *sharedFetch) bool { return !at.Before(s.until) })
	if s := f.known[asked]; s != nil {
		f.mu.Unlock()
		<-s.done
		return s.result
	}
	s := &sharedFetch{until: at.Add(time.Duration(e.ShareSeconds) * time.Second), done: make(chan struct{}), result: kernel.Result{Failure: kernel.Timeout}}
	if f.known == nil {
		f.known = map[string]*sharedFetch{}
	}
	f.known[asked] = s
	f.mu.Unlock()
	defer close(s.done)
	s.result = fetch()
	return s.result
}

// forget ends all sharing: what is asked for next is fetched.
func (f *fetches) forget() {
	f.mu.Lock()
	f.known = nil
	f.mu.Unlock()
}

// client fetches for the core. A redirect is an answer like any other.
var client = &http.Client{
	Transport: &http.Transport{
		DialContext: (&net.Dialer{}).DialContext, ForceAttemptHTTP2: true, IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: maxHeader,
	},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// fetch sends a request to another server, or to this host itself, without a connection.
func (h *Host) fetch(e kernel.Fetch) kernel.Result {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(e.TimeoutMillis)*time.Millisecond)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, e.Method, e.URL, bytes.NewReader(e.Body))
	if err != nil {
		return kernel.Result{Failure: kernel.Refused}
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
			return kernel.Result{Failure: kernel.Refused} // nothing was sent
		}
		return kernel.Result{Failure: kernel.Timeout}
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, int64(e.MaxBytes)))
	if err != nil {
		return kernel.Result{Failure: kernel.Timeout}
	}
	return kernel.Result{Status: answer.StatusCode, Data: data}
}

func (h *Host) fetchSelf(ctx context.Context, r *http.Request, maxBytes int) kernel.Result {
	r.RequestURI, r.RemoteAddr = r.URL.RequestURI(), "127.0.0.1:0"
	answer := make(chan *inMemory, 1)
	go func() {
		w := &inMemory{header: http.Header{}}
		h.ServeHTTP(w, r)
		answer <- w
	}()
	select {
	case w := <-answer:
		return kernel.Result{Status: cmp.Or(w.status, http.StatusOK), Data: w.body[:min(len(w.body), maxBytes)]}
	case <-ctx.Done():
		return kernel.Result{Failure: kernel.Timeout}
	}
}

// inMemory is an http.ResponseWriter that keeps the answer.
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
