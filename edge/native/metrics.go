package native

import (
	"context"
	"net/http"
	"time"

	"anteroom/edge/api"
	"anteroom/edge/endpoint/health"
	"anteroom/edge/native/metrics"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"
)

// measure connects the metrics to the store.
func (h *Host) measure() (err error) {
	m := h.config.Metrics
	if m == nil {
		return nil
	}
	h.store.Watch(m.Commit)
	if h.reader, err = h.store.Reader(); err != nil {
		return err
	}
	m.Outbox(func() (pending, dead int64, err error) {
		rows, err := h.reader.Read(context.Background(), records.CountUndelivered)
		if err != nil {
			return 0, 0, err
		}
		return rows[0][0][0].(int64), rows[0][0][1].(int64), nil
	})
	return nil
}

func (h *Host) count(on *site, method, host, path string, status int, took time.Duration) {
	if h.config.Metrics == nil {
		return
	}
	route := metrics.Document
	switch {
	case health.IsPath(path):
		route = metrics.Health
	case host == on.snapshot.ApexHost:
		route = metrics.Apex
	case api.IsDynamic(path):
		route = h.config.Metrics.Route(path)
	case status == http.StatusNotFound:
		route = metrics.NotFound
	}
	h.config.Metrics.Request(route, method, status, took)
}

// Respond returns once the writer of the store has answered. If the writer hangs, so does Respond.
func (h *Host) Respond() {
	h.store.Read(context.Background(), turn.Statement{SQL: "SELECT 1"}) // an error is an answer too
}
