package deploy

import (
	"context"

	"anteroom/edge/worker/cloudflare"
)

// Permissions are what an API token needs to deploy, as Cloudflare's dashboard calls them.
const Permissions = permissionScripts + "; " + permissionD1 + "; " + permissionZone + "; " + permissionDNS

const (
	permissionScripts = "Account, Workers Scripts, Edit"
	permissionD1      = "Account, D1, Edit"
	permissionZone    = "Zone, Zone, Read"
	permissionDNS     = "Zone, DNS, Read"
)

// Site looks at the service from outside, as its callers do.
type Site interface {
	// Live asks what a host serves now. A host that no service answers on is no error.
	Live(ctx context.Context, host string) (*Live, error)
	// Smoke tests a host that was deployed, and waits until it serves this content. It gives what it
	// tested, in words, or an error that says what is not as it was deployed.
	Smoke(ctx context.Context, host string) (string, error)
}

// Live is what a host serves.
type Live struct {
	Answers     bool              // whether a service answers at all; the other members are of one that does
	Host        string            // what it calls its canonical host
	Content     string            // the version of its content
	ReceiptKey  string            // the public half of the key that it publishes, "" where none
	Signs       bool              // whether it has the secret half, as far as it says
	Documents   map[string]string // SHA-256 in hexadecimal of what it publishes, by path
	Regressions []Regression      // what would go backwards
}

// Regression is something that would go backwards with a deployment.
type Regression struct {
	Name string `json:"name"` // of the allowance that lets it happen
	Text string `json:"text"`
}

// Run is one deployment. Survey and then Do are called once each.
type Run struct {
	Plan   *Plan
	Client *cloudflare.Client // its account may be unset
	Site   Site
	Say    func(Step) // is told of each step as it ends

	zones map[string]zone // by custom domain
	steps []*work
}

// Survey finds out what is there, and which steps are to be done. It changes nothing.
func (r *Run) Survey(ctx context.Context) error { return nil }

// Steps are the steps of the deployment, in their order, and how far each is.
func (r *Run) Steps() []Step { return nil }

// Do does what is not done. Its error says which step failed, what is live now, what was changed,
// and how to go on.
func (r *Run) Do(ctx context.Context) error { return nil }

type zone struct{ ID, Name string }

type work struct {
	Step
	do func(ctx context.Context) (text string, err error)
}
