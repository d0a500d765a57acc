package native

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"anteroom/edge/kernel"
	"anteroom/edge/snapshot"

	"github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
)

// smtpTimes are the longest waits of an SMTP transaction.
type smtpTimes struct {
	command time.Duration // to connect, and for the reply to each command but DATA
	data    time.Duration // for the reply to DATA
	content time.Duration // to hand the content over
	end     time.Duration // for the reply to its end: the server may scan it first
	total   time.Duration // for all of it
}

// protocolTimes are what the protocol asks of a client (RFC 5321, section 4.5.3.2). The content is a block or two.
var protocolTimes = smtpTimes{5 * time.Minute, 2 * time.Minute, 3 * time.Minute, 10 * time.Minute, 15 * time.Minute}

// quitTimeout is how long a server that has accepted a message is waited for to say goodbye.
const quitTimeout = 2 * time.Second

// transport hands a message to the next hop. nil means that it was accepted, an error (a relayError) that it was not, or
// that this is not known. It is cut off when ctx is done.
type transport func(ctx context.Context, message *mail.Msg) error

// relayError is why a message was not accepted. It holds nobody's words and no address: an operator's address in the
// reply of a server is for the operator's eyes alone, and the log has more readers.
type relayError struct {
	why     string // at most 64 characters of ASCII
	status  int    // the reply code that refused this message for good; 0 where it was anything else
	unknown bool   // it may have been accepted
}

func (e *relayError) Error() string { return e.why }

// openRelay makes the transport that address names:
//
//	none                                    there is none
//	maildir:PATH                            a folder of messages, read by most mail programs
//	smtp://[USER:PASSWORD@]HOST[:587][?tls=]    submission; tls is mandatory (default), opportunistic or none
//	smtps://[USER:PASSWORD@]HOST[:465]          the same, with TLS from the first byte
func openRelay(address string) (transport, error) {
	if address == "none" {
		return nil, nil
	}
	if path, ok := strings.CutPrefix(address, "maildir:"); ok && path != "" {
		return openMaildir(path)
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Scheme != "smtp" && u.Scheme != "smtps" {
		// The address may hold a password: it is not repeated.
		return nil, errors.New("relay is none of none, maildir:PATH, smtp://USER:PASSWORD@HOST:PORT and smtps://USER:PASSWORD@HOST:PORT (percent-encode what the password has of : / @ ? # %)")
	}
	return openSMTP(u, nil, protocolTimes)
}

// smtpRelay is a mail server that takes messages for others.
type smtpRelay struct {
	host, address string
	user          *url.Userinfo // nil: without authentication
	tls           string        // mandatory, opportunistic, none, or implicit: from the first byte
	config        *tls.Config
	times         smtpTimes
}

// openSMTP trusts the given roots, nil for those of the system.
func openSMTP(u *url.URL, roots *x509.CertPool, times smtpTimes) (transport, error) {
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
	return r.send, nil
}

// send is the transaction. Each of its steps before the end of the content may fail, and then nothing was accepted.
func (r *smtpRelay) send(ctx context.Context, message *mail.Msg) error {
	from, err := message.GetSender(false)
	to, wrong := message.GetRecipients()
	if err != nil || wrong != nil || len(to) != 1 {
		return errAddresses
	}
	name, err := os.Hostname()
	if err != nil {
		name = "localhost"
	}
	ctx, cancel := context.WithTimeout(ctx, r.times.total)
	defer cancel()
	conn, err := (&net.Dialer{Timeout: r.times.command}).DialContext(ctx, "tcp", r.address)
	if err != nil {
		return &relayError{why: "unreachable"}
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()

	plain := conn // deadlines hold below TLS too
	var client *smtp.Client
	var content io.WriteCloser
	for _, step := range []struct {
		name  string
		limit time.Duration
		do    func() error
	}{
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
		plain.SetDeadline(time.Now().Add(step.limit))
		if err := step.do(); err != nil {
			return refusal(step.name, err)
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

// login is the best way to authenticate that a server offers; nil where there is none. A password is given to a server that
// has proved who it is.
func (r *smtpRelay) login(client *smtp.Client) smtp.Auth {
	_, list := client.Extension("AUTH")
	offered := strings.Fields(list)
	user := r.user.Username()
	password, _ := r.user.Password()
	state, err := client.GetTLSConnectionState()
	secure := err == nil
	for _, way := range []struct {
		name string
		tls  bool // it needs it
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

var (
	errNotOffered = errors.New("not offered")
	errAddresses  = &relayError{why: "unusable relay address in the content"}
)

// enhanced is an enhanced status code (RFC 3463), where a reply has one.
var enhanced = regexp.MustCompile(`^[245]\.[0-9]{1,3}\.[0-9]{1,3}\b`)

// refusal is what is told of an error in a step; the step "" is about the message itself.
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

// openMaildir makes a Maildir (cr.yp.to/proto/maildir.html) where there is none.
func openMaildir(path string) (transport, error) {
	for _, name := range []string{"tmp", "new", "cur"} {
		if err := makeFolder(filepath.Join(path, name)); err != nil {
			return nil, fmt.Errorf("relay maildir:%s: %w (name a folder that this user may write to)", path, err)
		}
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	host = strings.NewReplacer("/", `\057`, ":", `\072`).Replace(host)
	return func(_ context.Context, message *mail.Msg) error {
		var text bytes.Buffer
		_, err := message.WriteTo(&text)
		name := fmt.Sprintf("%d.R%sP%d.%s", time.Now().Unix(), rand.Text(), os.Getpid(), host)
		tmp := filepath.Join(path, "tmp", name)
		if err == nil {
			// Mail programs expect the line ends of the system in files.
			err = writeNew(tmp, bytes.ReplaceAll(text.Bytes(), []byte("\r\n"), []byte("\n")))
		}
		if err == nil {
			if err = os.Rename(tmp, filepath.Join(path, "new", name)); err != nil {
				os.Remove(tmp)
			}
		}
		if err != nil {
			return &relayError{why: inFolder(err)}
		}
		if err := syncDir(filepath.Join(path, "new")); err != nil {
			return &relayError{why: inFolder(err), unknown: true}
		}
		return nil
	}, nil
}

// inFolder is what is told of an error in the mail folder: what the system said.
func inFolder(err error) string {
	var said syscall.Errno
	if errors.As(err, &said) {
		return "mail folder: " + said.Error()
	}
	return "mail folder not written"
}

// compose makes the mail for a message of the core (RFC 5322; Auto-Submitted: RFC 3834, section 5).
func compose(m kernel.Message, s *snapshot.Snapshot, now time.Time) (*mail.Msg, error) {
	records := strings.Join(m.Records, ", ")
	for _, value := range []string{m.ID, m.Subject, records} {
		if strings.ContainsFunc(value, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
			return nil, &relayError{why: "control character in a header value"}
		}
	}
	msg := mail.NewMsg(mail.WithEncoding(mail.EncodingQP), mail.WithNoDefaultUserAgent())
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
	msg.SetBodyString(mail.TypeTextPlain, m.Text)
	return msg, nil
}
