package native

import (
	"context"
	"net/http"
	"slices"
	"time"

	"anteroom/edge/api"
	"anteroom/edge/endpoint/health"
	"anteroom/edge/jsondoc"
	"anteroom/edge/native/metrics"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"
)

func (h *Host) measure() (err error) {
	m := h.config.Metrics
	if m == nil {
		return nil
	}
	h.store.Watch(m.Commit)
	if h.reader, err = h.store.Reader(); err != nil {
		return err
	}
	m.Collect(h.readStore)
	m.Collect(func(add func(*metrics.Series, float64, ...string)) error {
		failing := h.failing()
		for _, check := range []string{health.Store, health.Key, health.Documents} {
			passes := 1.0
			if slices.Contains(failing, check) {
				passes = 0
			}
			add(metrics.Ready, passes, check)
		}
		return nil
	})
	return nil
}

func (h *Host) readStore(add func(*metrics.Series, float64, ...string)) error {
	ctx := context.Background()
	outbox, err := records.Undelivered(ctx, h.reader)
	if err != nil {
		return err
	}
	add(metrics.Messages, float64(outbox.Pending), "pending")
	add(metrics.Messages, float64(outbox.Dead), "dead")
	add(metrics.OldestMessage, float64(outbox.Oldest))
	covered := h.site.Load().snapshot.Covered
	extent, err := records.Measure(ctx, h.reader, covered[:])
	if err != nil {
		return err
	}
	for _, waiting := range extent.Waiting {
		oldest := 0.0
		if at, err := time.Parse(time.RFC3339, waiting.Oldest); err == nil {
			oldest = float64(at.Unix())
		}
		add(metrics.Unverified, float64(waiting.New), waiting.Kind)
		add(metrics.OldestRecord, oldest, waiting.Kind)
	}
	used, most, err := h.reader.Room()
	if err != nil {
		return err
	}
	add(metrics.StoreBytes, float64(used))
	add(metrics.StoreRoom, float64(most))
	return nil
}

func (h *Host) failing() []string {
	on := h.site.Load()
	t := h.turn(on, turn.Request{Method: http.MethodGet, Target: health.Ready, Host: on.snapshot.CanonicalHost})
	said, _ := jsondoc.Parse(h.answer(on, t, health.Ready).Body)
	var list []string
	for _, check := range said.Get("failing").Items {
		list = append(list, check.Text)
	}
	return list
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
	h.store.Read(context.Background(), turn.SQL("SELECT 1")) // an error is an answer too
}
