// Package smtptest is a mail server for tests, as strict as the protocol allows.
package smtptest

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
)

// Server refuses lines of more than 1,000 octets or without CRLF, content that is not dot-stuffed
// or not ASCII (RFC 5321, sections 4.5.2 and 4.5.3.1), and commands in a wrong order.
type Server struct {
	Properties
	Address string // host and port

	// Scanning gets an element at the end of each content, before the server answers.
	Scanning chan struct{}

	t        *testing.T
	over     chan struct{} // closed at the end of the test
	all      sync.WaitGroup
	mu       sync.Mutex // guards what follows
	sessions []*session
	commands []string // of all sessions, before TLS
	logins   []string
	contents []string // without dot-stuffing
}

// Properties change a Server that accepts everything at once, without TLS.
type Properties struct {
	TLS      *tls.Config
	Implicit bool // TLS from the first byte; otherwise STARTTLS is offered if there is TLS
	// Replies replace the replies to commands, given by their word or whole, to "greeting", and to "."
	// at the end of a content. "" closes the connection, and "hang" never replies.
	Replies map[string]string
	// Hold delays the reply to each content until it returns an element or is closed, unless nil.
	Hold chan struct{}
}

type session struct {
	*Server
	conn  net.Conn
	lines *bufio.Reader
	ended chan struct{}
}

// Start starts a server that ends with the test.
func Start(t *testing.T, p Properties) *Server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{
		Properties: p, Address: listener.Addr().String(), Scanning: make(chan struct{}, 100),
		t: t, over: make(chan struct{}),
	}
	s.all.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			session := &session{Server: s, conn: conn, ended: make(chan struct{})}
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

func (s *Server) begun() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sessions)
}

// Left checks that no client stays connected.
func (s *Server) Left() {
	s.t.Helper()
	for _, session := range s.begun() {
		select {
		case <-session.ended:
		case <-time.After(10 * time.Second):
			s.t.Error("a connection is left open")
		}
	}
}

// Got returns the commands before TLS, the logins, and the contents so far.
func (s *Server) Got() (commands, logins, contents []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.commands), slices.Clone(s.logins), slices.Clone(s.contents)
}

func (s *session) answer(command, usual string) bool {
	reply, special := s.Replies[command]
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

func (s *session) line(limit int) (line, wrong string, err error) {
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

func (s *session) talk() {
	if s.Implicit {
		s.conn = tls.Server(s.conn, s.TLS)
	}
	s.lines = bufio.NewReader(s.conn)
	secure, expected := s.Implicit, "MAIL"
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
		case command == "EHLO" && s.TLS != nil && !secure:
			goOn = s.answer("EHLO", "250-test\r\n250-ENHANCEDSTATUSCODES\r\n250 STARTTLS")
		case command == "EHLO" && secure:
			goOn = s.answer("EHLO", "250-test\r\n250-ENHANCEDSTATUSCODES\r\n250 AUTH PLAIN")
		case command == "EHLO":
			goOn = s.answer("EHLO", "250-test\r\n250 ENHANCEDSTATUSCODES")
		case command == "STARTTLS" && s.TLS != nil:
			if goOn = s.answer("STARTTLS", "220 go"); s.Replies["STARTTLS"] == "" {
				s.conn = tls.Server(s.conn, s.TLS)
				s.lines, secure = bufio.NewReader(s.conn), true
			}
		case command == "AUTH":
			goOn = s.answer("AUTH", "235 2.7.0 welcome")
		case command == "RSET":
			expected = "MAIL"
			goOn = s.answer("RSET", "250 ok")
		case command == "QUIT":
			s.answer("QUIT", "221 bye")
			return
		case command == expected && command == "MAIL":
			expected = "RCPT"
			goOn = s.answer("MAIL", "250 ok")
		case command == "RCPT" && (expected == "RCPT" || expected == "DATA"):
			expected = "DATA"
			if _, special := s.Replies[line]; special {
				command = line
			}
			goOn = s.answer(command, "250 ok")
		case command == expected && command == "DATA":
			expected = "MAIL"
			reply, special := s.Replies["DATA"]
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

func (s *session) content() (goOn bool, err error) {
	var content strings.Builder
	verdict := "250 2.0.0 queued"
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
		if wrong != "" {
			verdict = wrong
		}
		content.WriteString(text + "\r\n")
	}
	s.mu.Lock()
	s.contents = append(s.contents, content.String())
	s.mu.Unlock()
	s.Scanning <- struct{}{}
	if s.Hold != nil {
		select {
		case <-s.Hold:
		case <-s.over:
		}
	}
	return s.answer(".", verdict), nil
}
