package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Fault answers a call in the place of the server. perform performs the call, and gives the answer
// that it would have had.
type Fault func(w http.ResponseWriter, perform func() Answer)

// Fail has the next calls fail, each by one fault, in this order. The calls after them go well.
func (s *Server) Fail(faults ...Fault) { s.FailOn("", "", faults...) }

// FailOn is Fail for the calls of a method whose path, without the base, holds a text. The method
// "" is any. A call takes the first fault that is for it.
func (s *Server) FailOn(method, path string, faults ...Fault) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, fault := range faults {
		s.faults = append(s.faults, expected{method, path, fault})
	}
}

// expected is a fault that waits for a call.
type expected struct {
	method, path string
	fault        Fault
}

// nextFault takes the first fault for a call, nil where there is none.
func (s *Server) nextFault(call Call) Fault {
	for i, e := range s.faults {
		if (e.method == "" || e.method == call.Method) && strings.Contains(call.Path, e.path) {
			s.faults = slices.Delete(s.faults, i, i+1)
			return e.fault
		}
	}
	return nil
}

// Well is no fault: the call goes well. It stands in Fail for a call before one that fails.
func Well(w http.ResponseWriter, perform func() Answer) { perform().write(w) }

// Before does something else first, as somebody else might at the same time, and then performs the
// call.
func Before(something func()) Fault {
	return func(w http.ResponseWriter, perform func() Answer) {
		something()
		perform().write(w)
	}
}

// Hang performs nothing and does not answer, until the test ends.
func (s *Server) Hang(http.ResponseWriter, func() Answer) {
	<-s.ended
	panic(http.ErrAbortHandler)
}

// Times is a fault several times, for Fail.
func Times(n int, fault Fault) []Fault {
	faults := make([]Fault, n)
	for i := range faults {
		faults[i] = fault
	}
	return faults
}

// Refuse answers with an error of Cloudflare's and performs nothing. Status 403 and code 10000 are
// a token without the permission.
func Refuse(status, code int, message string) Fault {
	return func(w http.ResponseWriter, _ func() Answer) { refusal(status, code, message).write(w) }
}

// TooMany answers that too many calls were made, and when to come again. -1 seconds leave that
// open.
func TooMany(seconds int) Fault {
	return func(w http.ResponseWriter, _ func() Answer) {
		if seconds >= 0 {
			w.Header().Set("Retry-After", strconv.Itoa(seconds))
		}
		refusal(http.StatusTooManyRequests, 971, "Please wait and consider throttling your request speed").write(w)
	}
}

// Crash performs the call, and answers with a page of the given status.
func Crash(status int) Fault {
	return func(w http.ResponseWriter, perform func() Answer) {
		perform()
		w.Header().Set("Content-Type", "text/html; charset=UTF-8")
		w.WriteHeader(status)
		fmt.Fprintf(w, "<!DOCTYPE html><title>%d</title>", status)
	}
}

// HangUp performs the call, and hangs up in the midst of the answer's body.
func HangUp(w http.ResponseWriter, perform func() Answer) {
	answer := perform()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(answer.Body)))
	w.WriteHeader(answer.Status)
	w.Write(answer.Body[:len(answer.Body)/2])
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// Silence performs the call, and hangs up without an answer.
func Silence(_ http.ResponseWriter, perform func() Answer) {
	perform()
	panic(http.ErrAbortHandler)
}

// Change performs the call, and answers with another body.
func Change(change func(body string) string) Fault {
	return func(w http.ResponseWriter, perform func() Answer) {
		answer := perform()
		answer.Body = []byte(change(string(answer.Body)))
		answer.write(w)
	}
}

// CutShort performs the call, and answers with the first half of the body, as if that were all.
var CutShort = Change(func(body string) string { return body[:len(body)/2] })

// LastResult performs the call, and puts a text in the place of the last statement's result. ""
// leaves that out.
func LastResult(text string) Fault {
	return Change(func(body string) string {
		var answer struct {
			Result []json.RawMessage `json:"result"`
		}
		if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Result) == 0 {
			return body
		}
		var results []string
		for _, result := range answer.Result[:len(answer.Result)-1] {
			results = append(results, string(result))
		}
		if text != "" {
			results = append(results, text)
		}
		return `{"success":true,"errors":[],"messages":[],"result":[` + strings.Join(results, ",") + `]}`
	})
}

// Recover forgets the faults that have not happened yet.
func (s *Server) Recover() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.faults = nil
}
