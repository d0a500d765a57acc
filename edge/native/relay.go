package native

import (
	"time"

	"anteroom/edge/turn"
)

func (h *Host) sendMail(on *site, m turn.Message) turn.Result {
	result := h.relay.Send(h.relayContext, m, on.snapshot, h.now())
	switch result.Failure {
	case turn.Refused:
		h.log.Error("relay refused", "message", m.ID, "why", string(result.Data))
	case turn.Timeout:
		h.log.Error("relay failed: it is not known whether the message was accepted",
			"message", m.ID, "why", string(result.Data))
	}
	return result
}

// sendSoon is sendMail for a request. After relayPause the outcome is unknown. The transaction
// continues, and the log records its end: cancelling it, or starting another, could deliver the
// message twice.
func (h *Host) sendSoon(on *site, m turn.Message) turn.Result {
	select {
	case h.relaying <- struct{}{}:
	default:
		return turn.Result{Failure: turn.Refused, Data: []byte("too many under way")}
	}
	ended := make(chan turn.Result, 1)
	go func() {
		result := turn.Result{Failure: turn.Timeout, Data: []byte("broke off")}
		defer func() { ended <- result }()
		defer h.recovered("relay", func() {})
		result = h.sendMail(on, m)
	}()
	select {
	case result := <-ended:
		<-h.relaying
		return result
	case <-time.After(h.relayPause):
	}
	h.log.Warn("the relay is slow: it continues, after its request was answered", "message", m.ID)
	go func() {
		switch result := <-ended; result.Failure {
		case turn.None:
			h.log.Error("relay arrived late: count it by hand", "message", m.ID)
		case turn.Refused:
			h.log.Error("relay was refused after all", "message", m.ID)
		}
		<-h.relaying
	}()
	return turn.Result{Failure: turn.Timeout, Data: []byte("timed out")}
}

func (h *Host) endRelays() {
	h.ended.Do(func() {
		for range cap(h.relaying) {
			h.relaying <- struct{}{}
		}
	})
}
