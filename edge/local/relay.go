package local

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"anteroom/edge/core"
	"anteroom/edge/snapshot"

	"github.com/wneessen/go-mail"
)

// relayTimeout bounds the relaying of one message, smtpTimeout its steps. Tests shorten them.
var (
	relayTimeout = 10 * time.Second
	smtpTimeout  = 5 * time.Second
)

// errUnknown marks a failure after which the message may have been accepted.
var errUnknown = errors.New("not known whether it was accepted")

// transport hands a message to the next hop. A nil error means that it was accepted; without
// errUnknown in its chain an error means that it certainly was not.
type transport func(message *mail.Msg) error

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
	return openSMTP(u, nil)
}

func openSMTP(u *url.URL, config *tls.Config) (transport, error) {
	if config == nil {
		config = &tls.Config{ServerName: u.Hostname()}
	}
	var dialer interface {
		DialContext(ctx context.Context, network, address string) (net.Conn, error)
	} = &net.Dialer{}
	port := 587
	options := []mail.Option{mail.WithTimeout(smtpTimeout), mail.WithoutNoop(), mail.WithTLSConfig(config)}
	if u.Scheme == "smtps" {
		port = 465
		dialer = &tls.Dialer{Config: config}
		// The library sees by itself that the connection has TLS, but not under its policy for none.
		options = append(options, mail.WithTLSPolicy(mail.TLSOpportunistic))
	} else {
		policies := map[string]mail.TLSPolicy{
			"": mail.TLSMandatory, "mandatory": mail.TLSMandatory, "opportunistic": mail.TLSOpportunistic, "none": mail.NoTLS,
		}
		policy, ok := policies[u.Query().Get("tls")]
		if !ok {
			return nil, fmt.Errorf("relay %s: tls is %q, and may be mandatory, opportunistic or none", u.Redacted(), u.Query().Get("tls"))
		}
		options = append(options, mail.WithTLSPolicy(policy))
	}
	if u.Port() != "" {
		var err error
		if port, err = strconv.Atoi(u.Port()); err != nil {
			return nil, fmt.Errorf("relay %s: %w", u.Redacted(), err)
		}
	}
	options = append(options, mail.WithPort(port))
	if u.User != nil {
		password, _ := u.User.Password()
		options = append(options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(u.User.Username()), mail.WithPassword(password))
	}
	if _, err := mail.NewClient(u.Hostname(), options...); err != nil {
		return nil, fmt.Errorf("relay %s: %w", u.Redacted(), err)
	}
	return func(message *mail.Msg) error {
		ctx, cancel := context.WithTimeout(context.Background(), relayTimeout)
		defer cancel()
		// The library leaves the connection open after some errors: it is closed when ctx is done.
		dial := func(_ context.Context, network, address string) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, network, address)
			if err == nil {
				context.AfterFunc(ctx, func() { conn.Close() })
			}
			return conn, err
		}
		client, err := mail.NewClient(u.Hostname(), append(slices.Clip(options), mail.WithDialContextFunc(dial))...)
		if err != nil {
			return err
		}
		err = client.DialAndSendWithContext(ctx, message)
		var failed *mail.SendError
		switch {
		case err == nil || message.IsDelivered(): // accepted, whatever came after
			return nil
		case errors.As(err, &failed) && failed.ErrorCode() < 400 &&
			(failed.Reason == mail.ErrWriteContent || failed.Reason == mail.ErrSMTPDataClose):
			// The content was under way, and the server has not said what became of it.
			return fmt.Errorf("%w: %w", err, errUnknown)
		}
		return err
	}, nil
}

// openMaildir makes a Maildir (cr.yp.to/proto/maildir.html) where there is none.
func openMaildir(path string) (transport, error) {
	for _, name := range []string{"tmp", "new", "cur"} {
		if err := os.MkdirAll(filepath.Join(path, name), 0o700); err != nil {
			return nil, fmt.Errorf("relay maildir:%s: %w (name a folder that this user may write to)", path, err)
		}
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	host = strings.NewReplacer("/", `\057`, ":", `\072`).Replace(host)
	return func(message *mail.Msg) error {
		var text bytes.Buffer
		if _, err := message.WriteTo(&text); err != nil {
			return err
		}
		name := fmt.Sprintf("%d.R%sP%d.%s", time.Now().Unix(), rand.Text(), os.Getpid(), host)
		// Mail programs expect the line ends of the system in files.
		unix := bytes.ReplaceAll(text.Bytes(), []byte("\r\n"), []byte("\n"))
		tmp := filepath.Join(path, "tmp", name)
		if err := writeNew(tmp, unix); err != nil {
			return err
		}
		if err := os.Rename(tmp, filepath.Join(path, "new", name)); err != nil {
			os.Remove(tmp)
			return err
		}
		if err := syncDir(filepath.Join(path, "new")); err != nil {
			return fmt.Errorf("%w: %w", err, errUnknown)
		}
		return nil
	}, nil
}

// compose makes the mail for a message of the core (RFC 5322; Auto-Submitted: RFC 3834, section 5).
func compose(m core.Message, s *snapshot.Snapshot, now time.Time) (*mail.Msg, error) {
	records := strings.Join(m.Records, ", ")
	for _, value := range []string{m.ID, m.Subject, records} {
		if strings.ContainsFunc(value, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
			return nil, errors.New("a header value holds a control character")
		}
	}
	msg := mail.NewMsg(mail.WithEncoding(mail.EncodingQP), mail.WithNoDefaultUserAgent())
	if err := errors.Join(msg.From(s.RelayFrom), msg.To(s.RelayTo)); err != nil {
		return nil, fmt.Errorf("%w (see the relay addresses in the content)", err)
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
