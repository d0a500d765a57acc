package native

import (
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"anteroom/edge/assets"
	"anteroom/edge/edgetest"
	"anteroom/edge/native/static"
)

// signal is what the test looks at in the answer to a firing.
type signal struct {
	Signal   string
	Replayed bool
}

// TestSignalIsSentOnce: of many callers who fire at once, one sends. Callers who come before it has
// ended are asked to try again.
func TestSignalIsSentOnce(t *testing.T) {
	const callers = 8
	arrived, release := make(chan struct{}, callers), make(chan struct{})
	slow, calls := upstream(t, func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	})
	published := edgetest.Snapshot()
	published.WritesPerMinute, published.IndexNowURLs = 0, []string{slow}
	documents, err := static.New([]assets.File{{Path: "/" + published.IndexNowKey + ".txt", Bytes: []byte(published.IndexNowKey)}})
	must(t, err)
	h, _ := open(t, Config{Snapshot: published, Documents: documents}, fake{})
	address, _ := serve(t, h)
	var all sync.WaitGroup
	var fired, underWay, replayed atomic.Int32
	fire := func() {
		answer, err := http.Get("http://" + address + "/api/signal?fire=1")
		if err != nil {
			t.Error(err)
			return
		}
		defer answer.Body.Close()
		var got signal
		if err := json.NewDecoder(answer.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		switch {
		case answer.StatusCode == 503 && answer.Header.Get("Retry-After") == "15":
			underWay.Add(1)
		case answer.StatusCode == 200 && got.Signal == "fired" && got.Replayed:
			replayed.Add(1)
		case answer.StatusCode == 200 && got.Signal == "fired":
			fired.Add(1)
		default:
			t.Errorf("%d %v %+v", answer.StatusCode, answer.Header, got)
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
