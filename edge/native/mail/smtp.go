package mail

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
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

// The longest waits of an SMTP transaction. A server may scan a message for longest before it
// accepts it (RFC 5321, section 4.5.3.2). The whole ends before its lease in the outbox does.
const (
	longest     = 10 * time.Minute // for a login, and then for a message
	transaction = 15 * time.Minute // for both
	quitTimeout = 2 * time.Second  // for the goodbye of a server that has accepted a message
)

// smtpRelay is a mail server that takes messages for others.
type smtpRelay struct {
	address string
	timeout time.Duration
	client  func(dial gomail.DialContextFunc) (*gomail.Client, error) // makes one for a session
	config  *tls.Config                                               // of TLS from the first byte; nil for STARTTLS or none
}

// policies are what tls in the URL of a relay may be.
var policies = map[string]gomail.TLSPolicy{"mandatory": gomail.TLSMandatory, "opportunistic": gomail.TLSOpportunistic, "none": gomail.NoTLS}

// openSMTP makes the relay of a URL. It trusts the given roots; nil is those of the system.
func openSMTP(u *url.URL, roots *x509.CertPool, timeout time.Duration) (*smtpRelay, error) {
	mode := cmp.Or(u.Query().Get("tls"), "mandatory")
	policy, known := policies[mode]
	port, err := strconv.ParseUint(cmp.Or(u.Port(), map[string]string{"smtp": "587", "smtps": "465"}[u.Scheme]), 10, 16)
	if err != nil {
		return nil, fmt.Errorf("relay %s: %w", u.Redacted(), err)
	}
	r := &smtpRelay{address: net.JoinHostPort(u.Hostname(), strconv.FormatUint(port, 10)), timeout: timeout}
	config := &tls.Config{ServerName: u.Hostname(), RootCAs: roots}
	if u.Scheme == "smtps" {
		r.config, policy = config, gomail.TLSOpportunistic // by which the client finds that it speaks TLS
	} else if !known {
		return nil, fmt.Errorf("relay %s: tls is %q, and may be mandatory, opportunistic or none", u.Redacted(), mode)
	}
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	options := []gomail.Option{
		gomail.WithPort(int(port)), gomail.WithTimeout(timeout), gomail.WithHELO(name), gomail.WithTLSConfig(config),
		gomail.WithTLSPolicy(policy), gomail.WithoutNoop(), gomail.WithoutRset(),
	}
	r.client = func(dial gomail.DialContextFunc) (*gomail.Client, error) {
		own := []gomail.Option{gomail.WithDialContextFunc(dial)}
		if u.User != nil {
			password, _ := u.User.Password()
			own = append(own, gomail.WithSMTPAuthCustom(&login{user: u.User.Username(), password: password, host: u.Hostname()}))
		}
		return gomail.NewClient(u.Hostname(), slices.Concat(options, own)...)
	}
	return r, nil
}

// session is a connection to a mail server that takes messages.
type session struct {
	client *gomail.Client
	smtp   *smtp.Client
	plain  net.Conn // below TLS
}

// open connects to the server and logs in. When ctx is done, the session breaks off.
func (r *smtpRelay) open(ctx context.Context) (*session, error) {
	s := &session{}
	var err error
	s.client, err = r.client(func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, ErrUnreachable
		}
		s.plain = &bounded{Conn: conn}
		if r.config == nil {
			return s.plain, nil
		}
		secure := tls.Client(s.plain, r.config)
		return secure, secure.HandshakeContext(ctx)
	})
	if err == nil {
		defer context.AfterFunc(ctx, func() { s.close() })()
		s.smtp, err = s.client.DialToSMTPClientWithContext(ctx)
	}
	if err != nil {
		s.close()
		return nil, refusal(err)
	}
	return s, nil
}

// maxReply is how much a server may send, in bytes, before the client sends something: a reply, or
// the handshake of TLS.
const maxReply = 64 << 10

// bounded is a connection to a server that may send maxReply bytes at a time.
type bounded struct {
	net.Conn
	got int // bytes since the last Write
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	if b.got += n; b.got > maxReply {
		return 0, &relayError{why: "connection reply too long"}
	}
	return n, err
}

func (b *bounded) Write(p []byte) (int, error) {
	b.got = 0
	return b.Conn.Write(p)
}

func (s *session) close() {
	if s.plain != nil {
		s.plain.Close()
	}
}

// quit says goodbye. What the server did is done, whatever it answers.
func (s *session) quit() {
	s.plain.SetDeadline(time.Now().Add(quitTimeout))
	s.smtp.Quit()
}

// send is the transport: one transaction.
func (r *smtpRelay) send(ctx context.Context, message *gomail.Msg) error {
	ctx, cancel := context.WithTimeout(ctx, transaction)
	defer cancel()
	s, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	defer context.AfterFunc(ctx, s.close)()
	if err := s.client.SendWithSMTPClient(s.smtp, message); err != nil {
		return notSent(err)
	}
	s.quit()
	return nil
}

// Check connects to the mail server at an address that Open takes, and logs in as for a message,
// but sends none. The login may take as long as timeout. The error says which step failed, and how:
// ErrUnreachable if no connection could be made. It repeats neither a password nor words of the
// server.
func Check(ctx context.Context, address string, timeout time.Duration) error {
	return check(ctx, address, nil, timeout)
}

func check(ctx context.Context, address string, roots *x509.CertPool, timeout time.Duration) error {
	u, err := parseSMTP(address)
	if err != nil {
		return err
	}
	r, err := openSMTP(u, roots, timeout)
	if err != nil {
		return err
	}
	s, err := r.open(ctx)
	if err != nil {
		return fmt.Errorf("mail server %s: %w", r.address, err)
	}
	defer s.close()
	s.quit()
	return nil
}

// login is an authentication in the best way that a server offers.
type login struct {
	user, password, host string
	smtp.Auth
}

// Start fails if the server offers no safe way: only a server that has proved who it is gets a
// password.
func (l *login) Start(server *smtp.ServerInfo) (string, []byte, error) {
	for _, way := range []struct {
		name string
		tls  bool // whether it needs TLS
		auth smtp.Auth
	}{
		{"SCRAM-SHA-256", false, smtp.ScramSHA256Auth(l.user, l.password)},
		{"SCRAM-SHA-1", false, smtp.ScramSHA1Auth(l.user, l.password)},
		{"CRAM-MD5", false, smtp.CRAMMD5Auth(l.user, l.password)},
		{"PLAIN", true, smtp.PlainAuth("", l.user, l.password, l.host, false)},
		{"LOGIN", true, smtp.LoginAuth(l.user, l.password, l.host, false)},
	} {
		if slices.Contains(server.Auth, way.name) && (server.TLS || !way.tls) {
			l.Auth = way.auth
			return l.Auth.Start(server)
		}
	}
	return "", nil, errNoLogin
}

var errNoLogin = errors.New("not offered")

// ErrUnreachable is the error of Check if no connection to the mail server could be made.
var ErrUnreachable error = &relayError{why: "unreachable"}

// enhanced matches the enhanced status code of a reply (RFC 3463).
var enhanced = regexp.MustCompile(`^[245]\.[0-9]{1,3}\.[0-9]{1,3}\b`)

// refusal says why there is no session.
func refusal(err error) *relayError {
	var known *relayError
	var reply *textproto.Error
	var untrusted *tls.CertificateVerificationError
	var timeout net.Error
	// The client begins an error of a login so.
	step := "connection"
	if strings.HasPrefix(err.Error(), "SMTP AUTH failed") {
		step = "authentication"
	}
	what := "broke off"
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &reply):
		what = "refused " + strings.TrimSpace(strconv.Itoa(reply.Code)+" "+enhanced.FindString(reply.Msg))
	case errors.Is(err, errNoLogin):
		what = "not offered"
	case errors.As(err, &untrusted):
		what = "certificate refused"
	case errors.As(err, &timeout) && timeout.Timeout():
		what = "timed out"
	case strings.HasPrefix(err.Error(), "STARTTLS"):
		step, what = "TLS", "not offered"
	}
	return &relayError{why: step + " " + what}
}

// notSent says why a message was not sent. Only after the end of its content may the server have
// accepted it all the same.
func notSent(err error) *relayError {
	failed := new(gomail.SendError)
	if !errors.As(err, &failed) {
		return &relayError{why: "broke off"}
	}
	why := strings.TrimSpace(strconv.Itoa(failed.ErrorCode()) + " " + failed.EnhancedStatusCode())
	if failed.ErrorCode() == 0 {
		return &relayError{why: "no answer", unknown: failed.Reason == gomail.ErrSMTPDataClose}
	}
	switch failed.Reason {
	case gomail.ErrGetSender, gomail.ErrGetRcpts:
		return errAddresses
	case gomail.ErrSMTPMailFrom:
		return &relayError{why: "sender refused " + why}
	case gomail.ErrSMTPRcptTo:
		return &relayError{why: "recipient refused " + why}
	}
	refused := &relayError{why: why}
	if failed.ErrorCode()/100 == 5 {
		refused.status = failed.ErrorCode() // about this very message
	}
	return refused
}
