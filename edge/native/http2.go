package native

import (
	"net/http"
	"time"
)

// A proxy sends the requests of all its callers over few connections.
const (
	streamsAtOnce = 250              // of a connection; net/http cuts off whoever resets streams to begin more
	streamBuffer  = 128 << 10        // bytes of a body that are not yet read: more than turn.MaxBody
	frameSize     = 16 << 10         // bytes: the least that there may be
	pingPause     = 30 * time.Second // until a silent connection is probed
)

// speakHTTP2 enables HTTP/2 without TLS, for proxies (RFC 9113, section 3.3).
func speakHTTP2(s *http.Server) {
	s.Protocols = new(http.Protocols)
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	s.HTTP2 = &http.HTTP2Config{
		MaxConcurrentStreams: streamsAtOnce, MaxReceiveBufferPerStream: streamBuffer, MaxReadFrameSize: frameSize,
		SendPingTimeout: pingPause, PingTimeout: pingPause, WriteByteTimeout: s.WriteTimeout,
	}
}
