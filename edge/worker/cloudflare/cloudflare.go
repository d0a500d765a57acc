// Package cloudflare calls Cloudflare's API for the operator's commands: with a token from the
// environment, as wrangler takes it, with calls made again where that is safe, and with errors that
// say what was done and what to do next.
//
// No error holds the API token.
package cloudflare

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"
)

// The variables that wrangler takes from its environment.
const (
	TokenVariable   = "CLOUDFLARE_API_TOKEN"
	AccountVariable = "CLOUDFLARE_ACCOUNT_ID"
	BaseVariable    = "CLOUDFLARE_API_BASE_URL"
)

// What stands in wrangler.toml by agreement: the names that the worker's code knows its store and
// its dataset by, and how the id of a database begins that is still to be made.
const (
	DatabaseBinding = "DB"
	DatasetBinding  = "OBSERVED"
	PlaceholderID   = "00000000-0000-0000-0000-"
)

const cloudflareAPI = "https://api.cloudflare.com/client/v4"

// longestCall is how long a call of the API may take. D1 ends a query after 30 seconds.
const longestCall = time.Minute

var accountID = regexp.MustCompile(`^[0-9A-Za-z_-]+$`)

// Client calls the API for one account. Several goroutines may use it at once.
type Client struct {
	HTTP    *http.Client
	Base    *url.URL // of the API
	Token   string
	Account string                               // its id
	Wait    func(context.Context, time.Duration) // between two tries
}

// New makes a client from the variables CLOUDFLARE_API_TOKEN and CLOUDFLARE_API_BASE_URL. Its error
// lists all faults of them. permission is what the token must allow, for that error. The client has
// no account yet: FindAccount gives it one.
func New(permission string) (*Client, error) {
	c := &Client{
		HTTP: &http.Client{
			Timeout: longestCall,
			// A redirect is no answer of the API, and the token is for the API alone.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		Wait: Pause,
	}
	var faults []error
	if c.Token = strings.TrimSpace(os.Getenv(TokenVariable)); c.Token == "" {
		faults = append(faults, fmt.Errorf("%s is not set (make an API token with the permission %s in Cloudflare's dashboard)", TokenVariable, permission))
	}
	if strings.ContainsFunc(c.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		faults = append(faults, fmt.Errorf("%s has characters that are in no token (copy it again)", TokenVariable))
	}
	text := os.Getenv(BaseVariable)
	if text == "" {
		text = cloudflareAPI
	}
	var err error
	c.Base, err = url.Parse(strings.TrimSuffix(text, "/"))
	if err != nil || c.Base.Host == "" || c.Base.Scheme != "https" && !(c.Base.Scheme == "http" && isLoopback(c.Base.Hostname())) {
		faults = append(faults, fmt.Errorf("%s is no https URL (leave it unset for Cloudflare's own API)", BaseVariable))
	}
	return c, errors.Join(faults...)
}

// isLoopback reports whether a host is this machine, so that the token does not leave it.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// ConfiguredAccount is the account that is named: in wrangler.toml or else, as wrangler has it too,
// in CLOUDFLARE_ACCOUNT_ID. It is "" where none is.
func ConfiguredAccount(inFile string) (string, error) {
	account := inFile
	if account == "" {
		account = strings.TrimSpace(os.Getenv(AccountVariable))
	}
	if account != "" && !accountID.MatchString(account) {
		return "", fmt.Errorf("wrangler.toml or %s has the account %q, which is no account id", AccountVariable, account)
	}
	return account, nil
}

// FindAccount sets the account: the configured one, or else the only one of the token.
func (c *Client) FindAccount(ctx context.Context, configured string) (err error) {
	if c.Account = configured; c.Account == "" {
		c.Account, err = c.onlyAccount(ctx)
	}
	return err
}

// Close lets go of the connections to the API.
func (c *Client) Close() { c.HTTP.CloseIdleConnections() }
