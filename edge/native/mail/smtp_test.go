package mail

import (
	"encoding/base64"
	"encoding/pem"
	"errors"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"anteroom/edge/native/mail/smtptest"
	"anteroom/edge/store/outbox"
	"anteroom/edge/turn"
)

// hasty is the timeout for servers that hang.
const hasty = 200 * time.Millisecond

const known = ", want PLAIN or LOGIN under TLS"

func TestSMTP(t *testing.T) {
	const helo = "EHLO www.anteroom.example"
	for name, c := range map[string]struct {
		replies map[string]string
		want    string
	}{
		"accepts": {nil, ""},
		"refuses the sender": {
			map[string]string{"MAIL": "550 5.7.1 <bounces@anteroom.example>: may not; see https://h.example/?id=bounces%40anteroom.example"},
			"MAIL FROM: 550 5.7.1 <address>: may not; see <address>",
		},
		"refuses the address":       {map[string]string{"RCPT": "550 operator@anteroom.example unknown"}, "RCPT TO: 550 <address> unknown"},
		"defers DATA":               {map[string]string{"DATA": "451 4.3.2 later"}, "DATA: 451 4.3.2 later"},
		"refuses DATA":              {map[string]string{"DATA": "554 5.5.1 no"}, "DATA: 554 5.5.1 no of this message 554"},
		"refuses the content":       {map[string]string{".": "554 5.7.1 spam of operator@anteroom.example"}, "end of DATA: 554 5.7.1 spam of <address> of this message 554"},
		"refuses in odd letters":    {map[string]string{".": "552 \x1b[31mvoll\xff\tPostf\u00e4cher"}, "end of DATA: 552 ?[31mvoll? Postf?cher of this message 552"},
		"refuses at length":         {map[string]string{".": "552 " + strings.Repeat("a", 300)}, "end of DATA: 552 " + strings.Repeat("a", 183) + " of this message 552"},
		"defers the content":        {map[string]string{".": "450-4.7.1 wait\r\n450 4.7.1 a while"}, "end of DATA: 450 4.7.1 wait 4.7.1 a while"},
		"answers an end with words": {map[string]string{".": "well done"}, "unknown: end of DATA: broke off"},
		"closes after DATA":         {map[string]string{".": ""}, "unknown: end of DATA: broke off"},
		"hangs after DATA":          {map[string]string{".": "hang"}, "unknown: end of DATA: timed out"},
		"closes at once":            {map[string]string{"greeting": ""}, "greeting: broke off (port 465 wants smtps://)"},
		"hangs at the start":        {map[string]string{"greeting": "hang"}, "greeting: timed out (port 465 wants smtps://)"},
		"refuses EHLO and HELO":     {map[string]string{"EHLO": "550 need a name", "HELO": "502 no"}, helo + ": 550 need a name"},
		"offers login in the clear": {map[string]string{"user": "u:p@", "EHLO": "250-test\r\n250 AUTH PLAIN LOGIN"}, "AUTH: not offered: got PLAIN LOGIN" + known},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := smtptest.Start(t, smtptest.Properties{Replies: c.replies})
			timeout := longest
			if strings.HasPrefix(name, "hangs") {
				timeout = hasty
			}
			got := sent(t, relay(t, "smtp://"+c.replies["user"]+server.Address+"?tls=none", timeout))
			if got != c.want {
				t.Errorf("told %q, want %q", got, c.want)
			}
			server.Left() // a connection that fails is not left open
			commands, logins, contents := server.Got()
			if got == "" {
				readMail(t, strings.NewReader(contents[0]), message())
			}
			if len(logins) > 0 {
				t.Errorf("logged in by %q", logins)
			}
			// Whoever was refused leaves with a goodbye.
			if last := commands[max(0, len(commands)-1):]; strings.Contains(name, "refuses") && !slices.Equal(last, []string{"QUIT"}) {
				t.Errorf("the last command is %q", last)
			}
		})
	}
}

// relay opens the relay of a URL.
func relay(t *testing.T, address string, timeout time.Duration) *Relay {
	t.Helper()
	r, err := openSMTP(address, timeout)
	must(t, err)
	return &Relay{transport: r.send}
}

// TestSession holds everything that is said to a server that offers all there is: what a message of
// seven-bit lines between ASCII addresses needs, and no more.
func TestSession(t *testing.T) {
	const offers = "250-test greets you\r\n250-PIPELINING\r\n250-SIZE 10240000\r\n250-VRFY\r\n250-ETRN\r\n250-ENHANCEDSTATUSCODES\r\n250-8BITMIME\r\n" +
		"250-DSN\r\n250-SMTPUTF8\r\n250-CHUNKING\r\n250-BINARYMIME\r\n250-DELIVERBY\r\n250-REQUIRETLS\r\n250-LIMITS RCPTMAX=1\r\n250-AUTH NTLM SCRAM-SHA-256 PLAIN\r\n250 HELP"
	for query, helo := range map[string]string{"": "www.anteroom.example", "&helo=[192.0.2.7]": "[192.0.2.7]"} {
		server := smtptest.Start(t, smtptest.Properties{Replies: map[string]string{"EHLO": offers}})
		r, of := relay(t, "smtp://"+server.Address+"?tls=none"+query, longest), *mailSnapshot
		of.Service = `Terns, "Inc."`
		m := turn.Message{ID: "abc", List: turn.Contacts, After: "def", Subject: "[Tern] contacts", Text: "caf\u00e9\n.\n"}
		if result := r.Send(t.Context(), m, &of, time.Unix(1790000000, 0).UTC()); result.Failure != turn.None {
			t.Fatalf("%+v", result)
		}
		server.Left()
		commands, _, contents := server.Got()
		want := []string{"EHLO " + helo, "MAIL FROM:<bounces@anteroom.example>", "RCPT TO:<operator@anteroom.example>", "DATA", "QUIT"}
		if !slices.Equal(commands, want) {
			t.Errorf("said %q, want %q", commands, want)
		}
		if len(contents) != 1 || contents[0] != content {
			t.Errorf("sent\n%s\nwant\n%s", contents, content)
		}
	}
}

const content = `Auto-Submitted: auto-generated
Date: Mon, 21 Sep 2026 14:13:20 +0000
List-Id: <contacts.www.anteroom.example>
MIME-Version: 1.0
Message-ID: <abc@www.anteroom.example>
References: <def@www.anteroom.example>
Subject: [Tern] contacts
From: "Terns, \"Inc.\"" <relay@anteroom.example>
To: <operator@anteroom.example>
Content-Transfer-Encoding: quoted-printable
Content-Type: text/plain; charset=UTF-8

caf=C3=A9
.
`

// authority writes the certificate of a server into a file.
func authority(t *testing.T, server *httptest.Server) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	must(t, os.WriteFile(file, text, 0o600))
	return url.QueryEscape(file)
}

// TestTLS: only a server that has proved who it is gets a password and addresses, also where the
// URL says nothing of TLS.
func TestTLS(t *testing.T) {
	certified := httptest.NewTLSServer(nil) // for its certificate
	defer certified.Close()
	authorities := "ca=" + authority(t, certified)
	const untrusted = "certificate refused: x509: certificate signed by unknown authority"
	login := "AUTH PLAIN " + base64.StdEncoding.EncodeToString([]byte("\x00user\x00p@ss"))
	stripped := map[string]string{"EHLO": "250-test\r\n250 AUTH PLAIN"}
	for name, c := range map[string]struct {
		scheme, query string
		server        smtptest.Properties
		want          string
	}{
		"TLS":                         {"smtps", authorities, smtptest.Properties{TLS: certified.TLS, Implicit: true}, ""},
		"TLS, an unknown certificate": {"smtps", "", smtptest.Properties{TLS: certified.TLS, Implicit: true}, "TLS: " + untrusted},
		"STARTTLS":                    {"smtp", authorities, smtptest.Properties{TLS: certified.TLS}, ""},
		"STARTTLS stripped":           {"smtp", authorities, smtptest.Properties{Replies: stripped}, "STARTTLS: not offered"},
	} {
		t.Run(name, func(t *testing.T) {
			server := smtptest.Start(t, c.server)
			if got := sent(t, relay(t, c.scheme+"://user:p%40ss@"+server.Address+"?"+c.query, longest)); got != c.want {
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

// Check goes as far as a message would, and finds what would keep one from being sent. It sends
// none, and leaves nothing begun.
func TestCheck(t *testing.T) {
	all := []string{"EHLO www.anteroom.example", "MAIL FROM:<bounces@anteroom.example>", "RCPT TO:<operator@anteroom.example>", "RCPT TO:<bounces@anteroom.example>", "RSET"}
	for name, c := range map[string]struct {
		replies map[string]string
		said    int // how many of all commands, before QUIT
		want    string
	}{
		"all is well":           {nil, 5, ""},
		"closes instead of bye": {map[string]string{"QUIT": ""}, 5, ""},
		"refuses the sender":    {map[string]string{"MAIL": "553 5.7.1 not owned by user"}, 2, "MAIL FROM: 553 5.7.1 not owned by user"},
		"refuses bounces":       {map[string]string{"RCPT TO:<bounces@anteroom.example>": "550 5.1.1 User unknown"}, 4, "bounces: RCPT TO: 550 5.1.1 User unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			server := smtptest.Start(t, smtptest.Properties{Replies: c.replies})
			got, want := "", c.want
			err := Check(t.Context(), "smtp://"+server.Address+"?tls=none", mailSnapshot, 10*time.Second)
			if err != nil {
				got, want = err.Error(), "mail server "+server.Address+": "+want
			}
			if got != want || errors.Is(err, ErrBounces) != (name == "refuses bounces") {
				t.Errorf("%v, want %s", err, want)
			}
			server.Left()
			commands, _, contents := server.Got()
			if want := append(slices.Clone(all[:c.said]), "QUIT"); !slices.Equal(commands, want) || len(contents) > 0 {
				t.Errorf("said %q, want %q; %d contents", commands, want, len(contents))
			}
		})
	}
	certified := httptest.NewTLSServer(nil) // for its certificate
	defer certified.Close()
	server := smtptest.Start(t, smtptest.Properties{TLS: certified.TLS, Replies: map[string]string{"AUTH": "535 5.7.8 wrong p@ss of user"}})
	for address, want := range map[string]string{
		"user:p%40ss@" + server.Address + "?ca=" + authority(t, certified): "AUTH: 535 5.7.8 wrong <address> of user",
		"user:p%40ss@127.0.0.1:1": "mail server 127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused",
		"u:secret@h?tls=maybe":    `got tls="maybe"`,
	} {
		if err := Check(t.Context(), "smtp://"+address, mailSnapshot, time.Minute); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want %s", address, err, want)
		}
	}
}
