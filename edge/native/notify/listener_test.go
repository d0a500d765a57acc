package notify

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The process takes one TCP socket, and refuses any other.
func TestListener(t *testing.T) {
	if os.Getenv("NOTIFY_TEST_CHILD") != "" {
		taken, err := Listener()
		switch {
		case err != nil:
			t.Log(err)
		case taken == nil:
			t.Log("no socket")
		default:
			t.Log("took " + taken.Addr().String())
		}
		return
	}
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	local, err := net.Listen("unix", filepath.Join(t.TempDir(), "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	file := func(listener interface{ File() (*os.File, error) }) *os.File {
		f, err := listener.File()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	one, other := file(tcp.(*net.TCPListener)), file(local.(*net.UnixListener))
	for _, c := range []struct {
		files []*os.File
		pid   string
		want  string
	}{
		{nil, "$$", "no socket"},
		{[]*os.File{one}, "1", "no socket"}, // meant for another process
		{[]*os.File{one}, "$$", "took " + tcp.Addr().String()},
		{[]*os.File{one, one}, "$$", "got 2, want one TCP socket"},
		{[]*os.File{other}, "$$", "got 1, want one TCP socket"},
	} {
		child := exec.Command("sh", "-c", "LISTEN_PID="+c.pid+` exec "$0" -test.run=TestListener -test.v`, os.Args[0])
		child.Env = append(os.Environ(), "NOTIFY_TEST_CHILD=1", "LISTEN_FDS="+strconv.Itoa(len(c.files)))
		child.ExtraFiles = c.files
		out, err := child.CombinedOutput()
		if err != nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%d sockets for process %s: %v: %s, want %s", len(c.files), c.pid, err, out, c.want)
		}
	}
}
