package native

import (
	"bufio"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"anteroom/edge/kernel"
	"anteroom/edge/outbox"
	"anteroom/edge/snapshot"
)

var mailSnapshot = &snapshot.Snapshot{
	CanonicalHost: "www.anteroom.example", ApexHost: "anteroom.example",
	RelayFrom: "relay@anteroom.example", RelayTo: "operator@anteroom.example",
}

func message() kernel.Message {
	m := kernel.Message{
		ID: strings.Repeat("ab", 16), Subject: "[registration] many records",
		Text: "Zoë wrote:\n> .\n> " + strings.Repeat("long ", 300) + "\n>  From here\n.\nend = 1\n",
	}
	for i := range outbox.MaxRecords {
		m.Records = append(m.Records, fmt.Sprintf("%032x", i))
	}
	return m
}

// readMail checks a message as a mail program reads it.
func readMail(t *testing.T, raw io.Reader, want kernel.Message) {
	t.Helper()
	m, err := mail.ReadMessage(raw)
	if err != nil {
		t.Fatal(err)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil || subject != want.Subject {
		t.Errorf("subject %q (%v)", subject, err)
	}
	for name, value := range map[string]string{
		"From": "<relay@anteroom.example>", "To": "<operator@anteroom.example>", "Auto-Submitted": "auto-generated",
		"Message-Id": "<" + want.ID + "@www.anteroom.example>", "X-Anteroom-Record": strings.Join(want.Records, ", "),
		"Content-Transfer-Encoding": "quoted-printable", "Mime-Version": "1.0",
	} {
		if got := strings.Join(m.Header[name], "|"); got != value {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
	}
	if mediaType, parameters, err := mime.ParseMediaType(m.Header.Get("Content-Type")); err != nil || mediaType != "text/plain" || !strings.EqualFold(parameters["charset"], "utf-8") {
		t.Errorf("content type %q", m.Header.Get("Content-Type"))
	}
	if date, err := m.Header.Date(); err != nil || time.Since(date).Abs() > time.Hour {
		t.Errorf("date %v (%v)", date, err)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if got := strings.ReplaceAll(string(body), "\r\n", "\n"); err != nil || strings.TrimRight(got, "\n") != strings.TrimRight(want.Text, "\n") {
		t.Errorf("text %q, want %q (%v)", got, want.Text, err)
	}
}

func TestMaildir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "mail")
	send, err := openRelay("maildir:" + dir)
	if err != nil {
		t.Fatal(err)
	}
	want := message()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			m, err := compose(want, mailSnapshot, time.Now())
			if err == nil {
				err = send(t.Context(), m)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if left, _ := os.ReadDir(filepath.Join(dir, "tmp")); len(left) != 0 {
		t.Errorf("%d files are left in tmp", len(left))
	}
	entries, err := os.ReadDir(filepath.Join(dir, "new"))
	if err != nil || len(entries) != 20 {
		t.Fatalf("%d messages in new, want 20 (%v)", len(entries), err)
	}
	for _, entry := range entries[:2] {
		f, err := os.Open(filepath.Join(dir, "new", entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		readMail(t, f, want)
		f.Seek(0, 0)
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if len(lines.Text()) > 998 || strings.Contains(lines.Text(), "\r") {
				t.Errorf("line %q", lines.Text())
			}
		}
	}
	os.RemoveAll(filepath.Join(dir, "new"))
	if got := sent(t, send); got != "mail folder: no such file or directory" {
		t.Errorf("without the folder new: %q", got)
	}
	if left, _ := os.ReadDir(filepath.Join(dir, "tmp")); len(left) != 0 {
		t.Errorf("%d files are left in tmp after a failure", len(left))
	}
}

func TestComposeRefusesControlCharacters(t *testing.T) {
	for _, m := range []kernel.Message{
		{ID: "a", Subject: "x\r\nBcc: all@example.org"}, {ID: "a\nb", Subject: "x"}, {ID: "a", Subject: "x", Records: []string{"r\r\n\r\nbody"}}, {ID: "a", Subject: "\x00"},
	} {
		if _, err := compose(m, mailSnapshot, time.Now()); err == nil {
			t.Errorf("%q was accepted", m)
		}
	}
	bad := *mailSnapshot
	bad.RelayTo = "nobody"
	if _, err := compose(kernel.Message{ID: "a"}, &bad, time.Now()); err == nil {
		t.Error("a bad address was accepted")
	}
}

// hasty are waits for servers that hang.
var hasty = smtpTimes{command: 200 * time.Millisecond, data: 200 * time.Millisecond, content: 200 * time.Millisecond, end: 200 * time.Millisecond, total: time.Minute}

// sent relays a message and gives what is told of it: "" where it was accepted.
func sent(t *testing.T, send transport) string {
	t.Helper()
	m, err := compose(message(), mailSnapshot, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	failed := new(relayError)
	switch err := send(t.Context(), m); {
	case err == nil:
		return ""
	case !errors.As(err, &failed):
		t.Fatalf("%T %v", err, err)
	case failed.unknown:
		return "unknown: " + failed.why
	case failed.status != 0:
		return failed.why + " of this message " + strconv.Itoa(failed.status)
	}
	return failed.why
}

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
			server := startSMTP(t, &smtpServer{replies: c.replies})
			u, err := url.Parse("smtp://" + c.replies["user"] + server.address + "?tls=none")
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
			got := sent(t, send)
			if got != c.want || len(got) > 64 {
				t.Errorf("told %q, want %q", got, c.want)
			}
			server.left() // a connection that fails is not left open
			if _, _, contents := server.got(); got == "" {
				readMail(t, strings.NewReader(contents[0]), message())
			}
			if _, logins, _ := server.got(); len(logins) > 0 {
				t.Errorf("logged in by %q", logins)
			}
		})
	}
}

// TestSMTPLimits: the server of these tests refuses what a server may refuse.
func TestSMTPLimits(t *testing.T) {
	for content, want := range map[string]string{
		"Subject: x\r\n\r\n" + strings.Repeat("x", 998) + "\r\n": "250",
		"Subject: x\r\n\r\n" + strings.Repeat("x", 999) + "\r\n": "500",
		"Subject: x\r\n\r\nbare\nend\r\n":                        "500",
		"Subject: x\r\n\r\n..stuffed\r\n":                        "250",
		"Subject: x\r\n\r\n.not\r\n":                             "500",
		"Subject: x\r\n\r\nZo\xc3\xab\r\n":                       "500",
		"A: " + strings.Repeat("x", 900) + "\r\n " + strings.Repeat("x", 900) + "\r\n " + strings.Repeat("x", 246) + "\r\n\r\n": "250",
		"A: " + strings.Repeat("x", 900) + "\r\n " + strings.Repeat("x", 900) + "\r\n " + strings.Repeat("x", 247) + "\r\n\r\n": "554",
	} {
		server := startSMTP(t, &smtpServer{})
		conn, err := net.Dial("tcp", server.address)
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, "EHLO a\r\nMAIL FROM:<a@example.org>\r\nRCPT TO:<b@example.org>\r\nDATA\r\n"+content+".\r\nQUIT\r\n")
		replies, err := io.ReadAll(conn)
		conn.Close()
		if err != nil || !strings.Contains(string(replies), "\r\n354 go\r\n"+want) {
			t.Errorf("%.30q: %q (%v)", content, replies, err)
		}
	}
}

// TestTLS: a password and addresses go to a server that has proved who it is, also where the URL says nothing of TLS.
func TestTLS(t *testing.T) {
	certified := httptest.NewTLSServer(nil) // for its certificate
	defer certified.Close()
	known := certified.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	login := "AUTH PLAIN " + base64.StdEncoding.EncodeToString([]byte("\x00user\x00p@ss"))
	stripped := map[string]string{"EHLO": "250-test\r\n250 AUTH PLAIN"}
	for name, c := range map[string]struct {
		scheme, query string
		server        *smtpServer
		roots         *x509.CertPool
		want          string
	}{
		"TLS":                             {"smtps", "", &smtpServer{tls: certified.TLS, implicit: true}, known, ""},
		"TLS, an unknown certificate":     {"smtps", "", &smtpServer{tls: certified.TLS, implicit: true}, nil, "TLS certificate refused"},
		"TLS, a wrong password":           {"smtps", "", &smtpServer{tls: certified.TLS, implicit: true, replies: map[string]string{"AUTH": "535 5.7.8 user unknown"}}, known, "authentication refused 535 5.7.8"},
		"no TLS where it begins":          {"smtps", "", &smtpServer{}, known, "TLS broke off"},
		"STARTTLS":                        {"smtp", "", &smtpServer{tls: certified.TLS}, known, ""},
		"STARTTLS, if there is":           {"smtp", "?tls=opportunistic", &smtpServer{tls: certified.TLS}, known, ""},
		"STARTTLS, unknown certificate":   {"smtp", "", &smtpServer{tls: certified.TLS}, nil, "TLS certificate refused"},
		"STARTTLS refused":                {"smtp", "", &smtpServer{tls: certified.TLS, replies: map[string]string{"STARTTLS": "454 4.7.0 not now"}}, known, "TLS refused 454 4.7.0"},
		"STARTTLS stripped":               {"smtp", "", &smtpServer{replies: stripped}, known, "TLS not offered"},
		"STARTTLS stripped, asked for":    {"smtp", "?tls=mandatory", &smtpServer{replies: stripped}, known, "TLS not offered"},
		"STARTTLS stripped, if there was": {"smtp", "?tls=opportunistic", &smtpServer{replies: stripped}, known, "authentication not offered"},
	} {
		t.Run(name, func(t *testing.T) {
			server := startSMTP(t, c.server)
			u, err := url.Parse(c.scheme + "://user:p%40ss@" + server.address + c.query)
			if err != nil {
				t.Fatal(err)
			}
			send, err := openSMTP(u, c.roots, protocolTimes)
			if err != nil {
				t.Fatal(err)
			}
			if got := sent(t, send); got != c.want {
				t.Errorf("told %q, want %q", got, c.want)
			}
			server.left()
			commands, logins, contents := server.got()
			switch {
			case c.want == "":
				if len(logins) != 1 || logins[0] != login || len(contents) != 1 {
					t.Fatalf("logins %q, %d contents", logins, len(contents))
				}
				readMail(t, strings.NewReader(contents[0]), message())
			case len(contents) > 0 || len(logins) > 0 && c.server.tls == nil || strings.Contains(strings.Join(commands, " "), "@anteroom.example"):
				t.Errorf("it was given %q, %q", logins, commands)
			}
		})
	}
}

// TestSMTPTimes: a request is answered long before a mail server has to, and a transaction ends before another run may send its
// message again.
func TestSMTPTimes(t *testing.T) {
	steps := protocolTimes
	if lease := outbox.LeaseSeconds * time.Second; steps.total+quitTimeout >= lease {
		t.Errorf("a transaction of %v outlasts its lease of %v", steps.total, lease)
	}
	if relayPause >= steps.data || relayPause >= writeTimeout || relayPause >= shutdownTimeout || steps.total <= steps.end {
		t.Errorf("%+v, and a request waits for %v", steps, relayPause)
	}
}

func TestOpenRelay(t *testing.T) {
	if send, err := openRelay("none"); send != nil || err != nil {
		t.Errorf("none: %v", err)
	}
	for _, address := range []string{"smtp://mail.example.org", "smtps://u:p%40ss@mail.example.org:465", "smtp://u@h:25?tls=opportunistic"} {
		if send, err := openRelay(address); send == nil || err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, address := range []string{"mail.example.org", "smtp://", "http://x", "maildir:", "smtp://u:secret@h:99999999", "smtp://u:secret@h:x", "smtp://u:secret@h?tls=maybe", ""} {
		if _, err := openRelay(address); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", address, err)
		}
	}
	if u, _ := url.Parse("smtp://u:secret@h"); strings.Contains(u.Redacted(), "secret") {
		t.Error("the password is shown")
	}
	if send, err := openRelay("smtp://127.0.0.1:1?tls=none"); err != nil || sent(t, send) != "unreachable" {
		t.Errorf("nobody listens: %v", err)
	}
}
