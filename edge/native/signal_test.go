package native

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"anteroom/edge/edgetest"
	"anteroom/edge/endpoint/selftest"
	"anteroom/edge/native/static"
)

// signalHost serves the key file and the endpoints, and tells the given search-index endpoints.
func signalHost(t *testing.T, key string, endpoints ...string) (h *Host, base string) {
	t.Helper()
	return signalHostAt(t, time.Now, key, endpoints...)
}

func signalHostAt(t *testing.T, now func() time.Time, key string, endpoints ...string) (h *Host, base string) {
	t.Helper()
	s := edgetest.Snapshot()
	s.WritesPerMinute, s.IndexNowURLs = 0, endpoints
	documents, err := static.New([]static.File{{Path: "/" + s.IndexNowKey + ".txt", MediaType: "text/plain; charset=utf-8", Bytes: []byte(key)}})
	if err != nil {
		t.Fatal(err)
	}
	h, _ = open(t, Config{Snapshot: s, Documents: documents}, fake{})
	h.now = now
	address, _ := serve(t, h)
	return h, "http://" + address
}

type signal struct {
	Signal    string
	Submitted int
	Results   []struct {
		Endpoint, Detail string
		Status           *int
		Accepted         bool
	}
	AcceptedBy []string `json:"accepted_by"`
	RejectedBy []string `json:"rejected_by"`
	Replayed   bool
	FiredAt    string `json:"fired_at"`
	KeyFile    string `json:"key_file"`
	Detail     string
}

func askSignal(t *testing.T, url string) (status int, answer signal, header http.Header) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, answer, r.Header
}

const testKey = "0123456789abcdef" // of edgetest.Snapshot

// TestSignalFires: endpoints that refuse, hang, redirect or answer without end are asked once,
// within bounds of time and bytes.
func TestSignalFires(t *testing.T) {
	var body atomic.Value
	accepting, accepted := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		body.Store(r.Method + " " + r.Header.Get("Content-Type") + " " + string(text))
		w.WriteHeader(202)
	})
	refusing, refused := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(403)
		io.WriteString(w, `{"errorCode":"KeyNotFound"}`)
	})
	elsewhere, followed := upstream(t, func(http.ResponseWriter, *http.Request) {})
	moving, moved := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere, http.StatusTemporaryRedirect)
	})
	endless, poured := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(200)
		for range 1 << 14 { // 64 MB, if anybody reads them
			if _, err := w.Write(make([]byte, 4096)); err != nil {
				return
			}
		}
	})
	boasting, boasted := upstream(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Large", strings.Repeat("x", 2*maxHeader))
	})
	listener, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener.Close()
	closed := "http://" + listener.Addr().String() + "/indexnow"

	_, base := signalHost(t, testKey, accepting, refusing, moving, endless, boasting, closed)
	status, got, header := askSignal(t, base+"/api/signal?fire=1")
	if status != 200 || got.Signal != "fired" || got.Submitted != 2 || got.Replayed || len(got.Results) != 6 || header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %+v", status, got)
	}
	for i, want := range []struct {
		endpoint string
		status   int
		detail   string
	}{
		{accepting, 202, "accepted, the key will be checked later"},
		{refusing, 403, "key not valid (KeyNotFound)"},
		{moving, 307, "a redirect, which is not followed"},
		{endless, 200, "accepted"},
		{boasting, 0, "no complete answer in time: whether it took the addresses is not known"},
		{closed, 0, "not reachable"},
	} {
		r := got.Results[i]
		if r.Endpoint != want.endpoint || r.Detail != want.detail || (r.Status == nil) != (want.status == 0) || r.Status != nil && *r.Status != want.status || r.Accepted != (want.status/100 == 2) {
			t.Errorf("%+v, want %+v", r, want)
		}
	}
	if len(got.AcceptedBy) != 2 || len(got.RejectedBy) != 4 {
		t.Errorf("%+v", got)
	}
	if want := `POST application/json; charset=utf-8 {"host":"www.example.org","key":"0123456789abcdef","keyLocation":"https://www.example.org/0123456789abcdef.txt",` +
		`"urlList":["https://www.example.org/","https://www.example.org/llms.txt"]}`; body.Load() != want {
		t.Errorf("sent\n got %v\nwant %s", body.Load(), want)
	}
	// Again: nothing is sent.
	status, again, _ := askSignal(t, base+"/api/signal?fire=1")
	if status != 200 || !again.Replayed || again.FiredAt != got.FiredAt || len(again.Results) != 6 {
		t.Errorf("%d %+v", status, again)
	}
	for i, calls := range []*atomic.Int32{accepted, refused, moved, poured, boasted} {
		if calls.Load() != 1 {
			t.Errorf("endpoint %d was asked %d times", i, calls.Load())
		}
	}
	if followed.Load() != 0 {
		t.Error("a redirect was followed")
	}
}

// TestSignalIsSentOnce: of many callers who fire at once, one sends. Callers who come before it has
// ended are told to ask again.
func TestSignalIsSentOnce(t *testing.T) {
	const callers = 8
	arrived, release := make(chan struct{}, callers), make(chan struct{})
	slow, calls := upstream(t, func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	})
	_, base := signalHost(t, testKey, slow)
	var all sync.WaitGroup
	var fired, underWay, replayed atomic.Int32
	fire := func() {
		status, got, header := askSignal(t, base+"/api/signal?fire=1")
		switch {
		case status == 503 && header.Get("Retry-After") == "15":
			underWay.Add(1)
		case status == 200 && got.Signal == "fired" && got.Replayed:
			replayed.Add(1)
		case status == 200 && got.Signal == "fired":
			fired.Add(1)
		default:
			t.Errorf("%d %v %+v", status, header, got)
		}
	}
	for range callers {
		all.Go(fire)
	}
	<-arrived
	for end := time.Now().Add(10 * time.Second); underWay.Load() < callers-1 && calls.Load() == 1 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	close(release)
	all.Wait()
	fire()
	if calls.Load() != 1 || fired.Load() != 1 || underWay.Load() != callers-1 || replayed.Load() != 1 {
		t.Errorf("%d sent; %d fired, %d under way, %d replayed", calls.Load(), fired.Load(), underWay.Load(), replayed.Load())
	}
}

// TestSelftest: the self-test goes through the host itself, without a connection, and callers share
// it.
func TestSelftest(t *testing.T) {
	h, log := open(t, Config{Snapshot: edgetest.Snapshot()}, fake{})
	address, _ := serve(t, h)
	ask := func() (got struct {
		TestedURL string `json:"tested_url"`
		Steps     []struct{ Status *int }
	},
	) {
		r, err := http.Get("http://" + address + "/api/selftest")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Fatal(err)
		}
		return got
	}
	got := ask()
	if len(got.Steps) == 0 || got.TestedURL != "http://"+address {
		t.Fatalf("%+v", got)
	}
	for _, s := range got.Steps {
		if s.Status == nil || *s.Status != 200 {
			t.Errorf("%+v", s)
		}
	}
	lines := strings.Count(log.String(), "msg=request")
	ask()
	if again := strings.Count(log.String(), "msg=request"); again != lines+1 {
		t.Errorf("%d requests for the second, want 1", again-lines)
	}
	r, err := http.NewRequest("GET", "http://"+address+"/api/selftest", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(selftest.Header, "1")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != 400 {
		t.Errorf("a nested one: %d", answer.StatusCode)
	}
}
