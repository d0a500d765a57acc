package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cloudflare/cloudflare-go/v6/accounts"
	"github.com/cloudflare/cloudflare-go/v6/option"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The permissions of an API token, as Cloudflare's dashboard calls them.
const (
	permissionD1        = "Account, D1, Edit (D1, Read is enough to read)"
	permissionAnalytics = "Account, Account Analytics, Read"
	permissionAccounts  = "Account, Account Settings, Read"
)

// A call that fails in passing is tried again after the first wait, after twice that, and so on. A
// Retry-After is kept to where it is not longer than the longest wait.
const (
	tries       = 4
	firstWait   = 250 * time.Millisecond
	longestWait = 10 * time.Second
)

// purpose is what a call is for.
type purpose struct {
	what       string // for its errors
	writes     bool
	permission string   // that the token needs
	secrets    []string // that no error may hold, beside the token
}

// failure is why a call failed.
type failure struct {
	status  int     // 0 where there was no answer
	faults  []fault // in the words of Cloudflare
	err     error   // nil where the answer says it
	undone  bool    // whether the API certainly did nothing
	passing bool    // whether another try may go better
	after   time.Duration
	secrets []string
}

// fault is an element of the errors of an answer.
type fault struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// An answer of the API that is no error, and one that is.
type (
	envelope struct {
		Success bool           `json:"success"`
		Errors  []fault        `json:"errors"`
		Result  jsontext.Value `json:"result"`
	}
	faultyEnvelope struct {
		Errors []fault `json:"errors"`
	}
)

// Error says what Cloudflare answered, in words that hold no secret.
func (f *failure) Error() string {
	switch {
	case f.err != nil && f.status == 0:
		return f.err.Error()
	case f.err != nil:
		return fmt.Sprintf("Cloudflare answered %d: %v", f.status, f.err)
	}
	text := fmt.Sprintf("Cloudflare answered %d", f.status)
	for i, fault := range f.faults {
		if i == 3 {
			break // one is usual
		}
		if fault.Code != 0 {
			text += fmt.Sprintf(", code %d", fault.Code)
		}
		words := fault.Message
		if words != "" && !slices.ContainsFunc(f.secrets, func(s string) bool { return s != "" && strings.Contains(words, s) }) {
			text += fmt.Sprintf(": %.200q", words) // quoted, as they go to a terminal
		}
	}
	return text
}

func (f *failure) Unwrap() error { return f.err }

// said is the words of Cloudflare.
func (f *failure) said() (words string) {
	for _, fault := range f.faults {
		words += fault.Message + "\n"
	}
	return words
}

// has reports whether the answer has one of the codes.
func (f *failure) has(codes ...int) bool {
	return slices.ContainsFunc(f.faults, func(f fault) bool { return slices.Contains(codes, f.Code) })
}

// call makes a call of the API, several times if need be, and gives the body of its answer. send
// makes it once.
func (s *Store) call(ctx context.Context, p purpose, send func() (*http.Response, []byte, error)) ([]byte, error) {
	for try, wait := 1, firstWait; ; try, wait = try+1, 2*wait {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", p.what, err)
		}
		response, body, err := send()
		f := judge(response, body, err)
		if f == nil {
			return body, nil
		}
		f.secrets = append(p.secrets, s.token)
		delay := max(wait, f.after)
		if !f.passing || p.writes && !f.undone || try == tries || delay > longestWait {
			return nil, s.explain(p, f, try)
		}
		s.pause(ctx, delay)
	}
}

// pause waits, at most until the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// judge says how a call failed, nil where it did not. Of an answer with a status of 400 or more,
// the body may be unread.
func judge(response *http.Response, body []byte, err error) *failure {
	if response == nil {
		if err == nil {
			err = errors.New("no answer")
		}
		var network *net.OpError
		unsent := errors.As(err, &network) && network.Op == "dial"
		return &failure{err: err, undone: unsent, passing: true}
	}
	f := &failure{status: response.StatusCode}
	switch status := response.StatusCode; {
	case status == http.StatusOK && err != nil:
		f.err, f.passing = err, true // the body ended too early
		return f
	case status == http.StatusOK:
		return nil
	case status < 400:
		f.err = errors.New("its API never does")
		return f
	case status == http.StatusTooManyRequests:
		f.undone, f.passing, f.after = true, true, retryAfter(response.Header)
	case status >= 500 || status == http.StatusRequestTimeout:
		f.passing = true
	}
	if len(body) == 0 {
		body, _ = io.ReadAll(response.Body)
	}
	var answer faultyEnvelope
	if json.Unmarshal(body, &answer) == nil {
		f.faults = answer.Errors
	} else if media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); media == "text/plain" {
		f.faults = []fault{{Message: string(body)}} // as Analytics Engine answers
	}
	// The API refuses a call in its own form. Of D1 itself (7500), SQLite's words mean that the
	// transaction was rolled back; it has others for one that was perhaps ended too late.
	if !f.passing && len(answer.Errors) > 0 && (!f.has(7500) || strings.Contains(f.said(), "SQLITE_")) {
		f.undone = true
	}
	return f
}

// retryAfter is the seconds of a Retry-After (RFC 9110, section 10.2.3), 0 where it has none.
func retryAfter(header http.Header) time.Duration {
	seconds, err := strconv.ParseUint(header.Get("Retry-After"), 10, 31)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// explain makes the error of a call that failed, with what to do next.
func (s *Store) explain(p purpose, f *failure, tried int) error {
	err := fmt.Errorf("%s: %w", p.what, f)
	if tried > 1 {
		err = fmt.Errorf("%w, after %d tries", err, tried)
	}
	next := "try again in some minutes; www.cloudflarestatus.com tells of incidents"
	switch {
	case f.has(10089):
		next = "enable Analytics Engine for the account in Cloudflare's dashboard"
	case f.has(7404):
		next = fmt.Sprintf("the account %s has no database %s: put the id that wrangler d1 list prints into wrangler.toml", s.account, s.databaseID)
	case f.status == http.StatusUnauthorized, f.status == http.StatusForbidden, f.has(10000, 10001, 9106, 9109, 6003, 6111, 7403):
		next = fmt.Sprintf("give the token in %s the permission %s", tokenVariable, p.permission)
		if s.account != "" {
			next += fmt.Sprintf(" for the account %s, or name another account in %s", s.account, accountVariable)
		}
	case f.status == http.StatusTooManyRequests && f.after > longestWait:
		next = fmt.Sprintf("it asks to wait %d seconds", int(f.after.Seconds()))
	case f.status == http.StatusTooManyRequests:
		next = "too many calls were made with this account or token: wait five minutes, and try again"
	case errors.Is(f.err, context.Canceled):
		next = "" // who interrupts it knows
	case f.status == 0:
		next = "check the way from this machine to " + s.base.Host
	case f.status < 400 && f.err == nil, f.status < 500 && f.undone:
		next = "" // Cloudflare's own words are all there is
	}
	if p.writes && !f.undone {
		err = fmt.Errorf("%w; it is not known whether it was done: look at the records before you repeat it", err)
	}
	if next != "" {
		err = fmt.Errorf("%w (%s)", err, next)
	}
	return err
}

// misread makes the error of an answer that is none.
func (s *Store) misread(p purpose, err error) error {
	f := &failure{err: err}
	errors.As(err, &f)
	f.status, f.secrets = http.StatusOK, append(p.secrets, s.token)
	return s.explain(p, f, 1)
}

// options are the options of the API's client. It does not try again by itself, as it cannot know
// what may be repeated.
func (s *Store) options() []option.RequestOption {
	return []option.RequestOption{
		option.WithBaseURL(s.base.String()), option.WithHTTPClient(s.client),
		option.WithAPIToken(s.token), option.WithMaxRetries(0),
	}
}

// onlyAccount gives the account of a token that has one.
func (s *Store) onlyAccount(ctx context.Context) (string, error) {
	next := fmt.Sprintf("set %s, or account_id in wrangler.toml", accountVariable)
	service := accounts.NewAccountService(s.options()...)
	p := purpose{what: "ask for the token's accounts", permission: permissionAccounts}
	body, err := s.call(ctx, p, func() (response *http.Response, body []byte, err error) {
		_, err = service.List(ctx, accounts.AccountListParams{}, option.WithResponseInto(&response), option.WithResponseBodyInto(&body))
		return response, body, err
	})
	if err != nil {
		return "", fmt.Errorf("%w (or %s)", err, next)
	}
	var list []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	if err := open(body, &list); err != nil {
		return "", fmt.Errorf("%w (or %s)", s.misread(p, err), next)
	}
	if len(list) != 1 || !accountID.MatchString(list[0].ID) {
		var names []string
		for _, a := range list {
			names = append(names, fmt.Sprintf("%q (%.60q)", a.ID, a.Name))
		}
		return "", fmt.Errorf("the token in %s has %d accounts%s (%s)", tokenVariable, len(list), strings.Join(append([]string{""}, names...), " "), next)
	}
	return list[0].ID, nil
}

// open reads the result in the body of an answer that is no error by its status. misread makes
// what it returns an error for the operator.
func open(body []byte, result any) error {
	var answer envelope
	if err := json.Unmarshal(body, &answer); err != nil {
		return errNoAnswer // its words could hold records
	}
	if !answer.Success {
		return &failure{faults: answer.Errors}
	}
	if err := json.Unmarshal(answer.Result, result); err != nil {
		return errNoAnswer
	}
	return nil
}

var errNoAnswer = errors.New("the answer is cut off, or not what Cloudflare's API answers")
