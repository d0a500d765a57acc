package cloudflare

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

// permissionAccounts is a permission of an API token, as Cloudflare's dashboard calls it.
const permissionAccounts = "Account, Account Settings, Read"

// A call that fails in passing is tried again after the first wait, after twice that, and so on. A
// Retry-After is kept to where it is not longer than the longest wait.
const (
	tries       = 4
	firstWait   = 250 * time.Millisecond
	longestWait = 10 * time.Second
)

// Purpose is what a call is for.
type Purpose struct {
	What       string // for its errors
	Writes     bool   // it changes something each time; else it may be made again at will
	Unsure     string // what to do where it is not known whether a call that writes was done
	Permission string // that the token needs, as Cloudflare's dashboard calls it
	// Missing says what to do where what the call names is not there, "" where Cloudflare's own words
	// are enough.
	Missing string
	Secrets []string // that no error may hold, beside the token
}

// Failure is why a call failed.
type Failure struct {
	Status  int     // 0 where there was no answer
	Faults  []Fault // in the words of Cloudflare
	Undone  bool    // whether the API certainly did nothing
	err     error   // nil where the answer says it
	passing bool    // whether another try may go better
	after   time.Duration
	secrets []string
}

// Fault is an element of the errors of an answer.
type Fault struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// An answer of the API that is no error, and one that is.
type (
	envelope struct {
		Success bool           `json:"success"`
		Errors  []Fault        `json:"errors"`
		Result  jsontext.Value `json:"result"`
	}
	faultyEnvelope struct {
		Errors []Fault `json:"errors"`
	}
)

// Error says what Cloudflare answered, in words that hold no secret.
func (f *Failure) Error() string {
	switch {
	case f.err != nil && f.Status == 0:
		return f.err.Error()
	case f.err != nil:
		return fmt.Sprintf("Cloudflare answered %d: %v", f.Status, f.err)
	}
	text := fmt.Sprintf("Cloudflare answered %d", f.Status)
	for i, fault := range f.Faults {
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

func (f *Failure) Unwrap() error { return f.err }

// Said is the words of Cloudflare.
func (f *Failure) Said() (words string) {
	for _, fault := range f.Faults {
		words += fault.Message + "\n"
	}
	return words
}

// Has reports whether the answer has one of the codes.
func (f *Failure) Has(codes ...int) bool {
	return slices.ContainsFunc(f.Faults, func(f Fault) bool { return slices.Contains(codes, f.Code) })
}

// Call makes a call of the API, several times if need be, and gives the body of its answer. send
// makes it once.
func (c *Client) Call(ctx context.Context, p Purpose, send func() (*http.Response, []byte, error)) ([]byte, error) {
	for try, wait := 1, firstWait; ; try, wait = try+1, 2*wait {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("%s: %w", p.What, err)
		}
		response, body, err := send()
		f := judge(response, body, err)
		if f == nil {
			return body, nil
		}
		f.secrets = append(p.Secrets, c.Token)
		delay := max(wait, f.after)
		if !f.passing || p.Writes && !f.Undone || try == tries || delay > longestWait {
			return nil, c.explain(p, f, try)
		}
		c.Wait(ctx, delay)
	}
}

// Pause waits, at most until the context ends.
func Pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// judge says how a call failed, nil where it did not. Of an answer with a status of 400 or more,
// the body may be unread.
func judge(response *http.Response, body []byte, err error) *Failure {
	if response == nil {
		if err == nil {
			err = errors.New("no answer")
		}
		var network *net.OpError
		unsent := errors.As(err, &network) && network.Op == "dial"
		return &Failure{err: err, Undone: unsent, passing: true}
	}
	f := &Failure{Status: response.StatusCode}
	switch status := response.StatusCode; {
	case 200 <= status && status < 300 && err != nil:
		f.err, f.passing = err, true // the body ended too early
		return f
	case 200 <= status && status < 300:
		return nil
	case status < 400:
		f.err = errors.New("its API never does")
		return f
	case status == http.StatusTooManyRequests:
		f.Undone, f.passing, f.after = true, true, retryAfter(response.Header)
	case status >= 500 || status == http.StatusRequestTimeout:
		f.passing = true
	}
	if len(body) == 0 {
		body, _ = io.ReadAll(response.Body)
	}
	var answer faultyEnvelope
	if json.Unmarshal(body, &answer) == nil {
		f.Faults = answer.Errors
	} else if media, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type")); media == "text/plain" {
		f.Faults = []Fault{{Message: string(body)}} // as Analytics Engine answers
	}
	// The API refuses a call in its own form. Of D1 itself (7500), SQLite's words mean that the
	// transaction was rolled back; it has others for one that was perhaps ended too late.
	if !f.passing && len(answer.Errors) > 0 && (!f.Has(7500) || strings.Contains(f.Said(), "SQLITE_")) {
		f.Undone = true
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
func (c *Client) explain(p Purpose, f *Failure, tried int) error {
	err := fmt.Errorf("%s: %w", p.What, f)
	if tried > 1 {
		err = fmt.Errorf("%w, after %d tries", err, tried)
	}
	next := "try again in some minutes; www.cloudflarestatus.com tells of incidents"
	switch {
	case f.Has(10089):
		next = "enable Analytics Engine for the account in Cloudflare's dashboard"
	case p.Missing != "" && (f.Has(7404) || f.Status == http.StatusNotFound):
		next = p.Missing
	case f.Status == http.StatusUnauthorized, f.Status == http.StatusForbidden, f.Has(10000, 10001, 9106, 9109, 6003, 6111, 7403):
		next = fmt.Sprintf("give the token in %s the permission %s", TokenVariable, p.Permission)
		if c.Account != "" {
			next += fmt.Sprintf(" for the account %s, or name another account in %s", c.Account, AccountVariable)
		}
	case f.Status == http.StatusTooManyRequests && f.after > longestWait:
		next = fmt.Sprintf("it asks to wait %d seconds", int(f.after.Seconds()))
	case f.Status == http.StatusTooManyRequests:
		next = "too many calls were made with this account or token: wait five minutes, and try again"
	case errors.Is(f.err, context.Canceled):
		next = "" // who interrupts it knows
	case f.Status == 0:
		next = "check the way from this machine to " + c.Base.Host
	case f.Status < 400 && f.err == nil, f.Status < 500 && f.Undone:
		next = "" // Cloudflare's own words are all there is
	}
	if p.Writes && !f.Undone {
		err = fmt.Errorf("%w; it is not known whether it was done: %s", err, p.Unsure)
	}
	if next != "" {
		err = fmt.Errorf("%w (%s)", err, next)
	}
	return err
}

// Misread makes the error of an answer that is none.
func (c *Client) Misread(p Purpose, err error) error {
	f := &Failure{err: err}
	errors.As(err, &f)
	f.Status, f.secrets = http.StatusOK, append(p.Secrets, c.Token)
	return c.explain(p, f, 1)
}

// Options are the options of the API's client. It does not try again by itself, as it cannot know
// what may be repeated.
func (c *Client) Options() []option.RequestOption {
	return []option.RequestOption{
		option.WithBaseURL(c.Base.String()), option.WithHTTPClient(c.HTTP),
		option.WithAPIToken(c.Token), option.WithMaxRetries(0),
	}
}

// onlyAccount gives the account of a token that has one.
func (c *Client) onlyAccount(ctx context.Context) (string, error) {
	next := fmt.Sprintf("set %s, or account_id in wrangler.toml", AccountVariable)
	service := accounts.NewAccountService(c.Options()...)
	p := Purpose{What: "ask for the token's accounts", Permission: permissionAccounts}
	body, err := c.Call(ctx, p, func() (response *http.Response, body []byte, err error) {
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
	if err := Open(body, &list); err != nil {
		return "", fmt.Errorf("%w (or %s)", c.Misread(p, err), next)
	}
	if len(list) != 1 || !accountID.MatchString(list[0].ID) {
		var names []string
		for _, a := range list {
			names = append(names, fmt.Sprintf("%q (%.60q)", a.ID, a.Name))
		}
		return "", fmt.Errorf("the token in %s has %d accounts%s (%s)", TokenVariable, len(list), strings.Join(append([]string{""}, names...), " "), next)
	}
	return list[0].ID, nil
}

// Open reads the result in the body of an answer that is no error by its status. Misread makes
// what it returns an error for the operator.
func Open(body []byte, result any) error {
	var answer envelope
	if err := json.Unmarshal(body, &answer); err != nil {
		return ErrNoAnswer // its words could hold records
	}
	if !answer.Success {
		return &Failure{Faults: answer.Errors}
	}
	if err := json.Unmarshal(answer.Result, result); err != nil {
		return ErrNoAnswer
	}
	return nil
}

// ErrNoAnswer is the error of an answer that cannot be read. It holds nothing of the answer.
var ErrNoAnswer = errors.New("the answer is cut off, or not what Cloudflare's API answers")
