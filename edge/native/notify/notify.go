// Package notify reports the state of the process to the service manager (sd_notify(3)), if that
// has set NOTIFY_SOCKET.
package notify

import (
	"context"
	"fmt"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

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
