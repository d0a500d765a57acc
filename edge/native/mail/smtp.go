package mail

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

// smtpTimes are the longest waits of an SMTP transaction.
type smtpTimes struct {
	command time.Duration // to connect, and for the reply to each command but DATA
	data    time.Duration // for the reply to DATA
	content time.Duration // to hand the content over
	end     time.Duration // for the reply to the end of the content: the server may scan it first
	total   time.Duration // for all of it
}

// protocolTimes are the waits that the protocol asks of a client (RFC 5321, section 4.5.3.2). The
// content is a block or two.
var protocolTimes = smtpTimes{5 * time.Minute, 2 * time.Minute, 3 * time.Minute, 10 * time.Minute, 15 * time.Minute}

// quitTimeout is how long a server that has accepted a message may take to say goodbye.
const quitTimeout = 2 * time.Second

// smtpRelay is a mail server that takes messages for others.
type smtpRelay struct {
	host, address string
	user          *url.Userinfo // nil: without authentication
	tls           string        // mandatory, opportunistic, none, or implicit: from the first byte
	config        *tls.Config
	times         smtpTimes
}

// openSMTP makes the transport of a URL. The transport trusts the given roots; nil stands for those
// of the system.
func openSMTP(u *url.URL, roots *x509.CertPool, times smtpTimes) (transport, error) {
	r, err := newSMTP(u, roots, times)
	if err != nil {
		return nil, err
	}
	return r.send, nil
}

func newSMTP(u *url.URL, roots *x509.CertPool, times smtpTimes) (*smtpRelay, error) {
	r := &smtpRelay{
		host: u.Hostname(), user: u.User, tls: cmp.Or(u.Query().Get("tls"), "mandatory"),
		config: &tls.Config{ServerName: u.Hostname(), RootCAs: roots}, times: times,
	}
	port := "587"
	if u.Scheme == "smtps" {
		port, r.tls = "465", "implicit"
	} else if !slices.Contains([]string{"mandatory", "opportunistic", "none"}, r.tls) {
		return nil, fmt.Errorf("relay %s: tls is %q, and may be mandatory, opportunistic or none", u.Redacted(), r.tls)
	}
	if u.Port() != "" {
		port = u.Port()
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return nil, fmt.Errorf("relay %s: %w", u.Redacted(), err)
	}
	r.address = net.JoinHostPort(r.host, port)
	return r, nil
}

// send is the transport: one transaction. Where a step before the end of the content fails, the
// server has accepted nothing.
func (r *smtpRelay) send(ctx context.Context, message *gomail.Msg) error {
	from, err := message.GetSender(false)
	to, wrong := message.GetRecipients()
	if err != nil || wrong != nil || len(to) != 1 {
		return errAddresses
	}
	ctx, cancel := context.WithTimeout(ctx, r.times.total)
	defer cancel()
	plain, client, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer plain.Close()
	defer context.AfterFunc(ctx, func() { plain.Close() })()

	var content io.WriteCloser
	for _, step := range []step{
		{"sender", r.times.command, func() error { return client.Mail(from) }},
		{"recipient", r.times.command, func() error { return client.Rcpt(to[0]) }},
		{"", r.times.data, func() (err error) {
			content, err = client.Data()
			return err
		}},
		{"content", r.times.content, func() error {
			_, err := message.WriteTo(content)
			return err
		}},
	} {
		if err := step.take(plain); err != nil {
			return err
		}
	}
	plain.SetDeadline(time.Now().Add(r.times.end))
	if err := content.Close(); err != nil {
		failed, reply := refusal("", err), new(textproto.Error)
		answered := errors.As(err, &reply)
		if !answered || reply.Code/100 != 2 {
			failed.unknown = !answered || reply.Code/100 == 3
			return failed
		}
	}
	plain.SetDeadline(time.Now().Add(quitTimeout))
	client.Quit() // the message is accepted, whatever comes after
	return nil
}

// step is a step of a conversation with a mail server.
type step struct {
	name  string
	limit time.Duration
	do    func() error
}

// take does the step, within its limit. conn is the connection below TLS, where deadlines hold too.
func (s *step) take(conn net.Conn) error {
	conn.SetDeadline(time.Now().Add(s.limit))
	if err := s.do(); err != nil {
		return refusal(s.name, err)
	}
	return nil
}

// open connects to the server and logs in. It gives the connection below TLS too, which the caller
// closes.
func (r *smtpRelay) open(ctx context.Context) (plain net.Conn, client *smtp.Client, err error) {
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	plain, err = (&net.Dialer{Timeout: r.times.command}).DialContext(ctx, "tcp", r.address)
	if err != nil {
		return nil, nil, ErrUnreachable
	}
	defer context.AfterFunc(ctx, func() { plain.Close() })()
	conn := plain
	for _, step := range []step{
		{"TLS", r.times.command, func() error {
			if r.tls != "implicit" {
				return nil
			}
			secure := tls.Client(plain, r.config)
			conn = secure
			return secure.Handshake()
		}},
		{"greeting", r.times.command, func() (err error) {
			client, err = smtp.NewClient(conn, r.host)
			return err
		}},
		{"EHLO", r.times.command, func() error { return client.Hello(name) }},
		{"TLS", r.times.command, func() error {
			offered, _ := client.Extension("STARTTLS")
			switch {
			case r.tls == "mandatory" && !offered:
				return errNotOffered
			case r.tls == "mandatory" || r.tls == "opportunistic" && offered:
				return client.StartTLS(r.config)
			}
			return nil
		}},
		{"authentication", r.times.command, func() error {
			if r.user == nil {
				return nil
			}
			login := r.login(client)
			if login == nil {
				return errNotOffered
			}
			return client.Auth(login)
		}},
	} {
		if err := step.take(plain); err != nil {
			plain.Close()
			return nil, nil, err
		}
	}
	return plain, client, nil
}

// login is the best way to authenticate that a server offers. It is nil where the server offers no
// safe one: only a server that has proved who it is gets a password.
func (r *smtpRelay) login(client *smtp.Client) smtp.Auth {
	_, list := client.Extension("AUTH")
	offered := strings.Fields(list)
	user := r.user.Username()
	password, _ := r.user.Password()
	state, err := client.GetTLSConnectionState()
	secure := err == nil
	for _, way := range []struct {
		name string
		tls  bool // whether it needs TLS
		auth smtp.Auth
	}{
		{"SCRAM-SHA-256-PLUS", true, smtp.ScramSHA256PlusAuth(user, password, state)},
		{"SCRAM-SHA-256", false, smtp.ScramSHA256Auth(user, password)},
		{"SCRAM-SHA-1-PLUS", true, smtp.ScramSHA1PlusAuth(user, password, state)},
		{"SCRAM-SHA-1", false, smtp.ScramSHA1Auth(user, password)},
		{"CRAM-MD5", false, smtp.CRAMMD5Auth(user, password)},
		{"PLAIN", true, smtp.PlainAuth("", user, password, r.host, false)},
		{"LOGIN", true, smtp.LoginAuth(user, password, r.host, false)},
	} {
		if slices.Contains(offered, way.name) && (secure || !way.tls) {
			return way.auth
		}
	}
	return nil
}

var errNotOffered = errors.New("not offered")

// ErrUnreachable is the error of Check where no connection to the mail server could be made.
var ErrUnreachable error = &relayError{why: "unreachable"}

// enhanced matches the enhanced status code of a reply (RFC 3463).
var enhanced = regexp.MustCompile(`^[245]\.[0-9]{1,3}\.[0-9]{1,3}\b`)

// refusal is what is told of an error in a step. The step "" is about the message itself.
func refusal(step string, err error) *relayError {
	var reply *textproto.Error
	var untrusted *tls.CertificateVerificationError
	var timeout net.Error
	failed, what := &relayError{}, "broke off"
	switch {
	case errors.As(err, &reply):
		code := strings.TrimSpace(strconv.Itoa(reply.Code) + " " + enhanced.FindString(reply.Msg))
		if step == "" {
			if failed.why = code; reply.Code/100 == 5 {
				failed.status = reply.Code
			}
			return failed
		}
		what = "refused " + code
	case err == errNotOffered:
		what = err.Error()
	case errors.As(err, &untrusted):
		what = "certificate refused"
	case errors.As(err, &timeout) && timeout.Timeout():
		what = "timed out"
	}
	failed.why = strings.TrimSpace(step + " " + what)
	return failed
}
