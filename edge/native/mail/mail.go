// Package mail brings messages to the operator: it composes them, and hands them to a mail server
// or writes them into a Maildir.
package mail

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"anteroom/edge/snapshot"
	"anteroom/edge/turn"

	gomail "github.com/wneessen/go-mail"
)

// Relay is the way to the operator's mail. Several goroutines may use it at once.
type Relay struct{ transport transport }

// transport hands a message to the next hop. nil means that the next hop has accepted the message.
// An error, a *relayError, means that it has not, or that this is not known. When ctx is done the
// transport breaks off.
type transport func(ctx context.Context, message *gomail.Msg) error

// relayError is why a message was not accepted. It holds nobody's words and no address: a server's
// reply may name the operator's address, and the log has more readers than the operator.
type relayError struct {
	why     string // at most 64 characters of ASCII
	status  int    // the reply code that refused this message for good; 0 for any other reason
	unknown bool   // the message may have been accepted
}

func (e *relayError) Error() string { return e.why }

// Open opens the relay that address names:
//
//	none                                        no relay: nil
//	maildir:PATH                                a folder of messages for most mail programs
//	smtp://[USER:PASSWORD@]HOST[:587][?tls=]    submission
//	smtps://[USER:PASSWORD@]HOST[:465]          submission with TLS from the first byte
//
// tls says what STARTTLS is: mandatory, opportunistic or none. The default is mandatory.
//
// Open makes the folder if it is missing, and does not connect to a server. An error does not
// repeat a password.
func Open(address string) (*Relay, error) {
	if address == "none" {
		return nil, nil
	}
	send, err := openTransport(address)
	if err != nil {
		return nil, err
	}
	return &Relay{send}, nil
}

func openTransport(address string) (transport, error) {
	if path, ok := strings.CutPrefix(address, "maildir:"); ok && path != "" {
		return openMaildir(path)
	}
	u, err := parseSMTP(address)
	if err != nil {
		return nil, err
	}
	r, err := openSMTP(u, nil, longest)
	if err != nil {
		return nil, err
	}
	return r.send, nil
}

// parseSMTP reads the address of a mail server.
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
// is not known. Its Data says why, without anybody's words or address. Its Status is the reply code
// that refused this very message for good.
func (r *Relay) Send(ctx context.Context, m turn.Message, s *snapshot.Snapshot, now time.Time) turn.Result {
	if r == nil || s.RelayTo == "" {
		return turn.Result{Failure: turn.Unavailable, Data: []byte("no relay")}
	}
	message, err := compose(m, s, now)
	if err == nil {
		err = r.transport(ctx, message)
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

var errAddresses = &relayError{why: "unusable relay address in the content"}

// compose makes the mail for a message of the core (RFC 5322). Auto-Submitted keeps other programs
// from answering it (RFC 3834, section 5).
func compose(m turn.Message, s *snapshot.Snapshot, now time.Time) (*gomail.Msg, error) {
	records := strings.Join(m.Records, ", ")
	for _, value := range []string{m.ID, m.Subject, records} {
		if strings.ContainsFunc(value, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
			return nil, &relayError{why: "control character in a header value"}
		}
	}
	msg := gomail.NewMsg(gomail.WithEncoding(gomail.EncodingQP), gomail.WithNoDefaultUserAgent())
	if msg.From(s.RelayFrom) != nil || msg.To(s.RelayTo) != nil {
		return nil, errAddresses
	}
	msg.Subject(m.Subject)
	msg.SetDateWithValue(now)
	msg.SetMessageIDWithValue(m.ID + "@" + s.CanonicalHost)
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	if records != "" {
		msg.SetGenHeader("X-Anteroom-Record", records)
	}
	msg.SetBodyString(gomail.TypeTextPlain, m.Text)
	return msg, nil
}
