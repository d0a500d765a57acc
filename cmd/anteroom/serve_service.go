package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"

	"anteroom/cmd/anteroom/internal/cli"
	"anteroom/edge/native"
	"anteroom/edge/native/metrics"
	"anteroom/edge/native/notify"

	"github.com/spf13/pflag"
)

// serviceOptions are the flags of serve for a server that something watches over: a log that
// programs read, and metrics.
type serviceOptions struct {
	logFormat      string // "" is text
	metricsAddress string // "" is none
}

// The formats of the log.
const (
	logText = "text"
	logJSON = "json"
)

func (o *serviceOptions) add(flags *pflag.FlagSet) {
	flags.StringVar(&o.logFormat, "log-format", logText, "the form of the log, `text|json`; JSON has durations in seconds")
	flags.StringVar(&o.metricsAddress, "metrics-addr", "", "an `address` at which to show metrics for Prometheus, such as 127.0.0.1:9464 (default none)")
}

// checkService finds what is wrong with these flags.
func (o *serveOptions) checkService(fault func(format string, args ...any)) {
	switch o.service.logFormat {
	case "", logText, logJSON:
	default:
		fault("--log-format %q is neither %s nor %s", o.service.logFormat, logText, logJSON)
	}
	if o.service.metricsAddress != "" && sameAddress(o.service.metricsAddress, o.address) {
		fault("--metrics-addr %s is the address of --addr, where everybody could read the metrics (choose another port)", o.service.metricsAddress)
	}
}

// sameAddress reports whether two addresses to listen at exclude each other.
func sameAddress(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if a == b {
		return portA != "0"
	}
	every := func(host string) bool { return host == "" || net.ParseIP(host).IsUnspecified() }
	return errors.Join(errA, errB) == nil && portA == portB && portA != "0" && (hostA == hostB || every(hostA) || every(hostB))
}

// log is the log of the server, in the chosen format.
func (o *serviceOptions) log(t *cli.Terminal) *slog.Logger {
	if o.logFormat != logJSON {
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

// presence is what a server shows of itself to those who watch over it: metrics, and the states
// that the service manager is told.
type presence struct {
	metrics  *metrics.Metrics // nil where nobody wants them
	listener net.Listener     // for them
	log      *slog.Logger
	stop     context.CancelFunc
	running  sync.WaitGroup
}

// presence listens for those who want metrics. The caller closes it in the end.
func (o *serviceOptions) presence(log *slog.Logger) (*presence, error) {
	p := &presence{log: log, stop: func() {}}
	if o.metricsAddress == "" {
		return p, nil
	}
	var err error
	if p.listener, err = native.Listen(o.metricsAddress); err != nil {
		return nil, fmt.Errorf("--metrics-addr: %w", err)
	}
	if address, ok := p.listener.Addr().(*net.TCPAddr); ok && !address.IP.IsLoopback() {
		log.Warn("everybody who reaches this address can read the metrics (prefer a loopback address, or guard it)", "address", address.String())
	}
	program, revision := thisProgram(), ""
	if program.Commit != nil {
		revision = *program.Commit
	}
	p.metrics = metrics.New(program.Version, revision)
	return p, nil
}

// start tells the service manager that a host is ready, which is about to serve until ctx is done,
// and then that it ends. It shows the metrics of the host until close, which comes after both.
func (p *presence) start(ctx context.Context, host *native.Host) {
	var running context.Context
	running, p.stop = context.WithCancel(context.WithoutCancel(ctx))
	if p.listener != nil {
		p.log.Info("metrics are shown", "url", "http://"+p.listener.Addr().String()+"/metrics")
		p.running.Go(func() { p.warn(p.metrics.Serve(running, p.listener, p.log)) })
	}
	p.warn(notify.Ready())
	p.running.Go(func() { p.warn(notify.Watchdog(running, host.Respond)) })
	p.running.Go(func() {
		<-ctx.Done()
		p.warn(notify.Stopping())
	})
}

// reload tells of a reload, and counts it. It returns the error of the reload.
func (p *presence) reload(reload func() error) error {
	p.warn(notify.Reloading())
	err := reload()
	p.metrics.Reload(err)
	p.warn(notify.Ready())
	return err
}

func (p *presence) warn(err error) {
	if err != nil {
		p.log.Warn("who watches over the server is not told", "error", err)
	}
}

// close ends what start began.
func (p *presence) close() {
	p.stop()
	p.running.Wait()
	if p.listener != nil {
		p.listener.Close() // a second time, unless start was never called
	}
}
