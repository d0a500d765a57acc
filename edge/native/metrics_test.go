package native

import (
	"net/http/httptest"
	"strings"
	"testing"

	"anteroom/edge/assets"
	"anteroom/edge/edgetest"
	"anteroom/edge/native/metrics"
	"anteroom/edge/native/static"
)

// TestMetrics: what a host does is counted under the right names.
func TestMetrics(t *testing.T) {
	documents, err := static.New([]assets.File{{Path: "/llms.txt", Bytes: []byte("hello")}})
	must(t, err)
	limit, m := int64(2), metrics.New("", "")
	h, _ := open(t, Config{Metrics: m, WritesPerMinute: &limit, Documents: documents, Key: edgetest.Key}, fake{})
	ask := func(method, url, body string, want int) {
		t.Helper()
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, url, strings.NewReader(body)))
		if w.Code != want {
			t.Fatalf("%s %s: %d %s", method, url, w.Code, w.Body)
		}
	}
	for _, status := range []int{200, 200, 429} {
		ask("POST", "http://www.example.org/api/waitlist", `{"agent_name":"ada","owner_email":"ada@example.org"}`, status)
	}
	ask("GET", "http://www.example.org/llms.txt", "", 200)
	ask("GET", "http://www.example.org/nope", "", 404)
	ask("GET", "http://www.example.org/api/nope", "", 404)
	ask("GET", "http://example.org/api/quest", "", 308)
	ask("GET", "http://www.example.org/healthz", "", 200)
	if !h.deliverOne() {
		t.Fatal("no digest was delivered")
	}
	put(t, h.store, "INSERT INTO outbox (record_id, kind, created_at, next_try_at, state) VALUES ('d', 'k', 0, 0, 'dead'), ('p', 'k', 0, 9999999999, 'pending'), ('q', 'k', 0, 9999999999, 'pending')")
	clear(h.limiter.used)
	ask("POST", "http://www.example.org/api/suggest", `{"suggestion":"Publish the holiday tables."}`, 200)
	put(t, h.store, "DROP TABLE suggestions")
	ask("POST", "http://www.example.org/api/suggest", `{"suggestion":"Publish the other tables."}`, 200)
	h.Respond() // the writer counts a group after it has answered its callers
	put(t, h.store, "CREATE TABLE suggestions (seq INTEGER PRIMARY KEY, filed_at TEXT)")
	w := httptest.NewRecorder()
	m.Handler(quiet).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		`anteroom_outbox_oldest_message_timestamp_seconds 0`,
		`anteroom_records_unverified{kind="registration"} 2`,
		`anteroom_records_unverified_oldest_timestamp_seconds{kind="registration"} 1.`,
		`anteroom_records_unverified_oldest_timestamp_seconds{kind="charter"} 0`,
		`anteroom_ready{check="store"} 1`,
		`anteroom_ready{check="documents"} 0`,
		`anteroom_http_requests_total{code="200",method="POST",route="/api/waitlist"} 2`,
		`anteroom_http_requests_total{code="200",method="GET",route="document"} 1`,
		`anteroom_http_requests_total{code="404",method="GET",route="not_found"} `, // also of the check of the documents, perhaps after
		`anteroom_http_requests_total{code="308",method="GET",route="apex"} 1`,
		`anteroom_http_requests_total{code="200",method="GET",route="health"} 1`,
		`anteroom_http_request_duration_seconds_count{route="/api/waitlist"} 3`,
		`anteroom_limiter_refusals_total 1`,
		`anteroom_relay_messages_total{outcome="sent"} 3`,
		`anteroom_outbox_messages{state="pending"} 2`,
		`anteroom_outbox_messages{state="dead"} 1`,
		`anteroom_content_info{version="test"} 1`,
		`anteroom_store_errors_total{kind="refused"} 1`,
	} {
		if !strings.Contains(w.Body.String(), "\n"+want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if strings.Contains(w.Body.String(), "anteroom_store_commit_group_size_count 0\n") {
		t.Error("no transaction was counted")
	}
	must(t, h.Close())
	m.Handler(quiet).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil)) // a scrape after the end
}
