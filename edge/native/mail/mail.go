// Package mail sends messages to the operator, over a mail server or into a Maildir.
package mail

import (
	"context"
	"errors"
	netmail "net/mail"
	"os"
	"strings"
	"time"

	"anteroom/edge/snapshot"
	"anteroom/edge/turn"

	gomail "github.com/wneessen/go-mail"
)

// Relay sends messages. It may be used concurrently.
type Relay struct {
	transport transport
	copies    *maildir // nil for none
}

// transport hands a message to the next hop, until ctx is done. It returns nil if that has accepted
// the message, and otherwise a *relayError.
type transport func(ctx context.Context, message *gomail.Msg, of *snapshot.Snapshot) error

type relayError struct {
	why     string // at most turn.MaxReason characters of ASCII, without an e-mail address
	code    int    // of the reply, or 0
	status  int    // code of a reply that refused this message for good, or 0
	unknown bool   // the message may have been accepted
}

func (e *relayError) Error() string { return e.why }

// Open opens the relay that address names:
//
//	none                                        no relay: nil
//	maildir:PATH                                a folder of messages for most mail programs
//	smtp://[USER:PASSWORD@]HOST[:587]           submission
//	smtps://[USER:PASSWORD@]HOST[:465]          submission with TLS from the first byte
//
// A URL takes these settings, as in smtp://HOST?helo=NAME&ca=FILE:
//
//	tls    none for no STARTTLS, which is mandatory otherwise
//	helo   the name to greet the server with, instead of the canonical host
//	ca     a PEM file of the authorities to trust, instead of the system's
//
// copies is a Maildir for a copy of each suggestion, in case the mail server loses it; "" for none.
//
// Open makes missing folders, and does not connect to a server. No error repeats a password.
func Open(address, copies string) (*Relay, error) {
	if address == "none" {
		return nil, nil
	}
	send, err := openTransport(address)
	r := &Relay{transport: send}
	if err == nil && copies != "" {
		r.copies, err = openMaildir(copies)
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// Expire removes the copies written before a time.
func (r *Relay) Expire(before time.Time) error {
	if r == nil || r.copies == nil {
		return nil
	}
	return r.copies.expire(before)
}

func openTransport(address string) (transport, error) {
	if path, ok := strings.CutPrefix(address, "maildir:"); ok && path != "" {
		folder, err := openMaildir(path)
		return folder.send, err
	}
	server, err := openSMTP(address, longest)
	return server.send, err
}

// Send sends a message to the snapshot's operator, as turn.Relay describes, and waits until the
// relay is done or ctx is. The failure is Unavailable without a relay (r is nil) or an operator. A
// suggestion that cannot be copied is not sent. If it was certainly not accepted, its copy is
// removed.
func (r *Relay) Send(ctx context.Context, m turn.Message, s *snapshot.Snapshot, now time.Time) turn.Result {
	if r == nil || s.RelayTo == "" {
		return turn.Result{Failure: turn.Unavailable, Data: []byte("no relay")}
	}
	message, err := compose(m, s, now)
	switch {
	case err != nil:
	case r.copies != nil && m.List == turn.Suggestions:
		err = r.sendCopied(ctx, message, s)
	default:
		err = r.transport(ctx, message, s)
	}
	failed := new(relayError)
	switch {
	case err == nil:
		return turn.Result{}
	case errors.As(err, &failed) && failed.unknown:
		return turn.Result{Failure: turn.Timeout, Data: []byte(failed.why)}
	}
	return turn.Result{Failure: turn.Refused, Status: failed.status, Data: []byte(failed.why)}
}

func (r *Relay) sendCopied(ctx context.Context, message *gomail.Msg, s *snapshot.Snapshot) error {
	failed := new(relayError)
	kept, err := r.copies.write(message, copied)
	if errors.As(err, &failed) {
		err = &relayError{why: "copy: " + failed.why}
	} else {
		err = r.transport(ctx, message, s)
	}
	if errors.As(err, &failed) && !failed.unknown {
		os.Remove(kept)
	}
	return err
}

var errAddresses = &relayError{why: "unusable relay address in the content"}

// compose makes a mail (RFC 5322). Auto-Submitted keeps programs from answering it (RFC 3834,
// section 5).
func compose(m turn.Message, s *snapshot.Snapshot, now time.Time) (*gomail.Msg, error) {
	msg := gomail.NewMsg(gomail.WithEncoding(gomail.EncodingQP), gomail.WithNoDefaultUserAgent())
	from, err := netmail.ParseAddress(s.RelayFrom)
	if err != nil || msg.To(s.RelayTo) != nil || msg.EnvelopeFrom(s.RelayBounces) != nil {
		return nil, errAddresses
	}
	from.Name = s.Service
	msg.FromMailAddress(from)
	msg.Subject(m.Subject)
	msg.SetDateWithValue(now)
	msg.SetMessageIDWithValue(m.ID + "@" + s.CanonicalHost)
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetGenHeader("List-Id", "<"+m.List+"."+s.CanonicalHost+">")
	if m.After != "" {
		msg.SetGenHeader(gomail.HeaderReferences, "<"+m.After+"@"+s.CanonicalHost+">")
	}
	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	return msg, nil
}
