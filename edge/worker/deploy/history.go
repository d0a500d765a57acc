package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"anteroom/edge/worker/cloudflare"

	"github.com/cloudflare/cloudflare-go/v6/workers"
)

// Names of what a rollback may take back only with the operator's allowance, beside AllowKey and
// AllowDatabase. The first is that of a deployment too.
const (
	AllowAsOf     = "as_of"    // the date of the newest board goes back
	AllowUnknown  = "unknown"  // nobody knows what a version publishes
	AllowUnderWay = "underway" // somebody else may be deploying
)

// RollbackAllowances are all of them.
var RollbackAllowances = []string{AllowAsOf, AllowKey, AllowDatabase, AllowUnknown, AllowUnderWay}

// What an API token needs to read what was deployed, and to deploy it again.
const (
	PermissionHistory  = "Account, Workers Scripts, Read"
	PermissionRollback = permissionScripts
)

// longestDeployment is how long after an upload its deployment may still come.
const longestDeployment = 10 * time.Minute

// oldestVersions is how many versions a rollback reaches, says Cloudflare.
const oldestVersions = 100

// shortID is how many characters name a version for people.
const shortID = 8

// History is what was deployed of a worker.
type History struct {
	Environment string     `json:"environment"`
	Worker      string     `json:"worker"`
	Hosts       []string   `json:"hosts"`
	Deployments []Deployed `json:"deployments"` // the newest first; Cloudflare tells the latest ten
	Versions    []Release  `json:"versions"`    // that can be deployed again, the newest first

	client *cloudflare.Client
}

// Deployed is a time at which versions began to answer.
type Deployed struct {
	ID      string    `json:"id"`
	On      time.Time `json:"on"`
	By      string    `json:"by"`      // who, "" where that is not said
	Source  string    `json:"source"`  // with what
	Message string    `json:"message"` // what was said, and why
	Live    bool      `json:"live"`
	Release Release   `json:"version"` // the one with most requests
	Shares  int       `json:"shares"`  // how many versions share the requests
}

// Release is a version of the worker: what it publishes, as far as anteroom deploy noted it.
type Release struct {
	ID       string    `json:"id"`
	Number   int       `json:"number"`
	Uploaded time.Time `json:"uploaded"`
	Content  string    `json:"content"` // version of the content, "" where it is not known
	AsOf     string    `json:"as_of"`   // date of its newest board, "" where it is not known
	Message  string    `json:"message"`

	key string // what its tag says of the receipt key, "" where nothing
}

// Note is what was said of a deployment beside what it publishes: why, and what was allowed.
func (d *Deployed) Note() string {
	said := strings.Replace(d.Message, contentText(d.Release.Content, d.Release.AsOf), "", 1)
	said = strings.ReplaceAll(said, rollbackNote+" to ;", rollbackNote+";")
	return strings.Trim(strings.TrimSuffix(said, " to "), "; ")
}

// rollbackNote begins what a rollback says of itself.
const rollbackNote = "rollback"

// Short names a release for people.
func (r *Release) Short() string { return r.ID[:min(shortID, len(r.ID))] }

// String names a release with what it publishes.
func (r *Release) String() string {
	text := "version " + r.Short()
	if r.Content != "" {
		text += ", content " + r.Content
	}
	if r.AsOf != "" {
		text += ", as of " + r.AsOf
	}
	return text
}

// noted is what a version says of its content: see contentText.
var noted = regexp.MustCompile(`^content ([0-9a-f]+)(?:, as of ([0-9]{4}-[0-9]{2}-[0-9]{2}))?(?:;|$)`)

// contentText says what content a version publishes.
func contentText(content, asOf string) string {
	text := "content " + content
	if asOf != "" {
		text += ", as of " + asOf
	}
	return text
}

// release reads what a version says of itself.
func release(v Version) Release {
	r := Release{ID: v.ID, Number: v.Number, Uploaded: v.Metadata.CreatedOn, Message: v.Annotations.Message}
	if match := noted.FindStringSubmatch(v.Annotations.Message); match != nil {
		r.Content, r.AsOf = match[1], match[2]
	}
	if _, key, tagged := strings.Cut(v.Annotations.Tag, tagSeparator); tagged {
		r.key = key
	}
	return r
}

// Worker is the name of the worker of an environment.
func (f *File) Worker(environment string) (string, error) {
	e, err := f.environment(environment)
	return e.Name, err
}

// ReadHistory asks what was deployed of the worker of an environment.
func ReadHistory(ctx context.Context, file *File, environment string, client *cloudflare.Client) (*History, error) {
	e, err := file.environment(environment)
	if err != nil {
		return nil, err
	}
	account, err := e.account()
	if err != nil {
		return nil, err
	}
	if err := client.FindAccount(ctx, account); err != nil {
		return nil, err
	}
	h := &History{Environment: environment, Worker: e.Name, Hosts: e.hosts(), Deployments: []Deployed{}, Versions: []Release{}, client: client}
	return h, h.read(ctx)
}

func (h *History) read(ctx context.Context) error {
	a := api{h.client}
	list, exists, err := a.deployments(ctx, h.Worker)
	if err != nil {
		return err
	}
	if !exists {
		return fmt.Errorf("the account %s has no worker %s (anteroom deploy makes it)", h.client.Account, h.Worker)
	}
	versions, err := a.versions(ctx, h.Worker)
	if err != nil {
		return err
	}
	byID := map[string]Release{}
	for _, v := range versions {
		r := release(v)
		byID[r.ID] = r
		h.Versions = append(h.Versions, r)
	}
	slices.SortStableFunc(h.Versions, func(a, b Release) int { return cmp.Compare(b.Number, a.Number) })
	for i, d := range list {
		one := Deployed{ID: d.ID, On: d.CreatedOn, By: d.Author, Source: cmp.Or(d.Source, "unknown"), Message: d.Annotations.Message, Live: i == 0, Shares: len(d.Versions)}
		if trigger := d.Annotations.TriggeredBy; trigger != "" {
			one.Source += ", " + trigger
		}
		most := 0.0
		for _, share := range d.Versions {
			if share.Percentage > most {
				most, one.Release.ID = share.Percentage, share.ID
			}
		}
		if known, is := byID[one.Release.ID]; is {
			one.Release = known
		}
		h.Deployments = append(h.Deployments, one)
	}
	return nil
}

// versions are the versions of a worker that can be deployed.
func (a api) versions(ctx context.Context, worker string) ([]Version, error) {
	var p workers.ScriptVersionListParams
	set(&p.AccountID.Value, &p.AccountID.Present, a.Account)
	set(&p.Deployable.Value, &p.Deployable.Present, true)
	service := workers.NewScriptVersionService(a.Options()...)
	var result struct {
		Items []Version `json:"items"`
	}
	err := a.call(ctx, cloudflare.Purpose{What: "read the versions of " + worker, Permission: permissionScripts}, &result, named(ctx, service.List, worker, p))
	return result.Items, err
}

// Rollback is a rollback that is planned.
type Rollback struct {
	From, To  Release
	Backwards []Regression // what it would take back, each with the name of its allowance

	h        *History
	expected string // the deployment that is live
}

// Plan plans a rollback to the version that an identifier, or the beginning of one, names. "" is
// the latest version before the live one that was deployed by this program.
func (h *History) Plan(ctx context.Context, id string, now time.Time) (*Rollback, error) {
	if len(h.Deployments) == 0 {
		return nil, fmt.Errorf("nothing of %s is deployed (anteroom deploy does that)", h.Worker)
	}
	live := &h.Deployments[0]
	if live.Shares != 1 {
		return nil, fmt.Errorf("a deployment of %s is under way: %d versions share its requests (finish it where it was begun)", h.Worker, live.Shares)
	}
	to, err := h.find(id, &live.Release)
	if err != nil {
		return nil, err
	}
	if to.ID == live.Release.ID {
		return nil, fmt.Errorf("version %s is live already", to.Short())
	}
	r := &Rollback{From: live.Release, To: *to, h: h, expected: live.ID}
	r.compare(now)
	return r, r.compareDatabases(ctx)
}

// find finds a version.
func (h *History) find(id string, live *Release) (*Release, error) {
	var found []*Release
	for i := range h.Versions {
		v := &h.Versions[i]
		switch {
		case id != "" && strings.HasPrefix(v.ID, id):
			found = append(found, v)
		case id == "" && v.Content != "" && v.Number < live.Number && h.wasDeployed(v.ID):
			return v, nil
		}
	}
	switch {
	case id == "":
		return nil, fmt.Errorf("before the live version of %s no other was deployed by anteroom (anteroom deployments lists the versions; name one)", h.Worker)
	case len(found) == 0:
		return nil, fmt.Errorf("%q is none of the versions that can be deployed again, which are the latest %d (anteroom deployments lists them; "+
			"to go back further, deploy an older content with anteroom deploy)", id, oldestVersions)
	case len(found) > 1:
		return nil, fmt.Errorf("%q begins %d versions (give more of it)", id, len(found))
	}
	return found[0], nil
}

// wasDeployed reports whether a version was deployed, as far as is known: of versions before the
// deployments that Cloudflare tells it is taken to be so.
func (h *History) wasDeployed(id string) bool {
	oldest := 0
	for _, d := range h.Deployments {
		if d.Release.ID == id {
			return true
		}
		oldest = d.Release.Number
	}
	i := slices.IndexFunc(h.Versions, func(v Release) bool { return v.ID == id })
	return h.Versions[i].Number < oldest
}

// compare finds what a rollback would take back.
func (r *Rollback) compare(now time.Time) {
	say := func(name, format string, args ...any) {
		r.Backwards = append(r.Backwards, Regression{Name: name, Text: fmt.Sprintf(format, args...)})
	}
	latest := &r.h.Versions[0]
	if since := now.Sub(latest.Uploaded); latest.Number > r.From.Number && since < longestDeployment && !r.h.wasDeployed(latest.ID) {
		say(AllowUnderWay, "version %s was uploaded %d seconds ago and is not live: a deployment may be under way (wait until it is done)", latest.Short(), int(since.Seconds()))
	}
	for _, v := range []*Release{&r.From, &r.To} {
		if v.Content == "" || v.AsOf == "" {
			say(AllowUnknown, "what version %s publishes is not known: anteroom deploy did not make it", v.Short())
		}
	}
	if r.From.AsOf != "" && r.To.AsOf != "" && r.To.AsOf < r.From.AsOf {
		say(AllowAsOf, "the newest board would be of %s, and is of %s now", r.To.AsOf, r.From.AsOf)
	}
	known := r.From.Content != "" && r.To.Content != ""
	if known && r.From.key != r.To.key && r.From.key != unknownKey {
		say(AllowKey, "version %s publishes another receipt key than the live one: receipts that were signed since would verify no more", r.To.Short())
	}
}

// compareDatabases finds out whether the versions keep their records in different databases.
func (r *Rollback) compareDatabases(ctx context.Context) error {
	var ids [2]string
	for i, release := range []*Release{&r.From, &r.To} {
		v, err := api{r.h.client}.version(ctx, r.h.Worker, release.ID)
		if err != nil {
			return err
		}
		ids[i] = v.database()
	}
	if ids[0] != ids[1] {
		r.Backwards = append(r.Backwards, Regression{Name: AllowDatabase, Text: fmt.Sprintf("version %s keeps its records in the D1 database %s, and the live one in %s: none of those would be seen",
			r.To.Short(), cmp.Or(ids[1], "none"), cmp.Or(ids[0], "none"))})
	}
	return nil
}

// Keeps says what a rollback leaves as it is.
func (r *Rollback) Keeps() string {
	return "the database stays as it is, with its migrations; so do the cron, the domains, workers.dev and what is logged"
}

// Refusal is why a rollback is not to be done with these allowances, nil where it may be.
func (r *Rollback) Refusal(allowed []Allowance) error {
	var faults []error
	for _, b := range r.Backwards {
		if !slices.ContainsFunc(allowed, func(a Allowance) bool { return a.Name == b.Name }) {
			faults = append(faults, fmt.Errorf("%s: %s (--allow %s --reason TEXT lets it happen)", b.Name, b.Text, b.Name))
		}
	}
	return errors.Join(faults...)
}

// Do deploys the version again, unless somebody else has deployed since the history was read.
func (r *Rollback) Do(ctx context.Context, reason string, allowed []Allowance) error {
	if err := r.Refusal(allowed); err != nil {
		return err
	}
	a := api{r.h.client}
	list, _, err := a.deployments(ctx, r.h.Worker)
	if err != nil {
		return err
	}
	if len(list) == 0 || list[0].ID != r.expected {
		return r.stopped(ctx, fmt.Errorf("another deployment of %s came in between (look at anteroom deployments, and decide again)", r.h.Worker))
	}
	message := rollbackNote
	if r.To.Content != "" {
		message += " to " + contentText(r.To.Content, r.To.AsOf)
	}
	if reason != "" {
		message += "; " + reason
	}
	// Cloudflare refuses a version with another secret, of which the allowance speaks.
	force := false
	var names []string // the reason stands before them
	for _, a := range allowed {
		forces := a.Name == AllowKey || a.Name == AllowUnknown
		force = force || forces
		needed := forces || slices.ContainsFunc(r.Backwards, func(b Regression) bool { return b.Name == a.Name })
		if needed && !slices.Contains(names, a.Name) {
			names = append(names, a.Name)
		}
	}
	if len(names) > 0 {
		message += "; allowed " + strings.Join(names, ", ")
	}
	// An interrupt does not end the call, which may be done all the same.
	err = a.deploy(context.WithoutCancel(ctx), r.h.Worker, r.To.ID, message, force)
	var failed *cloudflare.Failure
	if errors.As(err, &failed) && failed.Has(codeSecretsChanged) {
		err = fmt.Errorf("%w (its secret is not the one of now: --allow %s --reason TEXT deploys it all the same)", err, AllowKey)
	}
	if err != nil {
		return r.stopped(ctx, err)
	}
	return nil
}

// stopped adds to an error what is live now. It is nil where the rollback was done and only its
// answer was lost.
func (r *Rollback) stopped(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), longestLook)
	defer cancel()
	list, _, unknown := api{r.h.client}.deployments(ctx, r.h.Worker)
	var failed *cloudflare.Failure
	switch {
	case unknown != nil || len(list) == 0:
		return fmt.Errorf("%w\nlive now: %s or %s: Cloudflare does not say", err, &r.From, &r.To)
	case list[0].ID == r.expected:
		return fmt.Errorf("%w\nlive now: %s, as before", err, &r.From)
	case errors.As(err, &failed) && !failed.Undone && isOf(&list[0], r.To.ID):
		return nil
	}
	return fmt.Errorf("%w\nlive now: %s", err, deployedSince(&list[0]))
}

// deployedSince names what somebody deployed.
func deployedSince(d *Deployment) string {
	var versions []string
	for _, share := range d.Versions {
		versions = append(versions, fmt.Sprintf("%.*s", shortID, share.ID))
	}
	text := fmt.Sprintf("version %s, deployed since on %s", strings.Join(versions, " and "), since(d))
	if message := d.Annotations.Message; message != "" {
		text += " (" + message + ")"
	}
	return text
}

// isOf reports whether a deployment is that of one version.
func isOf(d *Deployment, version string) bool {
	return version != "" && len(d.Versions) == 1 && d.Versions[0].ID == version
}
