package native

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// unread holds the accepted connections without a request so far. Once http.Server.Shutdown has
// begun, net/http closes them without an answer.
type unread struct{ connections sync.Map }

func (u *unread) watch(c net.Conn, state http.ConnState) {
	if state == http.StateNew {
		u.connections.Store(c, nil)
	} else {
		u.connections.Delete(c)
	}
}

func (u *unread) wait() {
	const patience, pause = time.Second, 20 * time.Millisecond
	left := true
	for end := time.Now().Add(patience); left && time.Now().Before(end); time.Sleep(pause) {
		left = false
		u.connections.Range(func(any, any) bool { left = true; return false })
	}
}
