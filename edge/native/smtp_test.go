package native

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"anteroom/edge/outbox"
)

// smtpServer speaks SMTP, and refuses what the protocol lets a server refuse: lines of more than 1,000 octets or that do not end
// in CRLF, content that is not dot-stuffed or has octets beyond ASCII (RFC 5321, sections 4.5.2 and 4.5.3.1), commands in
// a wrong order, and header values over core.MaxHeaderValue, as mail services do.
type smtpServer struct {
	tls      *tls.Config
	implicit bool // TLS from the first byte; else a server that has tls offers STARTTLS
	// replies are what it answers in the place of the usual; "" closes the connection, "hang" answers nothing. The command
	// "greeting" is a connection, "." the end of the content.
	replies map[string]string
	hold    chan struct{} // the reply to the end of a content waits for an element or the end of it; nil: it does not
	address string

	t        *testing.T
	scanning chan struct{} // gets an element at the end of each content
	over     chan struct{} // closed at the end of the test
	all      sync.WaitGroup
	mu       sync.Mutex
	sessions []*smtpSession
	commands []string // of all sessions, before TLS
	logins   []string
	contents []string // as they were before dot-stuffing
}

// smtpSession is a connection.
type smtpSession struct {
	*smtpServer
	conn  net.Conn
	lines *bufio.Reader
	ended chan struct{}
}

// startSMTP starts a server of these properties.
func startSMTP(t *testing.T, like *smtpServer) *smtpServer {
	t.Helper()
	listener, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := like
	s.t, s.address, s.scanning, s.over = t, listener.Addr().String(), make(chan struct{}, 100), make(chan struct{})
	s.all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			session := &smtpSession{smtpServer: s, conn: conn, ended: make(chan struct{})}
			s.mu.Lock()
			s.sessions = append(s.sessions, session)
			s.mu.Unlock()
			s.all.Go(func() {
				defer close(session.ended)
				session.talk()
				conn.Close()
			})
		}
	})
	t.Cleanup(func() {
		close(s.over)
		listener.Close()
		for _, session := range s.begun() {
			session.conn.Close()
		}
		s.all.Wait()
	})
	return s
}

func (s *smtpServer) begun() []*smtpSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sessions)
}

// left checks that no client stays connected.
func (s *smtpServer) left() {
	s.t.Helper()
	for _, session := range s.begun() {
		select {
		case <-session.ended:
		case <-time.After(10 * time.Second):
			s.t.Error("a connection is left open")
		}
	}
}

// got gives the commands before TLS, the logins and the contents that came so far.
func (s *smtpServer) got() (commands, logins, contents []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.commands), slices.Clone(s.logins), slices.Clone(s.contents)
}

// answerWith changes what a command is answered with.
func (s *smtpServer) answerWith(command, reply string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies = map[string]string{command: reply}
}

// answer answers a command, and reports whether the conversation goes on.
func (s *smtpSession) answer(command, usual string) bool {
	s.mu.Lock()
	reply, special := s.replies[command]
	s.mu.Unlock()
	if !special {
		reply = usual
	}
	if reply == "hang" {
		io.Copy(io.Discard, s.lines) // until the client gives up
		return false
	}
	io.WriteString(s.conn, reply+"\r\n")
	return reply != ""
}

// line reads a line of at most limit octets; wrong is what is wrong with it, as a reply.
func (s *smtpSession) line(limit int) (line, wrong string, err error) {
	if line, err = s.lines.ReadString('\n'); err != nil {
		return "", "", err
	}
	text, ended := strings.CutSuffix(line, "\r\n")
	switch {
	case len(line) > limit:
		wrong = "500 5.5.2 line too long"
	case !ended || strings.Contains(text, "\r"):
		wrong = "500 5.5.2 bare CR or LF"
	case strings.ContainsFunc(text, func(r rune) bool { return r > 0x7e }):
		wrong = "500 5.6.0 not ASCII"
	}
	return text, wrong, nil
}

// talk is the conversation.
func (s *smtpSession) talk() {
	if s.implicit {
		s.conn = tls.Server(s.conn, s.tls)
	}
	s.lines = bufio.NewReader(s.conn)
	secure, expected := s.implicit, "MAIL"
	for goOn := s.answer("greeting", "220 test"); goOn; {
		line, wrong, err := s.line(512)
		if err != nil {
			return
		}
		command, _, _ := strings.Cut(line, " ")
		s.mu.Lock()
		if !secure {
			s.commands = append(s.commands, line)
		}
		if command == "AUTH" {
			s.logins = append(s.logins, line)
		}
		s.mu.Unlock()
		switch {
		case wrong != "":
			goOn = s.answer("", wrong)
		case command == "EHLO" && s.tls != nil && !secure:
			goOn = s.answer("EHLO", "250-test\r\n250 STARTTLS")
		case command == "EHLO" && secure:
			goOn = s.answer("EHLO", "250-test\r\n250 AUTH PLAIN")
		case command == "EHLO":
			goOn = s.answer("EHLO", "250 test")
		case command == "STARTTLS" && s.tls != nil:
			if goOn = s.answer("STARTTLS", "220 go"); s.replies["STARTTLS"] == "" {
				s.conn = tls.Server(s.conn, s.tls)
				s.lines, secure = bufio.NewReader(s.conn), true
			}
		case command == "AUTH":
			goOn = s.answer("AUTH", "235 2.7.0 welcome")
		case command == "QUIT":
			s.answer("QUIT", "221 bye")
			return
		case command == expected && command == "MAIL":
			expected = "RCPT"
			goOn = s.answer("MAIL", "250 ok")
		case command == expected && command == "RCPT":
			expected = "DATA"
			goOn = s.answer("RCPT", "250 ok")
		case command == expected && command == "DATA":
			expected = "MAIL"
			s.mu.Lock()
			reply, special := s.replies["DATA"]
			s.mu.Unlock()
			if goOn = s.answer("DATA", "354 go"); goOn && (!special || reply[:1] == "3") {
				if goOn, err = s.content(); err != nil {
					return
				}
			}
		default:
			goOn = s.answer(command, "503 5.5.1 bad sequence of commands")
		}
	}
}

// content takes a content and answers it.
func (s *smtpSession) content() (goOn bool, err error) {
	var content strings.Builder
	verdict, value, inHeader := "250 2.0.0 queued", 0, true
	for {
		line, wrong, err := s.line(1000)
		if err != nil {
			return false, err
		}
		if line == "." && wrong == "" {
			break
		}
		text, dotted := strings.CutPrefix(line, ".")
		if wrong == "" && dotted && !strings.HasPrefix(text, ".") {
			wrong = "500 5.6.0 no dot-stuffing"
		}
		if inHeader = inHeader && text != ""; inHeader {
			if _, first, _ := strings.Cut(text, ": "); strings.HasPrefix(text, " ") {
				value += len(text)
			} else {
				value = len(first)
			}
			if value > outbox.MaxHeaderValue && wrong == "" {
				wrong = "554 5.6.0 header value too long"
			}
		}
		if wrong != "" {
			verdict = wrong
		}
		content.WriteString(text + "\r\n")
	}
	s.mu.Lock()
	s.contents = append(s.contents, content.String())
	s.mu.Unlock()
	s.scanning <- struct{}{}
	if s.hold != nil {
		select {
		case <-s.hold:
		case <-s.over:
		}
	}
	return s.answer(".", verdict), nil
}
