package smtptest

import (
	"io"
	"net"
	"strings"
	"testing"
)

// TestStrictServer: the server refuses what the protocol lets it refuse.
func TestStrictServer(t *testing.T) {
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
		server := Start(t, Properties{})
		conn, err := net.Dial("tcp", server.Address)
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
