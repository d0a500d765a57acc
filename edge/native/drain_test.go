package native

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"testing"
	"time"

	"anteroom/edge/edgetest"
)

// A caller whose connection was accepted before the end is answered, also if its request comes
// after that.
func TestEndAnswersAccepted(t *testing.T) {
	h, _ := open(t, Config{Key: edgetest.Key, Documents: manifestOf(t, "test")}, fake{})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(ctx, listener) }()
	caller, err := net.Dial("tcp", listener.Addr().String())
	must(t, err)
	defer caller.Close()
	caller.SetDeadline(time.Now().Add(10 * time.Second))
	for known := false; !known; time.Sleep(time.Millisecond) {
		h.unread.connections.Range(func(any, any) bool { known = true; return false })
	}
	end()
	time.Sleep(100 * time.Millisecond)
	_, err = caller.Write([]byte("GET /healthz HTTP/1.1\r\nHost: www.example.org\r\n\r\n"))
	must(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(caller), nil)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("%v, %v", answer, err)
	}
	must(t, <-ended)
}
