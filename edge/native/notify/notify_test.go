//go:build unix

package notify

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// manager listens as a service manager, at a file or, by a name with "@", at an abstract address.
func manager(t *testing.T, name string) *net.UnixConn {
	t.Helper()
	t.Setenv("NOTIFY_SOCKET", name)
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	return conn
}

// told is the next message to a manager.
func told(t *testing.T, conn *net.UnixConn) string {
	t.Helper()
	message := make([]byte, 1000)
	n, err := conn.Read(message)
	if err != nil {
		t.Fatal(err)
	}
	return string(message[:n])
}

func TestStates(t *testing.T) {
	for _, name := range []string{filepath.Join(t.TempDir(), "notify"), "@anteroom-notify-" + strconv.Itoa(os.Getpid())} {
		conn := manager(t, name)
		for _, step := range []struct {
			tell func() error
			want string
		}{{Ready, "^READY=1$"}, {Reloading, `^RELOADING=1\nMONOTONIC_USEC=(\d+)\n$`}, {Stopping, "^STOPPING=1$"}} {
			if err := step.tell(); err != nil {
				t.Fatal(err)
			}
			got := told(t, conn)
			match := regexp.MustCompile(step.want).FindStringSubmatch(got)
			if match == nil {
				t.Errorf("%q, want %s", got, step.want)
			}
			if len(match) > 1 { // the time is that of the clock that the manager compares with
				var now unix.Timespec
				sent, _ := strconv.ParseInt(match[1], 10, 64)
				if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil || sent > now.Nano()/1000 || sent < now.Nano()/1000-60e6 {
					t.Errorf("%d is not the time (%d), %v", sent, now.Nano()/1000, err)
				}
			}
		}
	}
}

func TestNoManager(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	for _, tell := range []func() error{Ready, Reloading, Stopping} {
		if err := tell(); err != nil {
			t.Error(err)
		}
	}
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "nobody"))
	if err := Ready(); err == nil {
		t.Error("a manager that is gone was told")
	}
}

// The watchdog is told again and again, each time after the process has shown that it is alive.
func TestWatchdog(t *testing.T) {
	conn := manager(t, filepath.Join(t.TempDir(), "notify"))
	t.Setenv("WATCHDOG_USEC", "20000")
	t.Setenv("WATCHDOG_PID", strconv.Itoa(os.Getpid()))
	ctx, stop := context.WithCancel(t.Context())
	calls, goOn, ended := make(chan bool), make(chan bool), make(chan error)
	go func() { ended <- Watchdog(ctx, func() { calls <- true; <-goOn }) }()
	for range 3 {
		<-calls
		conn.SetReadDeadline(time.Now())
		if n, err := conn.Read(make([]byte, 100)); err == nil {
			t.Errorf("%d bytes were told before the process was alive", n)
		}
		conn.SetReadDeadline(time.Now().Add(10 * time.Second))
		goOn <- true
		if got := told(t, conn); got != "WATCHDOG=1" {
			t.Errorf("%q", got)
		}
	}
	stop()
	for {
		select {
		case <-calls:
			goOn <- true
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
			return
		}
	}
}

// Where nobody watches, or over another process, nothing is told.
func TestNoWatchdog(t *testing.T) {
	for _, c := range []struct {
		limit, process string
		ok             bool
	}{{"", "", true}, {"20000", strconv.Itoa(os.Getppid()), true}, {"often", "", false}} {
		t.Setenv("WATCHDOG_USEC", c.limit)
		t.Setenv("WATCHDOG_PID", c.process)
		if err := Watchdog(t.Context(), func() { t.Error("asked whether it is alive") }); err == nil != c.ok {
			t.Errorf("%q of %q: %v", c.limit, c.process, err)
		}
	}
}
