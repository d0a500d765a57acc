package mail

import (
	"crypto/x509"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"anteroom/edge/native/mail/smtptest"
	"anteroom/edge/store/outbox"
)

// hasty is the timeout for servers that hang.
const hasty = 200 * time.Millisecond

func TestSMTP(t *testing.T) {
	for name, c := range map[string]struct {
		replies map[string]string
		want    string
	}{
		"accepts":                   {nil, ""},
		"closes instead of a bye":   {map[string]string{"QUIT": ""}, ""},
		"refuses the sender":        {map[string]string{"MAIL": "550 5.7.1 relay@anteroom.example may not"}, "sender refused 550 5.7.1"},
		"refuses the address":       {map[string]string{"RCPT": "550 operator@anteroom.example unknown"}, "recipient refused 550"},
		"defers DATA":               {map[string]string{"DATA": "451 4.3.2 later"}, "451 4.3.2"},
		"refuses DATA":              {map[string]string{"DATA": "554 5.5.1 no"}, "554 5.5.1 of this message 554"},
		"takes DATA for done":       {map[string]string{"DATA": "250 ok"}, "no answer"},
		"refuses the content":       {map[string]string{".": "554 5.7.1 spam of operator@anteroom.example"}, "554 5.7.1 of this message 554"},
		"refuses without a reason":  {map[string]string{".": "552 5.3.40000 full"}, "552 of this message 552"},
		"defers the content":        {map[string]string{".": "450-4.7.1 wait\r\n450 4.7.1 a while"}, "450 4.7.1"},
		"answers an end with a go":  {map[string]string{".": "354 go"}, "unknown: no answer"},
		"answers an end with words": {map[string]string{".": "well done"}, "unknown: no answer"},
		"closes after DATA":         {map[string]string{".": ""}, "unknown: no answer"},
		"hangs after DATA":          {map[string]string{".": "hang"}, "unknown: no answer"},
		"closes at once":            {map[string]string{"greeting": ""}, "connection broke off"},
		"refuses to talk":           {map[string]string{"greeting": "554 no"}, "connection refused 554"},
		"hangs at the start":        {map[string]string{"greeting": "hang"}, "connection timed out"},
		"refuses EHLO and HELO":     {map[string]string{"EHLO": "502 no", "HELO": "502 no"}, "connection refused 502"},
		"hangs before DATA":         {map[string]string{"DATA": "hang"}, "no answer"},
		"closes before DATA":        {map[string]string{"DATA": ""}, "no answer"},
		"greets without end":        {map[string]string{"greeting": "220 " + strings.Repeat("a", 100_000)}, "connection reply too long"},
		"offers without end":        {map[string]string{"EHLO": strings.Repeat("250-extension\r\n", 10_000) + "250 ok"}, "connection reply too long"},
		"ends without end":          {map[string]string{".": "250 " + strings.Repeat("a", 100_000)}, "unknown: no answer"},
		"does not offer login":      {map[string]string{"user": "u:p@"}, "authentication not offered"},
		"offers login in the clear": {map[string]string{"user": "u:p@", "EHLO": "250-test\r\n250 AUTH PLAIN LOGIN"}, "authentication not offered"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := smtptest.Start(t, smtptest.Properties{Replies: c.replies})
			u, err := url.Parse("smtp://" + c.replies["user"] + server.Address + "?tls=none")
			if err != nil {
				t.Fatal(err)
			}
			timeout := longest
			if strings.HasPrefix(name, "hangs") {
				timeout = hasty
			}
			r, err := openSMTP(u, nil, timeout)
			if err != nil {
				t.Fatal(err)
			}
			got := sent(t, &Relay{r.send})
			if got != c.want || len(got) > 64 {
				t.Errorf("told %q, want %q", got, c.want)
			}
			server.Left() // a connection that fails is not left open
			if _, _, contents := server.Got(); got == "" {
				readMail(t, strings.NewReader(contents[0]), message())
			}
			if _, logins, _ := server.Got(); len(logins) > 0 {
				t.Errorf("logged in by %q", logins)
			}
		})
	}
}

// TestTLS: only a server that has proved who it is gets a password and addresses, also where the
// URL says nothing of TLS.
func TestTLS(t *testing.T) {
	certified := httptest.NewTLSServer(nil) // for its certificate
	defer certified.Close()
	known := certified.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	login := "AUTH PLAIN " + base64.StdEncoding.EncodeToString([]byte("\x00user\x00p@ss"))
	stripped := map[string]string{"EHLO": "250-test\r\n250 AUTH PLAIN"}
	for name, c := range map[string]struct {
		scheme, query string
		server        smtptest.Properties
		roots         *x509.CertPool
		want          string
	}{
		"TLS":                             {"smtps", "", smtptest.Properties{TLS: certified.TLS, Implicit: true}, known, ""},
		"TLS, an unknown certificate":     {"smtps", "", smtptest.Properties{TLS: certified.TLS, Implicit: true}, nil, "connection certificate refused"},
		"TLS, a wrong password":           {"smtps", "", smtptest.Properties{TLS: certified.TLS, Implicit: true, Replies: map[string]string{"AUTH": "535 5.7.8 user unknown"}}, known, "authentication refused 535 5.7.8"},
		"no TLS where it begins":          {"smtps", "", smtptest.Properties{}, known, "connection broke off"},
		"STARTTLS":                        {"smtp", "", smtptest.Properties{TLS: certified.TLS}, known, ""},
		"STARTTLS, if there is":           {"smtp", "?tls=opportunistic", smtptest.Properties{TLS: certified.TLS}, known, ""},
		"STARTTLS, unknown certificate":   {"smtp", "", smtptest.Properties{TLS: certified.TLS}, nil, "connection certificate refused"},
		"STARTTLS refused":                {"smtp", "", smtptest.Properties{TLS: certified.TLS, Replies: map[string]string{"STARTTLS": "454 4.7.0 not now"}}, known, "connection refused 454 4.7.0"},
		"STARTTLS stripped":               {"smtp", "", smtptest.Properties{Replies: stripped}, known, "TLS not offered"},
		"STARTTLS stripped, asked for":    {"smtp", "?tls=mandatory", smtptest.Properties{Replies: stripped}, known, "TLS not offered"},
		"STARTTLS stripped, if there was": {"smtp", "?tls=opportunistic", smtptest.Properties{Replies: stripped}, known, "authentication not offered"},
	} {
		t.Run(name, func(t *testing.T) {
			server := smtptest.Start(t, c.server)
			u, err := url.Parse(c.scheme + "://user:p%40ss@" + server.Address + c.query)
			if err != nil {
				t.Fatal(err)
			}
			r, err := openSMTP(u, c.roots, longest)
			if err != nil {
				t.Fatal(err)
			}
			if got := sent(t, &Relay{r.send}); got != c.want {
				t.Errorf("told %q, want %q", got, c.want)
			}
			server.Left()
			commands, logins, contents := server.Got()
			switch {
			case c.want == "":
				if len(logins) != 1 || logins[0] != login || len(contents) != 1 {
					t.Fatalf("logins %q, %d contents", logins, len(contents))
				}
				readMail(t, strings.NewReader(contents[0]), message())
			case len(contents) > 0 || len(logins) > 0 && c.server.TLS == nil || strings.Contains(strings.Join(commands, " "), "@anteroom.example"):
				t.Errorf("it was given %q, %q", logins, commands)
			}
		})
	}
}

// TestSMTPTimes: a transaction ends before another run of the outbox may send its message again.
func TestSMTPTimes(t *testing.T) {
	if lease := outbox.LeaseSeconds * time.Second; transaction+quitTimeout >= lease || transaction <= longest {
		t.Errorf("a transaction of %v with a wait of %v outlasts its lease of %v", transaction, longest, lease)
	}
}

// Check finds what would keep a message from being sent, and sends none.
func TestCheck(t *testing.T) {
	certified := httptest.NewTLSServer(nil) // for its certificate
	defer certified.Close()
	known := certified.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	for name, c := range map[string]struct {
		scheme, query string
		server        smtptest.Properties
		want          string
	}{
		"STARTTLS":              {"smtp", "", smtptest.Properties{TLS: certified.TLS}, ""},
		"a wrong password":      {"smtp", "", smtptest.Properties{TLS: certified.TLS, Replies: map[string]string{"AUTH": "535 5.7.8 wrong p@ss of user"}}, "authentication refused 535 5.7.8"},
		"no STARTTLS":           {"smtp", "", smtptest.Properties{}, "TLS not offered"},
		"hangs":                 {"smtp", "", smtptest.Properties{Replies: map[string]string{"greeting": "hang"}}, "connection timed out"},
		"closes instead of bye": {"smtps", "", smtptest.Properties{TLS: certified.TLS, Implicit: true, Replies: map[string]string{"QUIT": ""}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := smtptest.Start(t, c.server)
			timeout := 10 * time.Second
			if name == "hangs" {
				timeout = hasty
			}
			err := check(t.Context(), c.scheme+"://user:p%40ss@"+server.Address+c.query, known, timeout)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || err.Error() != "mail server "+server.Address+": "+c.want):
				t.Errorf("%v, want %s", err, c.want)
			}
			server.Left()
			commands, _, contents := server.Got()
			if all := strings.Join(commands, "\n"); len(contents) > 0 || strings.Contains(all, "MAIL") || strings.Contains(all, "RCPT") {
				t.Errorf("something was sent: %s", all)
			}
		})
	}
	if err := Check(t.Context(), "smtp://u:secret@127.0.0.1:1", time.Second); !errors.Is(err, ErrUnreachable) || strings.Contains(err.Error(), "secret") {
		t.Errorf("nobody listens: %v", err)
	}
	for _, address := range []string{"", "none", "maildir:x", "smtp://u:secret@h?tls=maybe", "smtp://u:secret@"} {
		if err := Check(t.Context(), address, time.Second); err == nil || errors.Is(err, ErrUnreachable) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", address, err)
		}
	}
}
