package mail

import (
	"io"
	"mime"
	"mime/quotedprintable"
	netmail "net/mail"
	"strconv"
	"strings"
	"testing"
	"time"

	"anteroom/edge/snapshot"
	"anteroom/edge/turn"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var mailSnapshot = &snapshot.Snapshot{
	CanonicalHost: "www.anteroom.example", ApexHost: "anteroom.example",
	Service: "Terns \"&\" Möwen", RelayFrom: "relay@anteroom.example", RelayTo: "operator@anteroom.example", RelayBounces: "bounces@anteroom.example",
}

func message() turn.Message {
	return turn.Message{
		ID: strings.Repeat("ab", 16), List: turn.Contacts, Subject: "[Terns] many records",
		Text: "Zoë wrote:\n> .\n> " + strings.Repeat("long ", 300) + "\n>  From here\n.\nend = 1\n",
	}
}

// readMail checks a message in the way that a mail program reads it.
func readMail(t *testing.T, raw io.Reader, want turn.Message) {
	t.Helper()
	m, err := netmail.ReadMessage(raw)
	must(t, err)
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil || subject != want.Subject {
		t.Errorf("subject %q (%v)", subject, err)
	}
	for name, value := range map[string]string{
		"From": "=?utf-8?b?VGVybnMgIiYiIE3Dtndlbg==?= <relay@anteroom.example>", "List-Id": "<" + string(want.List) + ".www.anteroom.example>", "To": "<operator@anteroom.example>", "Auto-Submitted": "auto-generated",
		"Message-Id":                "<" + want.ID + "@www.anteroom.example>",
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

// A subject is one header field, whatever it says.
func TestCompose(t *testing.T) {
	m, err := compose(turn.Message{ID: "a", Subject: "x\r\nBcc: all@example.org"}, mailSnapshot, time.Now())
	must(t, err)
	var text strings.Builder
	if _, err := m.WriteTo(&text); err != nil || strings.Contains(text.String(), "\nBcc:") {
		t.Errorf("%s, %v", &text, err)
	}
	bad := *mailSnapshot
	bad.RelayTo = "nobody"
	if _, err := compose(turn.Message{ID: "a"}, &bad, time.Now()); err == nil {
		t.Error("a bad address was accepted")
	}
}

// sent sends a message and gives what is reported of it: "" if it was accepted.
func sent(t *testing.T, r *Relay) string {
	t.Helper()
	switch result := r.Send(t.Context(), message(), mailSnapshot, time.Now()); {
	case result.Failure == turn.None:
		return ""
	case result.Failure == turn.Timeout:
		return "unknown: " + string(result.Data)
	case result.Failure != turn.Refused:
		t.Fatalf("failure %q", result.Failure)
		return ""
	case result.Status != 0:
		return string(result.Data) + " of this message " + strconv.Itoa(result.Status)
	default:
		return string(result.Data)
	}
}

func TestOpen(t *testing.T) {
	if relay, err := Open("none", ""); relay != nil || err != nil {
		t.Errorf("none: %v", err)
	}
	for _, address := range []string{"smtps://u:p%40ss@mail.example.org:465", "smtp://h?helo=[192.0.2.1]&tls=none"} {
		if relay, err := Open(address, ""); relay == nil || err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	const want = ", want tls=none, helo=NAME, or ca=FILE"
	for address, want := range map[string]string{
		"smtp://": "", "http://x": "", "maildir:": "", "smtp://u:secret@h:99999999": "",
		"smtp://u:secret@h?tls=maybe":        `got tls="maybe"` + want,
		"smtp://u:secret@h?helo=a%0d%0aQUIT": `got helo="a\r\nQUIT"` + want,
		"smtp://u:secret@h?hello=x":          `got hello="x"` + want,
		"smtp://u:secret@h?ca=none.pem":      "read ca: open none.pem",
		"smtp://u:secret@h?ca=mail.go":       "read ca mail.go: found no certificate, want PEM",
	} {
		if _, err := Open(address, ""); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want %q", address, err, want)
		}
	}
}
