package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

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
