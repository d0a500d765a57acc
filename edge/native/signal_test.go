package native

import (
	"encoding/json"
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
