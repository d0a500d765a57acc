package mail

import (
	"crypto/x509"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"anteroom/edge/native/mail/smtptest"
	"anteroom/edge/store/outbox"
)

// hasty are the waits for servers that hang.
var hasty = smtpTimes{command: 200 * time.Millisecond, data: 200 * time.Millisecond, content: 200 * time.Millisecond, end: 200 * time.Millisecond, total: time.Minute}

func TestSMTP(t *testing.T) {
	for name, c := range map[string]struct {
		replies map[string]string
		want    string
	}{
		"accepts":                   {nil, ""},
		"closes instead of a bye":   {map[string]string{"QUIT": ""}, ""},
		"accepts by another code":   {map[string]string{".": "252 2.0.0 queued"}, ""},
		"refuses the sender":        {map[string]string{"MAIL": "550 5.7.1 relay@anteroom.example may not"}, "sender refused 550 5.7.1"},
		"refuses the address":       {map[string]string{"RCPT": "550 operator@anteroom.example unknown"}, "recipient refused 550"},
		"defers DATA":               {map[string]string{"DATA": "451 4.3.2 later"}, "451 4.3.2"},
		"refuses DATA":              {map[string]string{"DATA": "554 5.5.1 no"}, "554 5.5.1 of this message 554"},
		"takes DATA for done":       {map[string]string{"DATA": "250 ok"}, "250"},
		"refuses the content":       {map[string]string{".": "554 5.7.1 spam of operator@anteroom.example"}, "554 5.7.1 of this message 554"},
		"refuses without a reason":  {map[string]string{".": "552 5.3.40000 full"}, "552 of this message 552"},
		"defers the content":        {map[string]string{".": "450-4.7.1 wait\r\n450 4.7.1 a while"}, "450 4.7.1"},
		"answers an end with a go":  {map[string]string{".": "354 go"}, "unknown: 354"},
		"answers an end with words": {map[string]string{".": "well done"}, "unknown: broke off"},
		"closes after DATA":         {map[string]string{".": ""}, "unknown: broke off"},
		"hangs after DATA":          {map[string]string{".": "hang"}, "unknown: timed out"},
		"closes at once":            {map[string]string{"greeting": ""}, "greeting broke off"},
		"refuses to talk":           {map[string]string{"greeting": "554 no"}, "greeting refused 554"},
		"hangs at the start":        {map[string]string{"greeting": "hang"}, "greeting timed out"},
		"refuses EHLO and HELO":     {map[string]string{"EHLO": "502 no", "HELO": "502 no"}, "EHLO refused 502"},
		"hangs before DATA":         {map[string]string{"DATA": "hang"}, "timed out"},
		"closes before DATA":        {map[string]string{"DATA": ""}, "broke off"},
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
			times := protocolTimes
			if strings.HasPrefix(name, "hangs") {
				times = hasty
			}
			send, err := openSMTP(u, nil, times)
			if err != nil {
				t.Fatal(err)
			}
			got := sent(t, &Relay{send})
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
		"TLS, an unknown certificate":     {"smtps", "", smtptest.Properties{TLS: certified.TLS, Implicit: true}, nil, "TLS certificate refused"},
		"TLS, a wrong password":           {"smtps", "", smtptest.Properties{TLS: certified.TLS, Implicit: true, Replies: map[string]string{"AUTH": "535 5.7.8 user unknown"}}, known, "authentication refused 535 5.7.8"},
		"no TLS where it begins":          {"smtps", "", smtptest.Properties{}, known, "TLS broke off"},
		"STARTTLS":                        {"smtp", "", smtptest.Properties{TLS: certified.TLS}, known, ""},
		"STARTTLS, if there is":           {"smtp", "?tls=opportunistic", smtptest.Properties{TLS: certified.TLS}, known, ""},
		"STARTTLS, unknown certificate":   {"smtp", "", smtptest.Properties{TLS: certified.TLS}, nil, "TLS certificate refused"},
		"STARTTLS refused":                {"smtp", "", smtptest.Properties{TLS: certified.TLS, Replies: map[string]string{"STARTTLS": "454 4.7.0 not now"}}, known, "TLS refused 454 4.7.0"},
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
			send, err := openSMTP(u, c.roots, protocolTimes)
			if err != nil {
				t.Fatal(err)
			}
			if got := sent(t, &Relay{send}); got != c.want {
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
	steps := protocolTimes
	if lease := outbox.LeaseSeconds * time.Second; steps.total+quitTimeout >= lease {
		t.Errorf("a transaction of %v outlasts its lease of %v", steps.total, lease)
	}
	if steps.total <= steps.end {
		t.Errorf("a transaction of %v has no time for its end of %v", steps.total, steps.end)
	}
}
