package local

import (
	"bufio"
	"cmp"
	"crypto/tls"
	"encoding/base64"
	"errors"
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
	"strings"
	"sync"
	"testing"
	"time"

	"anteroom/edge/core"
	"anteroom/edge/snapshot"
)

var mailSnapshot = &snapshot.Snapshot{
	CanonicalHost: "www.anteroom.example", ApexHost: "anteroom.example",
	RelayFrom: "relay@anteroom.example", RelayTo: "operator@anteroom.example",
}

func message() core.Message {
	m := core.Message{
		ID: strings.Repeat("ab", 16), Subject: "[registration] 100 records",
		Text: "Zoë wrote:\n> .\n> " + strings.Repeat("long ", 300) + "\n>  From here\n.\nend = 1\n",
	}
	for range 100 {
		m.Records = append(m.Records, newID())
	}
	return m
}

// readMail checks a message as a mail program reads it.
func readMail(t *testing.T, raw io.Reader, want core.Message) {
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
				err = send(m)
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
	m, _ := compose(want, mailSnapshot, time.Now())
	if err := send(m); err == nil || errors.Is(err, errUnknown) {
		t.Errorf("without the folder new: %v", err)
	}
	if left, _ := os.ReadDir(filepath.Join(dir, "tmp")); len(left) != 0 {
		t.Errorf("%d files are left in tmp after a failure", len(left))
	}
}

func TestComposeRefusesControlCharacters(t *testing.T) {
	for _, m := range []core.Message{
		{ID: "a", Subject: "x\r\nBcc: all@example.org"}, {ID: "a\nb", Subject: "x"}, {ID: "a", Subject: "x", Records: []string{"r\r\n\r\nbody"}}, {ID: "a", Subject: "\x00"},
	} {
		if _, err := compose(m, mailSnapshot, time.Now()); err == nil {
			t.Errorf("%q was accepted", m)
		}
	}
	bad := *mailSnapshot
	bad.RelayTo = "nobody"
	if _, err := compose(core.Message{ID: "a"}, &bad, time.Now()); err == nil {
		t.Error("a bad address was accepted")
	}
}

// smtpServer speaks as much SMTP as a test needs. replies gives the answer to a command in place of the
// usual one: "" closes the connection, "hang" answers nothing. Command "." is the end of the content.
func smtpServer(t *testing.T, config *tls.Config, replies map[string]string) (address string, received *strings.Builder) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	received = new(strings.Builder)
	usual := map[string]string{"greeting": "220 test", "EHLO": "250 test", "MAIL": "250 ok", "RCPT": "250 ok", "DATA": "354 go", ".": "250 queued", "RSET": "250 ok", "QUIT": "221 bye"}
	done := make(chan struct{})
	t.Cleanup(func() { listener.Close(); <-done })
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		lines := bufio.NewReader(conn)
		// answer reports whether the conversation goes on.
		answer := func(command string) bool {
			reply, special := replies[command]
			if !special {
				reply = usual[command]
			}
			if reply == "hang" {
				io.Copy(io.Discard, lines) // until the client gives up
				return false
			}
			io.WriteString(conn, reply+"\r\n")
			return reply != ""
		}
		for goOn := answer("greeting"); goOn; {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			command, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			if command == "AUTH" {
				received.WriteString(line)
			}
			goOn = answer(command)
			if command == "DATA" && strings.HasPrefix(cmp.Or(replies["DATA"], "354"), "354") {
				for {
					line, err := lines.ReadString('\n')
					if err != nil {
						return
					}
					if line == ".\r\n" {
						break
					}
					received.WriteString(strings.TrimPrefix(line, "."))
				}
				goOn = answer(".")
			}
		}
	}()
	return listener.Addr().String(), received
}

func TestSMTP(t *testing.T) {
	const accepted, refused, unknown = "accepted", "refused", "unknown"
	for name, c := range map[string]struct {
		replies map[string]string
		want    string
	}{
		"accepts":              {nil, accepted},
		"RSET and QUIT fail":   {map[string]string{"RSET": "", "QUIT": ""}, accepted},
		"refuses the sender":   {map[string]string{"MAIL": "550 no"}, refused},
		"refuses the address":  {map[string]string{"RCPT": "550 no such user"}, refused},
		"refuses DATA":         {map[string]string{"DATA": "451 later"}, refused},
		"refuses the content":  {map[string]string{".": "554 spam"}, refused},
		"closes after DATA":    {map[string]string{".": ""}, unknown},
		"hangs after DATA":     {map[string]string{".": "hang"}, unknown},
		"closes at once":       {map[string]string{"greeting": ""}, refused},
		"refuses to talk":      {map[string]string{"greeting": "554 no"}, refused},
		"hangs at the start":   {map[string]string{"greeting": "hang"}, refused},
		"closes before DATA":   {map[string]string{"DATA": ""}, refused},
		"does not offer TLS":   {map[string]string{"tls": "mandatory"}, refused},
		"does not offer login": {map[string]string{"user": "u:p@"}, refused},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address, received := smtpServer(t, nil, c.replies)
			send, err := openRelay("smtp://" + c.replies["user"] + address + "?tls=" + cmp.Or(c.replies["tls"], "none"))
			if err != nil {
				t.Fatal(err)
			}
			want := message()
			m, err := compose(want, mailSnapshot, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			err = send(m)
			got := refused
			if err == nil {
				got = accepted
			} else if errors.Is(err, errUnknown) {
				got = unknown
			}
			if got != c.want {
				t.Errorf("%s (%v), want %s", got, err, c.want)
			}
			if took := time.Since(start); took > relayTimeout+time.Second {
				t.Errorf("it took %v", took)
			}
			if name == "accepts" {
				readMail(t, strings.NewReader(received.String()), want)
			}
		})
	}
}

// TestSMTPS logs in over TLS, and gives nothing to a server whose certificate is not known.
func TestSMTPS(t *testing.T) {
	server := httptest.NewTLSServer(nil) // for its certificate
	defer server.Close()
	known := server.Client().Transport.(*http.Transport).TLSClientConfig
	login := "AUTH PLAIN " + base64.StdEncoding.EncodeToString([]byte("\x00user\x00p@ss"))
	for name, c := range map[string]struct {
		config *tls.Config
		ok     bool
	}{"a known certificate": {known, true}, "an unknown certificate": {nil, false}} {
		t.Run(name, func(t *testing.T) {
			address, received := smtpServer(t, server.TLS, map[string]string{"EHLO": "250-test\r\n250 AUTH PLAIN", "AUTH": "235 ok"})
			u, _ := url.Parse("smtps://user:p%40ss@" + address)
			send, err := openSMTP(u, c.config)
			if err != nil {
				t.Fatal(err)
			}
			want := message()
			m, _ := compose(want, mailSnapshot, time.Now())
			if err := send(m); (err == nil) != c.ok || errors.Is(err, errUnknown) {
				t.Fatalf("%v", err)
			}
			if c.ok {
				text, found := strings.CutPrefix(received.String(), login+"\r\n")
				if !found {
					t.Errorf("no login: %q", received.String()[:80])
				}
				readMail(t, strings.NewReader(text), want)
			}
		})
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
}
