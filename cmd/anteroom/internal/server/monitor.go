package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/native"
	"anteroom/edge/native/metrics"
	"anteroom/edge/native/notify"
)

// logger is the log of the server, in the chosen format. In JSON, durations are seconds.
func (o *Options) logger(t *cli.Terminal) *slog.Logger {
	if o.LogFormat != LogJSON {
		return t.Logger()
	}
	return slog.New(slog.NewJSONHandler(visibleJSONLines{t.Err}, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Value.Kind() == slog.KindDuration {
			a.Value = slog.Float64Value(a.Value.Duration().Seconds())
		}
		return a
	}}))
}

// visibleJSONLines writes JSON texts on, with their invisible characters as escapes.
type visibleJSONLines struct{ io.Writer }

func (w visibleJSONLines) Write(p []byte) (int, error) {
	if _, err := w.Writer.Write(cli.VisibleJSON(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// monitor is what a server shows to those who watch over it: metrics, and its state for the service
// manager.
type monitor struct {
	metrics  *metrics.Metrics
	listener net.Listener // for those who want metrics; nil if nobody does
	log      *slog.Logger
	stop     context.CancelFunc
	running  sync.WaitGroup
}

// newMonitor listens for those who want metrics. The caller closes it in the end.
func (o *Options) newMonitor(log *slog.Logger) (*monitor, error) {
	m := &monitor{metrics: metrics.New(o.Version, o.Commit), log: log, stop: func() {}}
	if o.MetricsAddress == "" {
		return m, nil
	}
	var err error
	if m.listener, err = native.Listen(o.MetricsAddress); err != nil {
		return nil, fmt.Errorf("--metrics-addr: %w", err)
	}
	if address, ok := m.listener.Addr().(*net.TCPAddr); ok && !address.IP.IsLoopback() {
		log.Warn("everybody who reaches this address can read the metrics (prefer a loopback address, or guard it)",
			"address", address.String())
	}
	return m, nil
}

// start tells the service manager that a host is ready, which is about to serve until ctx is done,
// and then that it ends. It shows the metrics of the host until close, which comes after both.
func (m *monitor) start(ctx context.Context, host *native.Host) {
	var running context.Context
	running, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	if m.listener != nil {
		m.log.Info("metrics are shown", "url", "http://"+m.listener.Addr().String()+"/metrics")
		m.running.Go(func() { m.warn(m.metrics.Serve(running, m.listener, m.log)) })
	}
	m.warn(notify.Ready())
	m.running.Go(func() { m.warn(notify.Watchdog(running, host.Respond)) })
	m.running.Go(func() {
		<-ctx.Done()
		m.warn(notify.Stopping())
	})
}

// reload tells of a reload, and counts it. It returns the error of the reload.
func (m *monitor) reload(reload func() error) error {
	m.warn(notify.Reloading())
	err := reload()
	m.metrics.Reload(err)
	m.warn(notify.Ready())
	return err
}

func (m *monitor) warn(err error) {
	if err != nil {
		m.log.Warn("cannot show the state of the server (metrics, or the service manager)", "error", err)
	}
}

func (m *monitor) close() {
	m.stop()
	m.running.Wait()
	if m.listener != nil {
		m.listener.Close() // a second time, unless start was never called
	}
}
