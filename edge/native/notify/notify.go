// Package notify reports the state of the process to the service manager (sd_notify(3)).
// Without a manager, which sets NOTIFY_SOCKET, the functions do nothing.
package notify

import (
	"context"
	"fmt"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Ready says that the process does its work: at its start, and again after each Reloading.
func Ready() error { return tell(daemon.SdNotifyReady) }

// Reloading says that the process reads its configuration again. Ready says when it is done, well
// or not. With Type=notify-reload the manager tells reloads apart by the time in the message.
func Reloading() error {
	return tell(daemon.SdNotifyReloading + "\n" + daemon.SdNotifyMonotonicUsec())
}

// Stopping says that the process ends.
func Stopping() error { return tell(daemon.SdNotifyStopping) }

func tell(state string) error {
	if _, err := daemon.SdNotify(false, state); err != nil {
		return fmt.Errorf("notify the service manager: %w", err)
	}
	return nil
}

// Watchdog keeps the manager's watchdog from ending the process, until ctx is done: at twice the
// rate that the manager wants (WATCHDOG_USEC), it calls alive, and tells the manager once alive has
// returned. So a process that hangs is restarted. Watchdog returns at once if the
// manager does not watch the process.
func Watchdog(ctx context.Context, alive func()) error {
	limit, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return fmt.Errorf("read what the service manager's watchdog wants: %w", err)
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
