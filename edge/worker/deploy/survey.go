package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"anteroom/edge/store/migrations"
	"anteroom/edge/worker/cloudflare"
)

// state is what there is of a worker.
type state struct {
	*Worker
	exists        bool
	deployment    *Deployment // the latest, nil where there is none
	version       Version     // that answers, of the deployment
	secret        bool        // whether that version has a receipt key
	observability map[string]any
	subdomain     subdomain
	crons         []string
	taken         map[string]string // custom domains that lead elsewhere: what to, by host
	own           map[string]bool   // custom domains that lead here

	fresh     bool   // whether a new version is to be deployed
	assetsJWT string // of a completed upload
	uploaded  string // the version that was uploaded
}

// Survey finds out what is there, and what is to be done. It changes nothing. Its error lists all
// that stands in the way; Serving says what is live, as far as that was found out.
func (r *Run) Survey(ctx context.Context) error {
	if err := r.Client.FindAccount(ctx, r.Plan.account); err != nil {
		return err
	}
	if r.Zones == nil {
		r.Zones = map[string]*Zone{}
	}
	var domains []domain
	asks := []func() error{func() (err error) { domains, err = r.api().domains(ctx); return err }}
	for _, w := range r.Plan.Workers {
		s := &state{Worker: w, taken: map[string]string{}, own: map[string]bool{}}
		r.states = append(r.states, s)
		for _, host := range w.Hosts {
			asks = append(asks, func() error { return r.surveyHost(ctx, s, host, domains) })
		}
		asks = append(asks, func() error { return r.surveyOtherHosts(s, domains) })
		asks = append(asks, func() error { return r.surveyWorker(ctx, s) })
		if w.Settings.WorkersDev {
			asks = append(asks, func() (err error) { r.accountHost, err = r.api().accountSubdomain(ctx); return err })
		}
	}
	if err := every(append(asks, func() error { return r.surveyDatabase(ctx) }, r.surveyRecords)...); err != nil {
		return err
	}
	if err := r.surveySite(ctx); err != nil {
		return err
	}
	for _, s := range r.states[1:] {
		s.fresh = s.deployment == nil || s.version.Annotations.Tag != s.tag(unknownKey)
	}
	r.arrange()
	return nil
}

// every asks all questions, and gives the faults of all. Where Cloudflare does not answer one it
// asks no other.
func every(asks ...func() error) error {
	var faults []error
	for _, ask := range asks {
		err := ask()
		faults = append(faults, err)
		var failed *cloudflare.Failure
		if errors.Is(err, context.Canceled) || errors.As(err, &failed) &&
			(failed.Status == 0 || failed.Status == http.StatusTooManyRequests || failed.Status >= http.StatusInternalServerError) {
			break
		}
	}
	return errors.Join(faults...)
}

// surveyWorker finds out what there is of a worker.
func (r *Run) surveyWorker(ctx context.Context, s *state) error {
	list, exists, err := r.api().deployments(ctx, s.Name)
	if s.exists = exists; err == nil && len(list) == 0 && s == r.states[0] {
		r.serving = nothing
	}
	if err != nil || !exists {
		return err
	}
	return every(
		func() (err error) {
			if len(list) == 0 {
				return nil
			}
			s.deployment = &list[0]
			if n := len(s.deployment.Versions); n != 1 {
				if s == r.states[0] {
					r.serving = fmt.Sprintf("%d versions of %s, as before", n, s.Name)
				}
				return fmt.Errorf("a deployment of %s is under way: %d versions share its requests since %s (finish it where it was begun, "+
					"or give one of them all requests with wrangler versions deploy)", s.Name, n, since(s.deployment))
			}
			s.version, err = r.api().version(ctx, s.Name, s.deployment.Versions[0].ID)
			if s.secret = slices.Contains(s.version.secrets(), receiptKey); err == nil && s == r.states[0] {
				r.serving = describe(s) + ", as before"
			}
			return err
		},
		func() error {
			got, _, err := r.api().settings(ctx, s.Name)
			s.observability = got.Observability
			return err
		},
		func() (err error) { s.subdomain, err = r.api().subdomain(ctx, s.Name); return err },
		func() (err error) { s.crons, err = r.api().crons(ctx, s.Name); return err },
	)
}

// since says when a deployment was made, and by whom.
func since(d *Deployment) string {
	text := d.CreatedOn.UTC().Format("2006-01-02 15:04:05") + " UTC"
	if d.Author != "" {
		text += " by " + d.Author
	}
	return text
}

// surveyOtherHosts refuses to deploy to a worker that answers at hosts that wrangler.toml has not:
// their callers would get a content that is not theirs.
func (r *Run) surveyOtherHosts(s *state, domains []domain) error {
	var others []string
	for _, d := range domains {
		if d.Service == s.Name && !slices.Contains(s.Hosts, d.Hostname) {
			others = append(others, d.Hostname)
		}
	}
	if a := r.allowed(AllowDNS); len(others) > 0 && a != nil {
		r.used(*a)
	} else if len(others) > 0 {
		return fmt.Errorf("the worker %s is live at %s, which wrangler.toml does not lead to it (give the worker of this content another name, or remove that domain in the dashboard; "+
			"--allow %s --reason TEXT leaves it there)", s.Name, strings.Join(others, ", "), AllowDNS)
	}
	return nil
}

// surveyHost finds out where a custom domain leads, and in which zone it is.
func (r *Run) surveyHost(ctx context.Context, s *state, host string, domains []domain) error {
	zone, err := r.findZone(ctx, host)
	if err != nil {
		return err
	}
	r.Zones[host] = zone
	switch i := slices.IndexFunc(domains, func(d domain) bool { return d.Hostname == host }); {
	case i >= 0 && domains[i].Service == s.Name:
		s.own[host] = true
		return nil
	case i >= 0:
		s.taken[host] = "the worker " + domains[i].Service
	default:
		records, err := r.api().records(ctx, zone.ID, host)
		if err != nil {
			return err
		}
		var list []string
		for _, record := range records {
			list = append(list, record.Type+" "+record.Content)
		}
		if len(list) > 0 {
			s.taken[host] = strings.Join(list, ", ")
		}
	}
	if to, a := s.taken[host], r.allowed(AllowDNS); to != "" && a != nil {
		r.used(*a)
	} else if to != "" {
		return fmt.Errorf("%s leads to %s, which the domain of %s would replace (look whether that may go: --allow %s --reason TEXT)", host, to, s.Name, AllowDNS)
	}
	return nil
}

// findZone finds the zone that a host is in: that of the longest name.
func (r *Run) findZone(ctx context.Context, host string) (*Zone, error) {
	for name := host; strings.Contains(name, "."); _, name, _ = strings.Cut(name, ".") {
		for _, known := range r.Zones {
			if known.Name == name {
				return known, nil
			}
		}
		zone, err := r.api().zone(ctx, name)
		switch {
		case err != nil:
			return nil, err
		case zone == nil:
			continue
		case zone.Account.ID != "" && zone.Account.ID != r.Client.Account:
			return nil, fmt.Errorf("the zone %s is in the account %s, and not in %s (name the right one in %s)", name, zone.Account.ID, r.Client.Account, cloudflare.AccountVariable)
		case zone.Status != "active":
			return nil, fmt.Errorf("the zone %s is %q, not active (give its registrar Cloudflare's name servers, and wait for them)", name, zone.Status)
		}
		return zone, nil
	}
	return nil, fmt.Errorf("the account %s has no zone for %s (add the domain to Cloudflare, or let the token see its zone)", r.Client.Account, host)
}

// surveyDatabase finds the database, and which migrations it lacks.
func (r *Run) surveyDatabase(ctx context.Context) error {
	db := r.Plan.Database
	if db == nil {
		return nil
	}
	if strings.HasPrefix(db.ID, cloudflare.PlaceholderID) {
		if _, err := r.Plan.source.File.withDatabaseID(db.ID, db.ID); err != nil {
			return err
		}
		id, err := r.api().database(ctx, db.Name)
		if err != nil {
			return err
		}
		r.Plan.Missing = r.Plan.Migrations
		if id == "" {
			return nil
		}
		r.foundID = id
	}
	missing, err := r.missingMigrations(ctx)
	r.Plan.Missing = append([]string{}, missing...)
	return err
}

// surveyRecords refuses another database than that of the version that is live.
func (r *Run) surveyRecords() error {
	db, live := r.Plan.Database, r.states[0].version
	if db == nil || live.database() == "" || live.database() == r.databaseID() {
		return nil
	}
	if a := r.allowed(AllowDatabase); a != nil {
		r.used(*a)
		return nil
	}
	to := fmt.Sprintf("%s, %s", db.Name, r.databaseID())
	if strings.HasPrefix(r.databaseID(), cloudflare.PlaceholderID) {
		to = db.Name + ", which is to be made"
	}
	return fmt.Errorf("version %.8s, which is live, keeps its records in the D1 database %s, and the next one would keep them in %s: none of them would be seen there "+
		"(put the id of the first into %s; --allow %s --reason TEXT changes the database)", live.ID, live.database(), to, filepath.Base(r.Plan.source.File.path), AllowDatabase)
}

// missingMigrations are the migrations that the database lacks. Its error says so where the
// database has one that this program does not know.
func (r *Run) missingMigrations(ctx context.Context) ([]string, error) {
	what := "read which migrations the D1 database " + r.Plan.Database.Name + " has"
	rows, err := r.api().sql(ctx, cloudflare.Purpose{What: what}, r.databaseID(), migrations.Select)
	var refused *cloudflare.Failure
	if errors.As(err, &refused) && strings.Contains(refused.Said(), "no such table: "+migrations.Table) {
		rows, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	missing, err := migrations.Missing(rows)
	if err != nil {
		err = fmt.Errorf("check the D1 database %s: %w", r.Plan.Database.Name, err)
	}
	return missing, err
}

// databaseID is the id of the database as far as it is known.
func (r *Run) databaseID() string {
	if r.foundID != "" {
		return r.foundID
	}
	return r.Plan.Database.ID
}

// surveySite finds out whether the receipt key has to be sent, and whether there is anything new.
// It compares what is new with what is live.
func (r *Run) surveySite(ctx context.Context) error {
	service, source := r.states[0], r.Plan.source
	if !service.service {
		service.fresh = service.deployment == nil || service.version.Annotations.Tag != service.tag(unknownKey)
		return nil
	}
	r.live = &Live{}
	host := source.Facts.CanonicalHost
	leads := source.Environment == Production && (service.own[host] || service.taken[host] != "")
	var unknown error
	if leads {
		live, err := r.Site.Live(ctx, host)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			r.live = live
			if published := release(service.version); !live.Answers && service.own[host] && published.Content != "" {
				unknown = fmt.Errorf("compare with what is live at %s: %s is live there, and nothing answers (look whether this machine finds the host, and wait where its domain is new)", host, &published)
			}
		case service.own[host]: // what it replaces elsewhere was allowed to go
			unknown = fmt.Errorf("compare with what is live at %s: %w", host, err)
		}
	}
	if err := r.surveyKey(service); err != nil {
		return err
	}
	service.fresh = service.deployment == nil || r.sendsKey || service.version.Annotations.Tag != service.tag(r.key)
	if !service.fresh {
		return nil
	}
	if unknown != nil {
		a := r.allowed(allowDocument)
		if a == nil {
			return fmt.Errorf("%w (where it is broken, --allow %s --reason TEXT deploys without the comparison)", unknown, allowDocument)
		}
		r.used(*a)
	}
	if source.Environment == Production && service.own[host] {
		return errors.Join(r.compare(host), r.compareNotes(service))
	}
	return r.compare(host)
}

// compareNotes refuses a date of the newest board that goes back, as the live version notes it: a
// host may serve an older one from a cache.
func (r *Run) compareNotes(service *state) error {
	published := release(service.version)
	if r.Plan.source.AsOf >= published.AsOf || slices.ContainsFunc(r.live.Regressions, func(g Regression) bool { return g.Name == AllowAsOf }) {
		return nil
	}
	return r.refuse(Regression{AllowAsOf, fmt.Sprintf("%s is live, and the content is as of %s", &published, cmp.Or(r.Plan.source.AsOf, "no date"))})
}

// surveyKey finds out whether the worker has the secret half of the key that the content publishes,
// and whether the next version has to bring it. The tag of a version says which key went with it.
func (r *Run) surveyKey(service *state) error {
	source := r.Plan.source
	wanted := keyTag(source.Facts.ReceiptKey)
	fits := service.secret && keyOf(service.version) == wanted
	if r.live.Answers && r.live.ReceiptKey == source.Facts.ReceiptKey {
		fits = service.secret && r.live.Signs
	}
	r.key = unknownKey
	if fits || source.Key != "" {
		r.key = wanted
	}
	publishes := source.Facts.ReceiptKey != ""
	switch {
	case source.Key != "":
		r.sendsKey = !fits
	case !publishes || fits:
	case r.allowed(AllowKey) != nil && (!service.secret || r.live.Answers && r.live.ReceiptKey != source.Facts.ReceiptKey):
		r.used(*r.allowed(AllowKey))
	case !service.secret:
		return fmt.Errorf("the content publishes the receipt key %s, and the worker %s has the secret half of none (give it with --key-file)", source.Facts.ReceiptKey, service.Name)
	case r.live.Answers && r.live.ReceiptKey != source.Facts.ReceiptKey:
		return fmt.Errorf("the content publishes the receipt key %s, and the live service has that of %s: it would mint no receipt (give the secret half with --key-file)",
			source.Facts.ReceiptKey, cmp.Or(r.live.ReceiptKey, "none"))
	}
	return nil
}

// keyOf is what the tag of a version says of its receipt key.
func keyOf(v Version) string {
	_, key, _ := strings.Cut(v.Annotations.Tag, tagSeparator)
	return key
}

// compare refuses what would go backwards at a host, but for what the operator allows.
func (r *Run) compare(host string) error {
	if !r.live.Answers {
		return nil
	}
	if r.live.Host != host {
		return fmt.Errorf("%s is the host of another service, which calls itself %s (deploy this content at a host of its own)", host, cmp.Or(r.live.Host, "nothing"))
	}
	var faults []error
	for _, regression := range r.live.Regressions {
		faults = append(faults, r.refuse(regression))
	}
	return errors.Join(faults...)
}

// refuse is the error of a regression, nil where the operator lets it happen.
func (r *Run) refuse(regression Regression) error {
	if a := r.allowed(regression.Name); a != nil {
		r.used(*a)
		return nil
	}
	text, evidence, more := strings.Cut(regression.Text, "\n")
	if more {
		evidence = "\n" + evidence
	}
	return fmt.Errorf("%s: %s (--allow %s --reason TEXT lets it happen)%s", regression.Name, text, regression.Name, evidence)
}

// allowed gives the operator's allowance of this name, nil where there is none.
func (r *Run) allowed(name string) *Allowance {
	for i := range r.Plan.Allowances {
		if r.Plan.Allowances[i].Name == name {
			return &r.Plan.Allowances[i]
		}
	}
	return nil
}

// used notes an allowance without which the deployment would not go on.
func (r *Run) used(a Allowance) {
	if !slices.Contains(r.Used, a) {
		r.Used = append(r.Used, a)
	}
}
