// Package notify talks with the service manager: it reports the state of the process
// (sd_notify(3)), if the manager has set NOTIFY_SOCKET, and takes the socket that the manager has
// opened (sd_listen_fds(3)).
package notify

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/coreos/go-systemd/v22/daemon"
)

// Listener returns the TCP socket that the service manager has opened, or nil if it has opened
// none. Callers wait at such a socket while the process restarts.
func Listener() (net.Listener, error) {
	listeners, _ := activation.Listeners() // never fails
	if len(listeners) == 0 {
		return nil, nil
	}
	_, isTCP := listeners[0].(*net.TCPListener)
	if !isTCP || len(listeners) > 1 {
		return nil, fmt.Errorf("take the socket of the service manager: got %d, want one TCP socket "+
			"(one ListenStream=HOST:PORT in the socket unit)", len(listeners))
	}
	return listeners[0], nil
}

// Ready reports that the process serves, at its start and after each Reloading, and shows a line in
// systemctl status.
func Ready(status string) error { return tell(daemon.SdNotifyReady + "\nSTATUS=" + status) }

// Reloading reports a reload of the configuration, until Ready. With Type=notify-reload the manager
// tells reloads apart by the time in the message.
func Reloading() error {
	return tell(daemon.SdNotifyReloading + "\n" + daemon.SdNotifyMonotonicUsec())
}

// Stopping reports that the process ends.
func Stopping() error { return tell(daemon.SdNotifyStopping) }

func tell(state string) error {
	if _, err := daemon.SdNotify(false, state); err != nil {
		return fmt.Errorf("notify the service manager: %w", err)
	}
	return nil
}

// Watchdog calls alive, and reports to the manager when that returns, at twice the rate that the
// manager wants (WATCHDOG_USEC), until ctx is done. So a process that hangs is restarted. Watchdog
// returns at once if the manager does not watch the process.
func Watchdog(ctx context.Context, alive func()) error {
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return fmt.Errorf("read WATCHDOG_USEC: %w", err)
	}
	if limit == 0 {
		return nil
	}
	ticker := time.NewTicker(limit / 2)
	defer ticker.Stop()
	for {
		alive()
		_ = tell(daemon.SdNotifyWatchdog) // the next one may arrive
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}
