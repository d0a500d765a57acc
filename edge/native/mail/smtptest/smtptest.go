// Package smtptest is a mail server for tests.
package smtptest

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Server refuses commands in a wrong order.
type Server struct {
	Properties
	Address string // host and port

	// Scanning gets an element at the end of each content, before the server answers.
	Scanning chan struct{}

	t        *testing.T
	sessions sync.WaitGroup
	mu       sync.Mutex // guards what follows
	commands []string   // of all sessions, before TLS
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
	conn net.Conn
	text *textproto.Conn
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
		t: t,
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.sessions.Go(func() {
				defer conn.Close()
				defer context.AfterFunc(t.Context(), func() { conn.Close() })()
				(&session{Server: s, conn: conn}).talk()
			})
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		s.sessions.Wait()
	})
	return s
}

// Left checks that no client stays connected.
func (s *Server) Left() {
	s.t.Helper()
	patience := time.AfterFunc(10*time.Second, func() { panic("a connection is left open") })
	defer patience.Stop()
	s.sessions.Wait()
}

// Got returns the commands before TLS, the logins, and the contents so far.
func (s *Server) Got() (commands, logins, contents []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.commands), slices.Clone(s.logins), slices.Clone(s.contents)
}

func (s *session) answer(command, usual string) (reply string) {
	reply, special := s.Replies[command]
	if !special {
		reply = usual
	}
	if reply == "hang" {
		io.Copy(io.Discard, s.text.R) // until the client gives up
		return ""
	}
	io.WriteString(s.conn, reply+"\r\n")
	return reply
}

func (s *session) talk() {
	secure, expected := s.Implicit, "MAIL"
	if secure {
		s.conn = tls.Server(s.conn, s.TLS)
	}
	s.text = textproto.NewConn(s.conn)
	for reply := s.answer("greeting", "220 test"); reply != ""; {
		line, err := s.text.ReadLine()
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
		usual := "250 ok"
		switch {
		case command == "EHLO" && secure:
			usual = "250-test\r\n250 AUTH PLAIN"
		case command == "EHLO" && s.TLS != nil:
			usual = "250-test\r\n250 STARTTLS"
		case command == "STARTTLS" && s.TLS != nil:
			usual = "220 go"
		case command == "AUTH":
			usual = "235 2.7.0 welcome"
		case command == "QUIT":
			s.answer("QUIT", "221 bye")
			return
		case command == "EHLO", command == "RSET":
			expected = "MAIL"
		case command == "MAIL" && expected == "MAIL":
			expected = "RCPT"
		case command == "RCPT" && expected != "MAIL":
			expected = "DATA"
			if _, special := s.Replies[line]; special {
				command = line
			}
		case command == "DATA" && expected == "DATA":
			usual, expected = "354 go", "MAIL"
		default:
			usual = "503 5.5.1 bad sequence of commands"
		}
		reply = s.answer(command, usual)
		switch {
		case command == "STARTTLS" && reply == usual && s.TLS != nil:
			s.conn = tls.Server(s.conn, s.TLS)
			s.text, secure = textproto.NewConn(s.conn), true
		case command == "DATA" && strings.HasPrefix(reply, "3"):
			content, err := s.text.ReadDotBytes()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.contents = append(s.contents, string(content))
			s.mu.Unlock()
			s.Scanning <- struct{}{}
			if s.Hold != nil {
				select {
				case <-s.Hold:
				case <-s.t.Context().Done():
				}
			}
			reply = s.answer(".", "250 2.0.0 queued")
		}
	}
}
