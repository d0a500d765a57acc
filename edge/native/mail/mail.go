// Package mail brings messages to the operator: it composes them, and hands them to a mail server
// or writes them into a Maildir.
package mail

import (
	"context"
	"errors"
	netmail "net/mail"
	"net/url"
	"os"
	"strings"
	"time"

	"anteroom/edge/snapshot"
	"anteroom/edge/turn"

	gomail "github.com/wneessen/go-mail"
)

// Relay is the way to the operator's mail. Several goroutines may use it at once.
type Relay struct {
	transport transport
	copies    *maildir // nil to keep none
}

// transport hands a message of a service to the next hop. nil means that the next hop has accepted
// the message. An error, a *relayError, means that it has not, or that this is not known. When ctx
// is done the transport breaks off.
type transport func(ctx context.Context, message *gomail.Msg, of *snapshot.Snapshot) error

// relayError is why a message was not accepted.
type relayError struct {
	why     string // at most turn.MaxReason characters of ASCII, without an e-mail address
	code    int    // of the reply; 0 without one
	status  int    // the reply code that refused this message for good; 0 for any other reason
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
//	tls    what STARTTLS is: mandatory (the default), opportunistic or none
//	helo   the name to greet the server with, instead of the canonical host
//	ca     a file of certificates (PEM): the authorities to trust, instead of the system's
//
// copies is a Maildir to which the relay writes each suggestion before it sends it, so that none is
// lost that a mail server takes and loses; "" for none.
//
// Open makes the folders if they are missing, and does not connect to a server. An error does not
// repeat a password.
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

// Expire removes the copies of suggestions that were written before a time.
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

func parseSMTP(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "smtp" && u.Scheme != "smtps" {
		// The address may hold a password: it is not repeated.
		return nil, errors.New("relay is not none, maildir:PATH, smtp://USER:PASSWORD@HOST:PORT or smtps://USER:PASSWORD@HOST:PORT " +
			"(percent-encode what the password has of : / @ ? # %)")
	}
	return u, nil
}

// Send sends a message to the operator that the snapshot names, and waits for as long as the relay
// takes, but not longer than ctx. The failure of the result is Unavailable without a relay (r is
// nil) or an operator, Refused where the message was certainly not accepted, and Timeout where that
// is not known. Its Data says why, in the words of the mail server. Its Status is the reply code
// that refused this very message for good. Of a suggestion that was certainly not accepted no copy
// stays, and one that cannot be copied is not sent.
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

// sendCopied sends a message once there is a copy of it. The copy stays unless the message was
// certainly not accepted.
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

// compose makes the mail for a message of the core (RFC 5322). Auto-Submitted keeps other programs
// from answering it (RFC 3834, section 5).
func compose(m turn.Message, s *snapshot.Snapshot, now time.Time) (*gomail.Msg, error) {
	records := strings.Join(m.Records, ", ")
	for _, value := range []string{m.ID, string(m.List), m.Subject, records, m.After} {
		if strings.ContainsFunc(value, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
			return nil, &relayError{why: "control character in a header value"}
		}
	}
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
	msg.SetGenHeader("List-Id", "<"+string(m.List)+"."+s.CanonicalHost+">")
	if m.After != "" {
		msg.SetGenHeader(gomail.HeaderReferences, "<"+m.After+"@"+s.CanonicalHost+">")
	}
	if records != "" {
		msg.SetGenHeader("X-Anteroom-Record", records)
	}
	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	return msg, nil
}
