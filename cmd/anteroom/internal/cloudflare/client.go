package cloudflare

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"anteroom/edge/store/records"
	"anteroom/edge/turn"

	"github.com/cloudflare/cloudflare-go/v6/accounts"
	"github.com/cloudflare/cloudflare-go/v6/option"
	"github.com/cloudflare/cloudflare-go/v6/shared"
)

const (
	TokenVariable   = "CLOUDFLARE_API_TOKEN"
	accountVariable = "CLOUDFLARE_ACCOUNT_ID"
	baseVariable    = "CLOUDFLARE_API_BASE_URL"
)

// Permissions of an API token, as Cloudflare's dashboard calls them.
const (
	permissionD1        = "Account, D1, Edit (D1, Read is enough to read)"
	permissionAnalytics = "Account, Account Analytics, Read"
	permissionAccounts  = "Account, Account Settings, Read"
)

// Permissions lists what the token of a deployment may do.
const Permissions = "Account, Workers Scripts, Edit; Account, D1, Edit; Zone, Workers Routes, Edit"

const (
	longestCall = time.Minute // D1 ends a query after 30 seconds
	tries       = 4           // of a call that reads
)

// pause is half of the time before a call is repeated, and doubles each time.
var pause = 250 * time.Millisecond

// errNoAnswer does not quote the response, which may have secrets.
var errNoAnswer = errors.New("truncated or malformed Cloudflare response")

var accountID = regexp.MustCompile(`^[0-9A-Za-z_-]+$`)

// client calls the API for one account.
type client struct {
	http    *http.Client
	base    *url.URL
	token   string
	account string
}

// connect makes a client from the environment. account is the one in wrangler.toml; if it is "",
// CLOUDFLARE_ACCOUNT_ID names it, or the token has only one.
func connect(ctx context.Context, account, permission string) (*client, error) {
	c := &client{
		token:   strings.TrimSpace(os.Getenv(TokenVariable)),
		account: cmp.Or(account, strings.TrimSpace(os.Getenv(accountVariable))),
	}
	c.http = &http.Client{
		Timeout: longestCall,
		// the token is for the API alone
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var faults []error
	if c.token == "" || strings.ContainsFunc(c.token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		faults = append(faults, fmt.Errorf(
			"%s is not set, or is not a token (create an API token with the permission %s in Cloudflare's dashboard)",
			TokenVariable, permission))
	}
	if c.account != "" && !accountID.MatchString(c.account) {
		faults = append(faults, fmt.Errorf("wrangler.toml or %s: invalid account id %q", accountVariable, c.account))
	}
	var err error
	base := cmp.Or(os.Getenv(baseVariable), "https://api.cloudflare.com/client/v4")
	c.base, err = url.Parse(strings.TrimSuffix(base, "/"))
	// The token leaves this machine encrypted only.
	if err != nil || c.base.Host == "" || c.base.Scheme != "https" && !turn.IsLoopback(c.base.Hostname()) {
		faults = append(faults, fmt.Errorf("%s is not an https URL (leave it unset for Cloudflare's own API)", baseVariable))
	}
	if err := errors.Join(faults...); err != nil || c.account != "" {
		return c, err
	}
	list, err := accounts.NewAccountService(c.reading()...).List(ctx, accounts.AccountListParams{})
	if err == nil && len(list.Result) != 1 {
		err = fmt.Errorf("the token in %s has %d accounts", TokenVariable, len(list.Result))
	}
	if err != nil {
		err = c.explain("ask for the token's accounts", permissionAccounts, err)
		return nil, fmt.Errorf("%w (set %s, or account_id in wrangler.toml)", err, accountVariable)
	}
	c.account = list.Result[0].ID
	return c, nil
}

func set[T any](value *T, present *bool, v T) { *value, *present = v, true }

// failure is a response of the API that refuses a call, or no response.
type failure struct {
	status int // 0 without a response
	faults []shared.ErrorData
	err    error // why the response cannot be read
}

func (f *failure) Unwrap() error { return f.err }

func (f *failure) Error() string {
	if f.status == 0 {
		return f.err.Error()
	}
	text := fmt.Sprintf("Cloudflare answered %d", f.status)
	if f.err != nil {
		return text + ": " + f.err.Error()
	}
	for _, fault := range f.faults[:min(3, len(f.faults))] {
		if fault.Code != 0 {
			text += fmt.Sprintf(", code %d", fault.Code)
		}
		text += fmt.Sprintf(": %.200q", fault.Message) // quoted, as it goes to a terminal
	}
	return text
}

func (f *failure) has(codes ...int64) bool {
	return slices.ContainsFunc(f.faults, func(fault shared.ErrorData) bool { return slices.Contains(codes, fault.Code) })
}

func (f *failure) passing() bool {
	return f.status == 0 && !errors.Is(f.err, context.Canceled) || f.status == 408 || f.status == 429 || f.status >= 500 ||
		errors.Is(f.err, errNoAnswer)
}

func denied(err error) bool {
	var f *failure
	return errors.As(err, &f) && (f.status == http.StatusForbidden || f.status == http.StatusUnauthorized)
}

// writing returns the options of a call that is made once, as it may change something.
func (c *client) writing() []option.RequestOption { return c.options(1) }

// reading returns the options of a call that is repeated if it fails temporarily.
func (c *client) reading() []option.RequestOption { return c.options(tries) }

func (c *client) options(tries int) []option.RequestOption {
	return []option.RequestOption{
		option.WithBaseURL(c.base.String()), option.WithHTTPClient(c.http), option.WithAPIToken(c.token),
		option.WithMaxRetries(0),
		option.WithMiddleware(func(request *http.Request, next option.MiddlewareNext) (*http.Response, error) {
			return c.try(tries, request, next)
		}),
	}
}

func (c *client) try(tries int, request *http.Request,
	do func(*http.Request) (*http.Response, error),
) (*http.Response, error) {
	for try := 1; ; try++ {
		response, err := c.judge(do(request))
		var f *failure
		if !errors.As(err, &f) || !f.passing() || try >= tries {
			return response, err
		}
		select {
		case <-request.Context().Done():
			return response, err
		case <-time.After(pause << try):
		}
		if request.GetBody != nil {
			request.Body, _ = request.GetBody() // a buffer, which does not fail
		}
	}
}

func (c *client) judge(response *http.Response, err error) (*http.Response, error) {
	if err != nil {
		if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return response, &failure{err: err}
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(body))
	var answer struct {
		Errors []shared.ErrorData `json:"errors"`
	}
	f := &failure{status: response.StatusCode}
	switch broken := err != nil || json.Unmarshal(body, &answer) != nil; {
	case broken && f.status >= 400 && strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain"):
		f.err = fmt.Errorf("%.200q", body) // of Analytics Engine
	case broken && f.status >= 400:
		f.err = errors.New(http.StatusText(f.status))
	case broken:
		f.err = errNoAnswer
	}
	for _, fault := range answer.Errors {
		fault.Message = strings.ReplaceAll(fault.Message, c.token, "…")
		f.faults = append(f.faults, fault)
	}
	if f.status >= 400 || f.err != nil || len(f.faults) > 0 {
		return response, f
	}
	return response, nil
}

func (c *client) explain(what, permission string, err error) error {
	f := &failure{}
	if !errors.As(err, &f) {
		return fmt.Errorf("%s: %w", what, err)
	}
	next := ""
	switch {
	case errors.Is(f.err, context.Canceled):
	case f.has(10034):
		next = " (verify the e-mail address of the account in Cloudflare's dashboard)"
	case f.has(10089):
		next = " (enable Analytics Engine for the account in Cloudflare's dashboard)"
	case denied(f), f.has(10000, 10001, 9106, 9109, 6003, 6111, 7403):
		next = fmt.Sprintf(" (give the token in %s the permission %s, or name another account in %s)", TokenVariable,
			permission, accountVariable)
	case f.status == http.StatusTooManyRequests:
		next = " (wait five minutes, and try again)"
	case f.status == 0:
		next = " (check the network between this machine and " + c.base.Host + ")"
	case f.status < 400, f.status >= 500:
		next = " (try again in some minutes; www.cloudflarestatus.com lists incidents)"
	}
	return fmt.Errorf("%s: %w%s", what, f, next)
}

func (c *client) path(of string) string { return "accounts/" + c.account + "/" + of }

func (c *client) get(ctx context.Context, path string, into any) error {
	answer := struct {
		Result any `json:"result"`
	}{into}
	return c.ask(ctx, http.MethodGet, path, "", &answer)
}

func (c *client) ask(ctx context.Context, method, path, body string, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, c.base.String()+"/"+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Content-Type", "text/plain")
	response, err := c.try(tries, request, c.http.Do)
	if err != nil {
		return err
	}
	return json.NewDecoder(response.Body).Decode(into)
}

var errNoDataset = fmt.Errorf("the environment binds no dataset of Analytics Engine as %s in wrangler.toml, so %w",
	datasetBinding, records.ErrNotObserved)

// Observed returns the observations of the days from since to through, YYYY-MM-DD in UTC, both
// included, in the order of days, clients and kinds. "" leaves an end open. Analytics Engine keeps
// three months, and may keep a sample: then the numbers are estimates.
func (s *Store) Observed(ctx context.Context, since, through string) ([]records.Observation, error) {
	if s.dataset == "" {
		return nil, errNoDataset
	}
	var conditions []string
	bound := func(day, comparison string, shift int) error {
		if day == "" {
			return nil
		}
		at, err := time.Parse(time.DateOnly, day)
		if err != nil {
			return fmt.Errorf("read observations: %q is not a day (give YYYY-MM-DD)", day)
		}
		day = at.AddDate(0, 0, shift).Format(time.DateOnly)
		conditions = append(conditions, fmt.Sprintf("timestamp %s toDateTime('%s 00:00:00')", comparison, day))
		return nil
	}
	if err := errors.Join(bound(since, ">=", 0), bound(through, "<", 1)); err != nil {
		return nil, err
	}
	where := ""
	if len(conditions) > 0 {
		where = " WHERE " + strings.Join(conditions, " AND ")
	}
	var answer struct {
		Data []struct {
			Day, Client, Kind *string
			N                 json.Number // a text or a number
		} `json:"data"`
		Rows *int `json:"rows"`
	}
	const columns = "SELECT formatDateTime(timestamp, '%Y-%m-%d') AS day, blob1 AS client, blob2 AS kind, " +
		"SUM(_sample_interval) AS n"
	query := columns + " FROM " + s.dataset + where + " GROUP BY day, client, kind ORDER BY day, client, kind FORMAT JSON"
	path := s.client.path("analytics_engine/sql")
	if err := s.client.ask(ctx, http.MethodPost, path, query, &answer); err != nil {
		return nil, s.client.explain("ask Analytics Engine", permissionAnalytics, err)
	}
	if answer.Rows == nil || *answer.Rows != len(answer.Data) {
		return nil, errors.New("read observations: the response lacks rows (ask for fewer days)")
	}
	all := make([]records.Observation, len(answer.Data))
	for i, row := range answer.Data {
		n, err := row.N.Int64()
		if row.Day == nil || row.Client == nil || row.Kind == nil || err != nil {
			return nil, fmt.Errorf("read observations: row %d is not three texts and a number", i+1)
		}
		all[i] = records.Observation{Day: *row.Day, Client: *row.Client, Kind: *row.Kind, N: n}
	}
	return all, nil
}
