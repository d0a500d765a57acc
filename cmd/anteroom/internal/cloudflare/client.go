package cloudflare

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"anteroom/edge/store/records"
	"anteroom/edge/turn"

	"github.com/cloudflare/cloudflare-go/v6/accounts"
	"github.com/cloudflare/cloudflare-go/v6/d1"
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

var Permissions = []string{"Account > Workers Scripts > Edit", "Account > D1 > Edit", "Zone > Workers Routes > Edit"}

const (
	longestCall = time.Minute // D1 ends a query after 30 seconds
	retries     = 2           // of a call that reads; before them 2 and 4 seconds, or what Cloudflare asks for
)

// errNoAnswer does not quote the response, which may have secrets.
var errNoAnswer = errors.New("truncated or malformed Cloudflare response")

// client calls the API for one account.
type client struct {
	http    *http.Client
	base    *url.URL
	token   string
	account string
}

// connect makes a client from the environment. account is the one in wrangler.toml. If it is "",
// CLOUDFLARE_ACCOUNT_ID names it, or it is the token's only one.
func connect(ctx context.Context, account string) (*client, error) {
	c := &client{
		token:   strings.TrimSpace(os.Getenv(TokenVariable)),
		account: cmp.Or(account, strings.TrimSpace(os.Getenv(accountVariable))),
	}
	c.http = &http.Client{
		Timeout: longestCall,
		// only the API gets the token
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var faults []error
	if c.token == "" || strings.ContainsFunc(c.token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		faults = append(faults, fmt.Errorf(
			"%s is not set, or is not a token (create an API token with the permission %s in Cloudflare's dashboard)",
			TokenVariable, permissionD1))
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
	var response *http.Response
	list, err := accounts.NewAccountService(c.options(retries, &response)...).List(ctx, accounts.AccountListParams{})
	err = c.explain("ask for the token's accounts", permissionAccounts, response, err)
	if err == nil && len(list.Result) != 1 {
		err = fmt.Errorf("the token in %s has %d accounts", TokenVariable, len(list.Result))
	}
	if err != nil {
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

func (c *client) options(retries int, response **http.Response) []option.RequestOption {
	return []option.RequestOption{
		option.WithBaseURL(c.base.String()), option.WithHTTPClient(c.http), option.WithAPIToken(c.token),
		option.WithMaxRetries(retries), option.WithResponseInto(response),
	}
}

// explain turns an error of Cloudflare's client into a failure with the next step.
func (c *client) explain(what, permission string, response *http.Response, err error) error {
	if err == nil {
		return nil
	}
	f, refused := &failure{err: err}, (*d1.Error)(nil) // the same type for all products
	switch wrapped := (*url.Error)(nil); {
	case response == nil:
		if errors.As(err, &wrapped) {
			f.err = wrapped.Err
		}
	case errors.As(err, &refused) && len(refused.Errors) > 0:
		f.status, f.faults, f.err = response.StatusCode, refused.Errors, nil
	case response.StatusCode >= 400:
		f.status, f.err = response.StatusCode, errors.New(http.StatusText(response.StatusCode))
	default:
		f.status, f.err = response.StatusCode, errNoAnswer
	}
	for i := range f.faults {
		f.faults[i].Message = strings.ReplaceAll(f.faults[i].Message, c.token, "…")
	}
	next := ""
	switch {
	case errors.Is(f.err, context.Canceled):
	case f.status == http.StatusForbidden, f.status == http.StatusUnauthorized,
		f.has(10000, 10001, 9106, 9109, 6003, 6111, 7403):
		next = fmt.Sprintf(" (give the token in %s the permission %s, name another account in %s, or do in Cloudflare's "+
			"dashboard what it asks for)", TokenVariable, permission, accountVariable)
	case f.status == 0:
		next = " (check the network between this machine and " + c.base.Host + ")"
	case f.status < 400, f.status == http.StatusTooManyRequests, f.status >= 500:
		next = " (try again in some minutes; www.cloudflarestatus.com lists incidents)"
	}
	return fmt.Errorf("%s: %w%s", what, f, next)
}

// analyze queries Analytics Engine, which Cloudflare's client does not support.
func (c *client) analyze(ctx context.Context, query string, into any) error {
	address := c.base.JoinPath("accounts", c.account, "analytics_engine/sql").String()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(query))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Content-Type", "text/plain")
	response, err := c.http.Do(request)
	if err == nil {
		defer response.Body.Close()
		var body []byte
		if body, err = io.ReadAll(response.Body); response.StatusCode >= 400 {
			refused := &d1.Error{}
			_ = refused.UnmarshalJSON(body)
			if len(refused.Errors) == 0 { // plain text
				refused.Errors = []shared.ErrorData{{Message: string(body)}}
			}
			err = refused
		} else if err == nil {
			err = json.Unmarshal(body, into)
		}
	}
	return c.explain("ask Analytics Engine", permissionAnalytics, response, err)
}

var errNoDataset = fmt.Errorf("the environment binds no dataset of Analytics Engine as %s in wrangler.toml, so %w",
	datasetBinding, records.ErrNotObserved)

// Observed returns the observations of the days from since to through, YYYY-MM-DD in UTC, both
// included, in the order of days, clients and kinds. "" leaves an end open. The caller has checked
// the days. Analytics Engine keeps three months, and may keep a sample: then the numbers are
// estimates.
func (s *Store) Observed(ctx context.Context, since, through string) ([]records.Observation, error) {
	if s.dataset == "" {
		return nil, errNoDataset
	}
	const midnight = "toDateTime('%s 00:00:00')"
	var conditions []string
	if since != "" {
		conditions = append(conditions, fmt.Sprintf("timestamp >= "+midnight, since))
	}
	if last, err := time.Parse(time.DateOnly, through); err == nil {
		conditions = append(conditions, fmt.Sprintf("timestamp < "+midnight, last.AddDate(0, 0, 1).Format(time.DateOnly)))
	}
	where := ""
	if len(conditions) > 0 {
		where = " WHERE " + strings.Join(conditions, " AND ")
	}
	var answer struct {
		Data []struct {
			Day, Client, Kind string
			N                 json.Number // a string or a number
		} `json:"data"`
		Rows int `json:"rows"`
	}
	const columns = "SELECT formatDateTime(timestamp, '%Y-%m-%d') AS day, blob1 AS client, blob2 AS kind, " +
		"SUM(_sample_interval) AS n"
	query := columns + " FROM " + s.dataset + where + " GROUP BY day, client, kind ORDER BY day, client, kind FORMAT JSON"
	if err := s.client.analyze(ctx, query, &answer); err != nil {
		return nil, err
	}
	if answer.Rows != len(answer.Data) {
		return nil, errors.New("read observations: the response has no rows (ask for fewer days)")
	}
	all := make([]records.Observation, len(answer.Data))
	for i, row := range answer.Data {
		n, err := row.N.Int64()
		if row.Day == "" || err != nil {
			return nil, fmt.Errorf("read observations: row %d: want a day and a number", i+1)
		}
		all[i] = records.Observation{Day: row.Day, Client: row.Client, Kind: row.Kind, N: n}
	}
	return all, nil
}
