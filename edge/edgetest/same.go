package edgetest

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// SameCalls sends calls under a key to a host: one whose caller disconnects at once, then eight at
// the same time, and a last one. They must make one record, and the answers must agree on it.
func SameCalls(t *testing.T, base string) {
	for target, body := range map[string]string{
		"/api/waitlist": `{"agent_name":"ada","owner_email":"owner@example.org"}`,
		"/api/suggest":  `{"suggestion":"ten letters"}`,
	} {
		request := func() *http.Request {
			r, err := http.NewRequest("POST", base+target, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Host = "www.example.org"
			r.Header.Set("Idempotency-Key", "cut off and sent again")
			return r
		}
		connection, err := net.Dial("tcp", strings.TrimPrefix(base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		var cut bytes.Buffer
		request().Write(&cut)
		connection.Write(cut.Bytes())
		connection.Close()

		type made struct {
			ID       string `json:"record_id"`
			At       string `json:"recorded_at"`
			Replayed bool   `json:"replayed"`
		}
		send := func() (status int, m made) {
			r, err := http.DefaultClient.Do(request())
			if err != nil {
				t.Error(err)
				return 0, m
			}
			defer r.Body.Close()
			if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
				t.Error(err)
			}
			return r.StatusCode, m
		}
		answers, wait := make([]made, 8), sync.WaitGroup{}
		for i := range answers {
			wait.Go(func() {
				// While the first suggestion is relayed, the others are told to wait.
				if status, m := send(); status == 200 || status == 409 && target == "/api/suggest" {
					answers[i] = m
				} else {
					t.Errorf("%s: status %d", target, status)
				}
			})
		}
		wait.Wait()
		status, last := send()
		for deadline := time.Now().Add(10 * time.Second); status == 409 && time.Now().Before(deadline); {
			status, last = send() // until the first has ended
		}
		if status != 200 || !last.Replayed {
			t.Errorf("%s: the last call: %d %+v", target, status, last)
		}
		first := 0
		for _, m := range answers {
			if m.ID != "" && !m.Replayed {
				first++
			}
			if m.ID != "" && (m.ID != last.ID || m.At != last.At) || first > 1 {
				t.Errorf("%s: %+v, and the last %+v", target, answers, last)
			}
		}
	}
}
