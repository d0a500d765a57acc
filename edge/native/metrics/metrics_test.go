package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"anteroom/edge/turn"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// page is what a scrape shows.
func page(t *testing.T, m *Metrics, log *slog.Logger) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler(log).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	return w.Body.String()
}

// lacks lists the wanted lines that a page does not have.
func lacks(page string, wanted ...string) (missing []string) {
	for _, want := range wanted {
		if !strings.Contains("\n"+page, "\n"+want) {
			missing = append(missing, want)
		}
	}
	return missing
}

var quiet = slog.New(slog.DiscardHandler)

func TestPage(t *testing.T) {
	m := New("v1.2.3", "abc")
	m.Collect(func(add func(*Series, float64, ...string)) error {
		add(Messages, 7, "pending")
		add(Messages, 2, "dead")
		return nil
	})
	m.Request(m.Route("/api/waitlist"), "POST", 200, 3*time.Millisecond)
	m.Request(m.Route("/api/waitlist"), "POST", 200, 3*time.Millisecond)
	m.Request(m.Route("/api/nowhere"), "GET", 404, time.Second)
	m.Request(Document, "GET", 304, 20*time.Microsecond)
	m.Commit(3, 2*time.Millisecond)
	m.Commit(1, time.Minute)
	m.Effects(
		[]turn.Effect{turn.Exec{}, turn.Exec{}, turn.Relay{}, turn.Relay{}, turn.Limit{}, turn.Limit{}, turn.Limit{}, turn.Sign{}},
		[]turn.Result{{}, {Failure: turn.Refused}, {}, {Failure: turn.Timeout}, {OK: true}, {}, {Failure: turn.Unavailable}, {Failure: turn.Unavailable}},
	)
	m.Content("old")
	m.Content("new")
	m.Reload(nil)
	m.Reload(errors.New("a fault"))
	m.Reload(errors.New("a fault"))
	text := page(t, m, quiet)
	for _, missing := range lacks(
		text,
		`anteroom_http_requests_total{code="200",method="POST",route="/api/waitlist"} 2`,
		`anteroom_http_requests_total{code="404",method="GET",route="not_found"} 1`,
		`anteroom_http_requests_total{code="304",method="GET",route="document"} 1`,
		`anteroom_http_request_duration_seconds_bucket{route="/api/waitlist",le="0.0025"} 0`,
		`anteroom_http_request_duration_seconds_bucket{route="/api/waitlist",le="0.005"} 2`,
		`anteroom_http_request_duration_seconds_sum{route="/api/waitlist"} 0.006`,
		`anteroom_http_request_duration_seconds_count{route="/api/org"} 0`,
		`anteroom_store_commit_group_size_sum 4`,
		`anteroom_store_commit_group_size_bucket{le="2"} 1`,
		`anteroom_store_commit_group_size_bucket{le="256"} 2`,
		`anteroom_store_commit_duration_seconds_count 2`,
		`anteroom_store_errors_total{kind="refused"} 1`,
		`anteroom_store_errors_total{kind="unavailable"} 0`,
		`anteroom_relay_messages_total{outcome="sent"} 1`,
		`anteroom_relay_messages_total{outcome="timeout"} 1`,
		`anteroom_limiter_refusals_total 1`,
		`anteroom_outbox_messages{state="pending"} 7`,
		`anteroom_outbox_messages{state="dead"} 2`,
		`anteroom_content_info{version="new"} 1`,
		`anteroom_content_reloads_total{outcome="success"} 1`,
		`anteroom_content_reloads_total{outcome="failure"} 2`,
		`anteroom_content_last_reload_success_timestamp_seconds 1.`,
		`anteroom_build_info{goversion="go1.`,
		`go_goroutines `,
		`process_open_fds `,
	) {
		t.Errorf("the page lacks %s", missing)
	}
	if strings.Contains(text, "old") || !strings.Contains(text, `revision="abc",version="v1.2.3"`) {
		t.Error("the content before is still said to be served, or the program is not named")
	}
	problems, err := testutil.GatherAndLint(m.registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("against Prometheus's conventions: %v, %v", problems, err)
	}
}

// What callers choose makes no series: not the path, the method, or a code that nobody knows.
func TestBounded(t *testing.T) {
	m := New("", "")
	for i := range 1000 {
		m.Request(m.Route(fmt.Sprintf("/api/%d", i)), fmt.Sprintf("M%d", i), 200, 0)
		m.Request(Document, "GET", 1000+i, 0)
	}
	if n := strings.Count(page(t, m, quiet), "\nanteroom_http_requests_total{"); n != 2 {
		t.Errorf("%d series", n)
	}
	missing := lacks(page(t, m, quiet), `anteroom_http_requests_total{code="200",method="other",route="not_found"} 1000`, `anteroom_http_requests_total{code="other",method="GET",route="document"} 1000`)
	if len(missing) > 0 {
		t.Errorf("the page lacks %q", missing)
	}
}

// A count of the outbox that fails leaves the other numbers as they are.
func TestCollectFails(t *testing.T) {
	m := New("", "")
	m.Collect(func(func(*Series, float64, ...string)) error { return errors.New("disk gone") })
	var log strings.Builder
	text := page(t, m, slog.New(slog.NewTextHandler(&log, nil)))
	if strings.Contains(text, "\nanteroom_outbox_messages{") || !strings.Contains(text, "anteroom_limiter_refusals_total 0") || !strings.Contains(log.String(), "disk gone") {
		t.Errorf("%s, log %q", text, &log)
	}
}

func TestServe(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- New("", "").Serve(ctx, listener, quiet) }()
	base := "http://" + listener.Addr().String()
	for request, want := range map[string]int{"GET /metrics": 200, "HEAD /metrics": 200, "POST /metrics": 405, "GET /": 404, "GET /metrics/x": 404} {
		method, path, _ := strings.Cut(request, " ")
		r, err := http.NewRequest(method, base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != want || request == "GET /metrics" && !strings.Contains(string(text), "anteroom_build_info") {
			t.Errorf("%s: %d %.100s", request, answer.StatusCode, text)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := http.Get(base + "/metrics"); err == nil {
		t.Error("it still answers")
	}
}
