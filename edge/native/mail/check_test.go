package mail

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"anteroom/edge/native/mail/smtptest"
)

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
		"TLS":                   {"smtps", "", smtptest.Properties{TLS: certified.TLS, Implicit: true}, ""},
		"a wrong password":      {"smtp", "", smtptest.Properties{TLS: certified.TLS, Replies: map[string]string{"AUTH": "535 5.7.8 wrong p@ss of user"}}, "authentication refused 535 5.7.8"},
		"no STARTTLS":           {"smtp", "", smtptest.Properties{}, "TLS not offered"},
		"no login":              {"smtp", "?tls=none", smtptest.Properties{}, "authentication not offered"},
		"not the server's turn": {"smtp", "", smtptest.Properties{Replies: map[string]string{"greeting": "554 no"}}, "greeting refused 554"},
		"hangs":                 {"smtp", "", smtptest.Properties{Replies: map[string]string{"greeting": "hang"}}, "greeting timed out"},
		"closes instead of bye": {"smtps", "", smtptest.Properties{TLS: certified.TLS, Implicit: true, Replies: map[string]string{"QUIT": ""}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := smtptest.Start(t, c.server)
			patience := 10 * time.Second
			if name == "hangs" {
				patience = hasty.command
			}
			err := check(t.Context(), c.scheme+"://user:p%40ss@"+server.Address+c.query, known, patience)
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
