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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"anteroom/edge/assets"
	"anteroom/edge/snapshot"
	"anteroom/edge/turn"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

// A server may scan a message for longest (RFC 5321, section 4.5.3.2). A transaction is shorter
// than a lease in the outbox.
const (
	longest     = 10 * time.Minute // for a login, and then for a message
	transaction = 15 * time.Minute // for both
	quitTimeout = 2 * time.Second  // for the reply to QUIT

	// Short enough for a request to learn that its message was certainly not accepted.
	greetingTimeout = turn.RelayMillis * time.Millisecond * 4 / 5
)

type smtpRelay struct {
	address  string
	implicit bool // TLS from the first byte
	noTLS    bool
	config   *tls.Config
	helo     string        // "" for the canonical host
	user     *url.Userinfo // nil for no login
	timeout  time.Duration
}

func openSMTP(address string, timeout time.Duration) (*smtpRelay, error) {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "smtp" && u.Scheme != "smtps" {
		return nil, errors.New("relay: want none, maildir:PATH, smtp://USER:PASSWORD@HOST:PORT " +
			"or smtps://USER:PASSWORD@HOST:PORT (percent-encode : / @ ? # % in the password)")
	}
	port, err := strconv.ParseUint(cmp.Or(u.Port(), map[string]string{"smtp": "587", "smtps": "465"}[u.Scheme]), 10, 16)
	if err != nil {
		return nil, fmt.Errorf("relay %s: %w", u.Redacted(), err)
	}
	r := &smtpRelay{
		address:  net.JoinHostPort(u.Hostname(), strconv.FormatUint(port, 10)),
		implicit: u.Scheme == "smtps",
		config:   &tls.Config{ServerName: u.Hostname()}, user: u.User, timeout: timeout,
	}
	for name, values := range u.Query() {
		switch value := values[0]; {
		case name == "tls" && value == "none":
			r.noTLS = true
		case name == "helo" && heloName.MatchString(value):
			r.helo = value
		case name == "ca":
			r.config.RootCAs, err = authorities(value)
		default:
			err = fmt.Errorf("got %s=%q, want tls=none, helo=NAME, or ca=FILE", name, value)
		}
		if err != nil {
			return nil, fmt.Errorf("relay %s: %w", u.Redacted(), err)
		}
	}
	return r, nil
}

// heloName matches a domain and an address literal (RFC 5321, section 4.1.2).
var heloName = regexp.MustCompile(`^[0-9A-Za-z.:\[\]-]+$`)

func authorities(file string) (*x509.CertPool, error) {
	text, err := assets.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read ca: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read ca %s: found no certificate, want PEM", file)
	}
	return roots, nil
}

type session struct {
	*smtp.Client
	plain net.Conn // below TLS
}

func (r *smtpRelay) open(ctx context.Context, helo string) (*session, error) {
	begun := time.Now().Add(min(r.timeout, greetingTimeout))
	conn, err := (&net.Dialer{Deadline: begun}).DialContext(ctx, "tcp", r.address)
	if err != nil {
		why := printable(err.Error())
		return nil, &relayError{why: why[:min(len(why), turn.MaxReason)]}
	}
	s := &session{plain: conn}
	defer context.AfterFunc(ctx, s.close)()
	conn.SetDeadline(begun)
	step, err := s.begin(ctx, r, cmp.Or(r.helo, helo))
	if err != nil {
		failed := s.failed(step, err)
		if step == "greeting" && failed.code == 0 && !r.implicit {
			failed.why += " (port 465 wants smtps://)"
		}
		s.close()
		return nil, failed
	}
	return s, nil
}

func (s *session) begin(ctx context.Context, r *smtpRelay, helo string) (step string, err error) {
	host, conn := r.config.ServerName, s.plain
	if r.implicit {
		secure := tls.Client(conn, r.config)
		if err := secure.HandshakeContext(ctx); err != nil {
			return "TLS", err
		}
		conn = secure
	}
	if s.Client, err = smtp.NewClient(conn, host); err != nil {
		return "greeting", err
	}
	s.plain.SetDeadline(time.Now().Add(r.timeout))
	if err := s.Hello(helo); err != nil {
		return "EHLO " + helo, err
	}
	if !r.implicit && !r.noTLS {
		if offered, _ := s.Extension("STARTTLS"); !offered {
			return "STARTTLS", errNotOffered
		}
		if err := s.StartTLS(r.config); err != nil {
			return "STARTTLS", err
		}
	}
	if r.user != nil {
		return "AUTH", s.login(r.user, host)
	}
	return "", nil
}

// login sends no password without TLS. The library itself would prefer NTLM.
func (s *session) login(user *url.Userinfo, host string) error {
	password, _ := user.Password()
	_, secure := s.TLSConnectionState()
	_, ways := s.Extension("AUTH")
	switch offered := strings.Fields(ways); {
	case secure && slices.Contains(offered, "PLAIN"):
		return s.Auth(smtp.PlainAuth("", user.Username(), password, host, false))
	case secure && slices.Contains(offered, "LOGIN"):
		return s.Auth(smtp.LoginAuth(user.Username(), password, host, false))
	}
	return fmt.Errorf("%w: got %s, want PLAIN or LOGIN under TLS", errNotOffered, cmp.Or(ways, "none"))
}

// envelope needs no parameters, whatever the server offers, as a message has seven bits and its
// addresses are ASCII (RFC 6152, section 3; RFC 6531, section 3.4).
func (s *session) envelope(from, to string) error {
	if err := s.name("MAIL FROM", from); err != nil {
		return err
	}
	return s.name("RCPT TO", to)
}

func (s *session) name(command, address string) error {
	id, err := s.Text.Cmd("%s:<%s>", command, address)
	if err == nil {
		const done = 25 // 250 or 251
		s.Text.StartResponse(id)
		_, _, err = s.Text.ReadResponse(done)
		s.Text.EndResponse(id)
	}
	if err != nil {
		return s.failed(command, err)
	}
	return nil
}

func (s *session) close() { s.plain.Close() }

func (s *session) quit() {
	if s.Client == nil {
		return
	}
	s.plain.SetDeadline(time.Now().Add(quitTimeout))
	s.Quit()
}

func (r *smtpRelay) send(ctx context.Context, message *gomail.Msg, on *snapshot.Snapshot) error {
	ctx, cancel := context.WithTimeout(ctx, transaction)
	defer cancel()
	s, err := r.open(ctx, on.CanonicalHost)
	if err != nil {
		return err
	}
	defer s.close()
	defer context.AfterFunc(ctx, s.close)()
	s.plain.SetDeadline(time.Now().Add(r.timeout))
	if err := s.envelope(on.RelayBounces, on.RelayTo); err != nil {
		return err
	}
	content, err := s.Data()
	if err == nil {
		_, err = message.WriteTo(content)
	}
	if err != nil {
		return s.failed("DATA", err)
	}
	if err := content.Close(); err != nil {
		failed := s.failed("end of DATA", err)
		failed.unknown = failed.code/100 != 4 && failed.code/100 != 5
		return failed
	}
	s.quit()
	return nil
}

func (s *session) failed(step string, err error) *relayError {
	var reply *textproto.Error
	var untrusted *tls.CertificateVerificationError
	var timeout net.Error
	failed, what := &relayError{}, "broke off"
	switch {
	case errors.As(err, &reply):
		what, failed.code = printable(fmt.Sprint(reply.Code, " ", reply.Msg)), reply.Code
		s.quit()
	case errors.Is(err, errNotOffered):
		what = printable(err.Error())
		s.quit()
	case errors.As(err, &untrusted):
		what = "certificate refused: " + printable(untrusted.Err.Error())
	case errors.As(err, new(tls.RecordHeaderError)):
		what = "not spoken by the server"
	case errors.As(err, &timeout) && timeout.Timeout():
		what = "timed out"
	}
	if failed.code/100 == 5 && strings.Contains(step, "DATA") {
		failed.status = failed.code // about this very message
	}
	failed.why = step + ": " + what
	failed.why = failed.why[:min(len(failed.why), turn.MaxReason)]
	return failed
}

// anAddress matches an e-mail address, even in a URL.
var anAddress = regexp.MustCompile(`<?[^\s<>]*(@|%40)[^\s<>]*>?`)

// printable returns one line of ASCII without e-mail addresses, which are not logged.
func printable(text string) string {
	text = anAddress.ReplaceAllString(text, "<address>")
	text = strings.Map(func(r rune) rune {
		if r > '~' || r < ' ' && r != '\n' && r != '\t' {
			return '?'
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// ErrBounces means that the server refuses mail for the address of bounces.
var ErrBounces = errors.New("bounces")

// Check logs in to the mail server at an address that Open takes, names sender and recipients, and
// resets. Connecting may take timeout, and so may the rest. The error has the failed step and the
// words of the server, without e-mail addresses.
func Check(ctx context.Context, address string, on *snapshot.Snapshot, timeout time.Duration) error {
	r, err := openSMTP(address, timeout)
	if err != nil {
		return err
	}
	s, err := r.open(ctx, on.CanonicalHost)
	if err == nil {
		defer s.close()
		defer context.AfterFunc(ctx, s.close)()
		if err = s.envelope(on.RelayBounces, on.RelayTo); err == nil && on.RelayBounces != on.RelayTo {
			if refused := s.name("RCPT TO", on.RelayBounces); refused != nil {
				err = fmt.Errorf("%w: %w", ErrBounces, refused)
			}
		}
	}
	if err != nil {
		return fmt.Errorf("mail server %s: %w", r.address, err)
	}
	s.Reset()
	s.quit()
	return nil
}

var errNotOffered = errors.New("not offered")
