package notify

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
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

// The watchdog gets a message again and again, each after the process has shown that it is alive.
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

// Without a manager that watches this process, nothing is sent.
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
