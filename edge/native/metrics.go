package native

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"sync"
	"time"

	"anteroom/edge/endpoint/health"
	"anteroom/edge/native/metrics"
	"anteroom/edge/native/sqlite"
	"anteroom/edge/store/records"
	"anteroom/edge/turn"
)

// measure has the metrics of the host, if it has any, follow its store.
func (h *Host) measure() {
	if h.config.Metrics == nil {
		return
	}
	h.store.Watch(func(c sqlite.Commit) { h.config.Metrics.Commit(c.Executions, c.Took) })
	h.config.Metrics.Outbox(h.outbox.count)
}

// count counts a request that was answered.
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
	case isDynamic(path):
		route = h.config.Metrics.Route(path)
	case status == http.StatusNotFound:
		route = metrics.NotFound
	}
	h.config.Metrics.Request(route, method, status, took)
}

// outboxCounter counts the messages in the outbox of a data folder. It reads the database by a
// connection of its own, so that no write waits for a count.
type outboxCounter struct {
	data string

	mu     sync.Mutex
	reader *sqlite.Reader // nil until the first count
	closed bool
}

func (c *outboxCounter) count() (pending, dead int64, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return 0, 0, errors.New("count the outbox: the database is closed")
	}
	if c.reader == nil {
		if c.reader, err = sqlite.OpenReadOnly(filepath.Join(c.data, sqlite.FileName)); err != nil {
			return 0, 0, err
		}
	}
	rows, err := c.reader.Read(context.Background(), records.CountUndelivered)
	if err != nil {
		return 0, 0, err
	}
	return rows[0][0][0].(int64), rows[0][0][1].(int64), nil
}

func (c *outboxCounter) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.reader == nil {
		return nil
	}
	return c.reader.Close()
}

// Respond returns once the writer of the store has answered. If it never does, the host hangs.
func (h *Host) Respond() {
	h.store.Read(context.Background(), turn.Statement{SQL: "SELECT 1"}) // an answer is one, whatever it says
}
