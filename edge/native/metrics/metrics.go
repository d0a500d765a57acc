// Package metrics exports counts of a host for Prometheus. No label has a value that a caller
// chooses, so that the number of time series is bounded.
package metrics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"time"

	"anteroom/edge/api"
	"anteroom/edge/turn"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Routes of requests that are not in api.Routes, whose label is their path.
const (
	Document = "document"
	Apex     = "apex"
	Health   = "health"
	NotFound = "not_found"
)

const other = "other"

var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodOptions,
	http.MethodPut, http.MethodPatch, http.MethodDelete,
}

var failures = []turn.Failure{turn.Refused, turn.Timeout, turn.Unavailable}

const sent = "sent"

// Metrics are the counts of one host. They may be used concurrently. A nil *Metrics counts nothing.
type Metrics struct {
	registry *prometheus.Registry

	routes               map[string]bool // paths of api.Routes
	requests             *prometheus.CounterVec
	durations            *prometheus.HistogramVec
	groups, commits      prometheus.Observer
	storeErrors, relayed *prometheus.CounterVec
	refusals             prometheus.Counter
	content              *prometheus.GaugeVec
	reloads              *prometheus.CounterVec
	lastReload           prometheus.Gauge
}

// New makes metrics for a program with a version and a revision: its commit, or "".
func New(version, revision string) *Metrics {
	registry := prometheus.NewRegistry()
	of := promauto.With(registry)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return of.NewCounterVec(prometheus.CounterOpts{Name: "anteroom_" + name, Help: help}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return of.NewGaugeVec(prometheus.GaugeOpts{Name: "anteroom_" + name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return of.NewHistogramVec(prometheus.HistogramOpts{Name: "anteroom_" + name, Help: help, Buckets: buckets}, labels)
	}
	m := &Metrics{
		registry: registry,
		routes:   map[string]bool{},
		requests: counter("http_requests_total", "Requests that were answered.", "route", "method", "code"),
		durations: histogram("http_request_duration_seconds",
			"Time from the head of a request to the end of its answer.",
			[]float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30},
			"route"),
		groups: histogram("store_commit_group_size",
			"Executions of the store in one transaction; the sum counts all executions.",
			prometheus.ExponentialBuckets(1, 2, 9)).WithLabelValues(),
		commits: histogram("store_commit_duration_seconds",
			"Time of a transaction of the store, with its sync to the disk.",
			prometheus.ExponentialBuckets(0.0001, 2.5, 12)).WithLabelValues(),
		storeErrors: counter("store_errors_total",
			"Executions that failed: refused (certainly nothing was written), timeout (unknown), unavailable.", "kind"),
		relayed: counter("relay_messages_total", "Messages to the operator, by outcome within their turn: "+
			"sent, refused, timeout (unknown), unavailable (no relay).", "outcome"),
		refusals: counter("limiter_refusals_total", "Writes that the rate limit refused.").WithLabelValues(),
		content:  gauge("content_info", "The version of the content that is served; the value is 1.", "version"),
		reloads: counter("content_reloads_total", "Reloads of the content, by outcome: success, or failure, "+
			"which keeps the earlier content; a start with that counts as a failure.", "outcome"),
		lastReload: gauge("content_last_reload_success_timestamp_seconds",
			"When the content was last read without a fault, at the start or by a reload.").WithLabelValues(),
	}
	gauge("build_info", "Version of the program; the value is 1.", "version", "revision", "goversion").
		WithLabelValues(version, revision, runtime.Version()).Set(1)
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))

	// Export zero values.
	for _, route := range api.Routes {
		m.routes[route.Path] = true
		m.durations.WithLabelValues(route.Path)
	}
	for _, route := range []string{Document, Apex, Health, NotFound} {
		m.durations.WithLabelValues(route)
	}
	for _, failure := range failures {
		m.storeErrors.WithLabelValues(string(failure))
		m.relayed.WithLabelValues(string(failure))
	}
	m.relayed.WithLabelValues(sent)
	m.reloads.WithLabelValues("failure")
	m.reloads.WithLabelValues("success")
	return m
}

// Route returns path if it is in api.Routes, and NotFound otherwise.
func (m *Metrics) Route(path string) string {
	if m.routes[path] {
		return path
	}
	return NotFound
}

// Request counts a request. route comes from Route, or is one of the constants.
func (m *Metrics) Request(route, method string, code int, took time.Duration) {
	if m == nil {
		return
	}
	if !slices.Contains(methods, method) {
		method = other
	}
	status := other
	if http.StatusText(code) != "" {
		status = strconv.Itoa(code)
	}
	m.requests.WithLabelValues(route, method, status).Inc()
	m.durations.WithLabelValues(route).Observe(took.Seconds())
}

// Effects counts effects.
func (m *Metrics) Effects(effects []turn.Effect, results []turn.Result) {
	if m == nil {
		return
	}
	for i, effect := range effects {
		switch r := &results[i]; effect.(type) {
		case turn.Exec:
			if r.Failure != turn.None {
				m.storeErrors.WithLabelValues(string(r.Failure)).Inc()
			}
		case turn.Relay:
			m.relayed.WithLabelValues(cmp.Or(string(r.Failure), sent)).Inc()
		case turn.Limit:
			if r.Failure == turn.None && !r.OK {
				m.refusals.Inc()
			}
		}
	}
}

// Commit counts a transaction of the store.
func (m *Metrics) Commit(executions int, took time.Duration) {
	m.groups.Observe(float64(executions))
	m.commits.Observe(took.Seconds())
}

// Content sets the version of the served content.
func (m *Metrics) Content(version string) {
	if m == nil {
		return
	}
	m.content.Reset()
	m.content.WithLabelValues(version).Set(1)
}

// Read notes that the content was loaded at the start.
func (m *Metrics) Read() {
	if m != nil {
		m.lastReload.SetToCurrentTime()
	}
}

// Reload counts a reload of the content, which failed if err is not nil.
func (m *Metrics) Reload(err error) {
	switch {
	case m == nil:
	case err != nil:
		m.reloads.WithLabelValues("failure").Inc()
	default:
		m.reloads.WithLabelValues("success").Inc()
		m.lastReload.SetToCurrentTime()
	}
}

// Series are values that a scrape reads. A time is in seconds since 1970; 0 means none.
type Series = prometheus.Desc

func series(name, help string, labels ...string) *Series {
	return prometheus.NewDesc("anteroom_"+name, help, labels, nil)
}

// The series that a host or a command has Collect read.
var (
	Messages = series("outbox_messages",
		"Messages to the operator: pending (they wait for the relay) or dead (given up until they are revived).", "state")
	OldestMessage = series("outbox_oldest_message_timestamp_seconds", "Time of the oldest pending message.")
	Unverified    = series("records_unverified", "Records that no verification covers.", "kind")
	OldestRecord  = series("records_unverified_oldest_timestamp_seconds", "Time of the oldest such record.", "kind")
	Ready         = series("ready", "Whether a check of /readyz passes: 1 or 0.", "check")
	StoreBytes    = series("store_bytes", "Size of the database.")
	StoreRoom     = series("store_room_bytes", "Size that the database can have, by the free space of its disk.")
	Backup        = series("backup_newest_timestamp_seconds", "Time of the newest backup in --backups.")
	Replica       = series("replica_newest_timestamp_seconds",
		"Time up to which Litestream has replicated the database, or 0 if that is unknown.")
	SecurityTxt = series("security_txt_expires_timestamp_seconds", "End of security.txt.")
)

// Collect has each scrape call read, which adds values of series. After an error the scrape has
// only the values added so far.
func (m *Metrics) Collect(read func(add func(of *Series, value float64, labels ...string)) error) {
	m.registry.MustRegister(collector(func(to chan<- prometheus.Metric) {
		err := read(func(of *Series, value float64, labels ...string) {
			to <- prometheus.MustNewConstMetric(of, prometheus.GaugeValue, value, labels...)
		})
		if err != nil {
			to <- prometheus.NewInvalidMetric(failed, err)
		}
	}))
}

// collector is unchecked: it describes no series, and is not read before the first scrape.
type collector func(to chan<- prometheus.Metric)

func (c collector) Collect(to chan<- prometheus.Metric) { c(to) }
func (collector) Describe(chan<- *prometheus.Desc)      {}

// failed stands for the values that an error prevents.
var failed = series("unread", "")

// Handler serves the metrics at /metrics. A count that fails is left out and logged.
func (m *Metrics) Handler(log *slog.Logger) http.Handler {
	page := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError,
		MaxRequestsInFlight: 4, Timeout: scrapeTimeout, EnableOpenMetrics: true,
	})
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", page)
	return mux
}

const (
	headerTimeout = 5 * time.Second
	scrapeTimeout = 10 * time.Second // the default of Prometheus
	writeTimeout  = 2 * scrapeTimeout
	idleTimeout   = 3 * time.Minute // more than the usual pause between two scrapes
	maxHeader     = 8 << 10         // bytes
)

// Serve serves the metrics on a listener until ctx is done.
func (m *Metrics) Serve(ctx context.Context, listener net.Listener, log *slog.Logger) error {
	server := &http.Server{
		Handler: m.Handler(log), MaxHeaderBytes: maxHeader,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: headerTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve metrics: %w", err)
	}
	return nil
}
