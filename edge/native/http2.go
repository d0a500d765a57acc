package native

import (
	"net/http"
	"time"
)

// Sizes and times of HTTP/2, beside those of every request. A proxy sends the requests of all its
// callers over few connections.
const (
	streamsAtOnce = 250              // of a connection; net/http cuts off whoever resets streams to begin more
	streamBuffer  = 128 << 10        // bytes of a body that are not yet read: more than turn.MaxBody
	frameSize     = 16 << 10         // bytes: the least that there may be
	pingPause     = 30 * time.Second // until a connection that has said nothing is asked whether it is there
)

// speakHTTP2 has a server take HTTP/2 without TLS too, from clients that know that it does (RFC
// 9113, section 3.3): a proxy in front, or another program on this machine.
func speakHTTP2(s *http.Server) {
	s.Protocols = new(http.Protocols)
	s.Protocols.SetHTTP1(true)
	s.Protocols.SetUnencryptedHTTP2(true)
	s.HTTP2 = &http.HTTP2Config{
		MaxConcurrentStreams: streamsAtOnce, MaxReceiveBufferPerStream: streamBuffer, MaxReadFrameSize: frameSize,
		SendPingTimeout: pingPause, PingTimeout: pingPause, WriteByteTimeout: s.WriteTimeout,
	}
}
