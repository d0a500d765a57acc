package metrics

import (
	"context"
	"errors"
	"fmt"
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

// scraped fails the test unless a scrape has lines that begin as wanted. It returns the page and
// what was logged.
func scraped(t *testing.T, m *Metrics, wanted ...string) (page, log string) {
	t.Helper()
	var lines strings.Builder
	w := httptest.NewRecorder()
	m.Handler(slog.New(slog.NewTextHandler(&lines, nil))).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range wanted {
		if !strings.Contains(w.Body.String(), "\n"+want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	return w.Body.String(), lines.String()
}

// The page has what no other test counts, and follows Prometheus's conventions. A count that fails
// leaves the other numbers as they are.
func TestPage(t *testing.T) {
	m := New("v1.2.3", "abc")
	m.Request(m.Route("/api/waitlist"), "POST", 200, 3*time.Millisecond)
	m.Commit(3, 2*time.Millisecond)
	m.Commit(1, time.Minute)
	m.Effects([]turn.Effect{turn.Relay{}, turn.Limit{}, turn.Limit{}, turn.Sign{}},
		[]turn.Result{{Failure: turn.Timeout}, {OK: true}, {Failure: turn.Unavailable}, {Failure: turn.Unavailable}})
	m.Content("old")
	m.Content("new")
	page, _ := scraped(t, m,
		`anteroom_http_request_duration_seconds_bucket{route="/api/waitlist",le="0.0025"} 0`,
		`anteroom_http_request_duration_seconds_bucket{route="/api/waitlist",le="0.005"} 1`,
		`anteroom_http_request_duration_seconds_count{route="/api/org"} 0`,
		`anteroom_store_commit_group_size_sum 4`,
		`anteroom_store_commit_group_size_bucket{le="256"} 2`,
		`anteroom_store_commit_duration_seconds_count 2`,
		`anteroom_store_errors_total{kind="unavailable"} 0`,
		`anteroom_relay_messages_total{outcome="timeout"} 1`,
		`anteroom_limiter_refusals_total 0`,
		`anteroom_content_info{version="new"} 1`,
		`go_goroutines `,
		`process_open_fds `,
	)
	if strings.Contains(page, "old") || !strings.Contains(page, `revision="abc",version="v1.2.3"`) {
		t.Error("the content before is still said to be served, or the program is not named")
	}
	problems, err := testutil.GatherAndLint(m.registry)
	if err != nil || len(problems) > 0 {
		t.Errorf("against Prometheus's conventions: %v, %v", problems, err)
	}
	m.Collect(func(func(*Series, float64, ...string)) error { return errors.New("disk gone") })
	if _, log := scraped(t, m, `anteroom_store_commit_group_size_sum 4`); !strings.Contains(log, "disk gone") {
		t.Errorf("log %q", log)
	}
}

// What callers choose makes no series: not the path, the method, or a code that nobody knows.
func TestBounded(t *testing.T) {
	m := New("", "")
	for i := range 1000 {
		m.Request(m.Route(fmt.Sprintf("/api/%d", i)), fmt.Sprintf("M%d", i), 200, 0)
		m.Request(Document, "GET", 1000+i, 0)
	}
	page, _ := scraped(t, m, `anteroom_http_requests_total{code="200",method="other",route="not_found"} 1000`,
		`anteroom_http_requests_total{code="other",method="GET",route="document"} 1000`)
	if n := strings.Count(page, "\nanteroom_http_requests_total{"); n != 2 {
		t.Errorf("%d series", n)
	}
}

func TestServe(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- New("", "").Serve(ctx, listener, slog.New(slog.DiscardHandler)) }()
	for path, want := range map[string]int{"/metrics": 200, "/": 404} {
		answer, err := http.Get("http://" + listener.Addr().String() + path)
		if err != nil || answer.StatusCode != want {
			t.Errorf("%s: %v, %v", path, answer, err)
		}
		answer.Body.Close()
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
