package cloudflare

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"
	"time"

	"anteroom/cmd/anteroom/internal/continuity"
	"anteroom/cmd/anteroom/internal/live"
	"anteroom/cmd/anteroom/internal/project"
	"anteroom/edge/native/receiptkey"
	"anteroom/edge/store/records"
	"anteroom/generator/output"
)

// allowDNS allows to move a host name from another place.
const allowDNS = "dns"

var Allowances = []string{
	continuity.AsOf, continuity.Board, continuity.Document, continuity.Key, continuity.Log, allowDNS,
}

type Deployment struct {
	Config      *Config
	Environment string
	Artifact    *output.Artifact
	Key         ed25519.PrivateKey // for receipts; nil keeps the worker's
	Webhook     string             // for messages to the operator; "" keeps the worker's
	Now         time.Time
	Allowances  []Allowance
	// Where D1 creates the database: a hint, or a binding choice. It can never be moved.
	Location, Jurisdiction string

	Wrangler *Wrangler
	Reach    func(host string) *live.Service
	Say      func(step, text string) // called after each step
	Waiting  func(what string)       // called while the live service is older
}

func (d *Deployment) host() string {
	if d.Environment == Apex {
		return ""
	}
	return d.Config.Host(d.Environment, d.Artifact.Snapshot)
}

// deployWait bounds the time until a deployed service shows its content everywhere. A new domain
// waits for its certificate, sometimes for minutes. Tests shorten it.
var deployWait = 5 * time.Minute

// Compare compares the artifact with wrangler.toml and with the live service. It changes nothing.
func (d *Deployment) Compare(ctx context.Context) error {
	if err := d.Config.Check(d.Artifact.Snapshot); err != nil {
		return err
	}
	if _, err := d.Config.environment(d.Environment); err != nil {
		return err
	}
	if err := d.checkArtifact(); err != nil {
		return err
	}
	if d.Environment != Production {
		return nil // no caller relies on it
	}
	host := d.host()
	published, err := d.Reach(host).Facts(ctx)
	if errors.Is(err, live.ErrNothing) {
		d.Say("continuity", "nothing is published at "+host+" yet")
		return nil
	}
	if err != nil {
		return err
	}
	next, err := continuity.FromFiles(d.Artifact.Files, d.Artifact.Snapshot)
	if err != nil {
		return err
	}
	found := continuity.Check(published, next)
	if key := d.Artifact.Snapshot.CurrentKey; key != "" && d.Key == nil && !slices.Contains(published.Keys, key) {
		found = append(found, continuity.Regression{
			Kind: continuity.Key, Hint: "give its secret half with --key-file",
			What: "public/ publishes the receipt key " + key + ", which the live service lacks",
		})
	}
	if err := refuse(found, d.Allowances); err != nil {
		return err
	}
	withdrawn := "nothing published at " + host + " is withdrawn"
	if len(found) > 0 {
		withdrawn = "as allowed, something published at " + host + " is withdrawn"
	}
	d.Say("continuity", withdrawn)
	return nil
}

func (d *Deployment) checkArtifact() error {
	if err := project.RefuseSeed(d.Artifact.Files, d.Key); err != nil {
		return err
	}
	if public := receiptkey.Public(d.Key); d.Key != nil && public != d.Artifact.Snapshot.CurrentKey {
		return fmt.Errorf("public/ does not publish the receipt key as the current one: its public half is %s "+
			"(give the secret of receipt_keys.current, or list this one there and run anteroom generate; anteroom "+
			"doctor compares them)", public)
	}
	expires := output.SecurityTxtExpires(d.Artifact.File(output.SecurityTxtPath))
	if expired, notice := project.Expiry(expires, d.Now); expired {
		return errors.New(notice)
	}
	return nil
}

func (d *Deployment) environments() []string {
	if _, has := d.Config.env[Apex]; has && d.Environment == Production && d.Artifact.Snapshot.ApexHost != "" {
		return []string{Production, Apex}
	}
	return []string{d.Environment}
}

func (d *Deployment) DryRun(ctx context.Context) error {
	for _, name := range d.environments() {
		said, err := d.Wrangler.in(ctx, name, "deploy", "--dry-run")
		if err != nil {
			return err
		}
		d.Say("dry run", name+":\n"+strings.TrimSpace(said))
	}
	if id, name := d.database(); strings.HasPrefix(id, placeholderID) {
		d.Say("database", "D1 database "+name+" would be found or created")
	}
	return nil
}

// Run creates the database, applies migrations, deploys each environment, and inspects the result.
// The next run skips finished steps.
func (d *Deployment) Run(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		d.checkDomains, d.createDatabase, d.migrate, d.checkStore, d.deploy, d.inspect,
	} {
		if err := step(ctx); err != nil {
			return errors.Join(err, errors.New("deploy stopped (run the command again: it carries on; anteroom status "+
				"shows the live service)"))
		}
	}
	return nil
}

// lookup finds the addresses of a host. Tests replace it.
var lookup = net.DefaultResolver.LookupHost

// noWorker matches wrangler's output for a worker that does not exist. A path or an account may
// contain the same digits.
var noWorker = regexp.MustCompile(`\[code: (10007|10090)\]`)

// checkDomains refuses to take over a host name that resolves to another place: without a terminal
// wrangler would not ask.
func (d *Deployment) checkDomains(ctx context.Context) error {
	for _, name := range d.environments() {
		if _, err := d.Wrangler.in(ctx, name, "deployments", "list", "--json"); err == nil {
			continue // the worker has its domains
		} else if !noWorker.MatchString(err.Error()) {
			return err
		}
		e, _ := d.Config.environment(name)
		for _, host := range e.domains() {
			if found, err := lookup(ctx, host); err == nil && len(found) > 0 {
				what := fmt.Sprintf("%s resolves to %s, and would be moved to the new worker %s", host,
					strings.Join(found, ", "), e.Name)
				if err := refuse([]continuity.Regression{{Kind: allowDNS, What: what}}, d.Allowances); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (d *Deployment) database() (id, name string) {
	e, _ := d.Config.environment(d.Environment) // Compare has checked it
	return e.database()
}

func (d *Deployment) createDatabase(ctx context.Context) error {
	placeholder, name := d.database()
	if !strings.HasPrefix(placeholder, placeholderID) {
		return nil
	}
	e, _ := d.Config.environment(d.Environment)
	c, err := connect(ctx, e.Account)
	if err != nil {
		return err
	}
	id, err := c.findDatabase(ctx, name)
	if err != nil {
		return err
	}
	done := "found"
	if id == "" && d.Location == "" && d.Jurisdiction == "" {
		return fmt.Errorf("D1 database %s does not exist, and can never be moved (choose its place: "+
			"--location %s, or --jurisdiction %s)", name, strings.Join(LocationNames, "|"), strings.Join(JurisdictionNames, "|"))
	} else if id == "" {
		done = "created"
		if id, err = c.createDatabase(ctx, name, d.Location, d.Jurisdiction); err != nil {
			return err
		}
	}
	if !uuid.MatchString(id) {
		return fmt.Errorf("create D1 database %s: invalid id %.60q", name, id)
	}
	if err := d.Config.setDatabaseID(placeholder, id); err != nil {
		return err
	}
	d.Say("database", fmt.Sprintf("%s D1 database %s, and wrote its id %s into %s", done, name, id, d.Config.Path))
	return nil
}

func (d *Deployment) migrate(ctx context.Context) error {
	if id, _ := d.database(); id == "" {
		return nil
	}
	if _, err := d.Wrangler.in(ctx, d.Environment, "d1", "migrations", "apply", databaseBinding, "--remote"); err != nil {
		return err
	}
	d.Say("migrations", "the database has all")
	return nil
}

// checkStore refuses content that verified another store. Other environments have separate stores.
func (d *Deployment) checkStore(ctx context.Context) error {
	want := d.Artifact.Snapshot.Store
	if d.Environment != Production || want == "" {
		return nil
	}
	store, err := d.Config.Open(ctx, d.Environment)
	if err != nil {
		return err
	}
	defer store.Close()
	extent, err := records.Measure(ctx, store, nil)
	if err == nil && extent.Store != want {
		err = fmt.Errorf("wrong store %s: got %s, verifications belong to %s "+
			"(bring its records there, as to move a service; if they are gone for good, anteroom publish --new-store)",
			store.Name(), extent.Store, want)
	}
	return err
}

func (d *Deployment) deploy(ctx context.Context) error {
	note, err := d.note()
	if err != nil {
		return err
	}
	for _, name := range d.environments() {
		secrets := map[string]string{}
		if d.Key != nil && name != Apex {
			secrets["RECEIPT_KEY"] = receiptkey.Prefix + base64.StdEncoding.EncodeToString(d.Key.Seed())
		}
		if d.Webhook != "" && name != Apex {
			secrets["RELAY_WEBHOOK"] = d.Webhook
		}
		if err := d.Wrangler.deploy(ctx, name, note, secrets); err != nil {
			return err
		}
		d.Say("deployed", name+": "+note)
	}
	return nil
}

func (d *Deployment) inspect(ctx context.Context) error {
	host := d.host()
	if host == "" {
		return nil
	}
	report, err := d.Reach(host).Inspect(ctx, d.Artifact, live.Options{Wait: deployWait, Waiting: d.Waiting})
	if err != nil {
		return err
	}
	var faults, passed []string
	for _, check := range report.Checks {
		switch {
		case check.Status == live.OK:
			passed = append(passed, check.Name)
		case check.Status == live.Differs && check.Name != live.PlainHTTP: // a setting of the zone
			for _, difference := range check.Differences {
				faults = append(faults, fmt.Sprintf("%s: %s %s", check.Name, difference.Path, difference.What))
			}
		case check.Status != live.Skipped:
			d.Waiting(check.Name + ": " + check.Detail)
		}
	}
	if len(faults) > 0 {
		return fmt.Errorf("%s differs from the deployed files (wrangler rollback brings back the previous version):\n%s",
			host, strings.Join(faults, "\n"))
	}
	d.Say("live", host+": "+strings.Join(passed, ", "))
	return nil
}
