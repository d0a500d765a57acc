package deploy

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"anteroom/edge/endpoint/health"
	"anteroom/edge/worker/cloudflare"

	"github.com/BurntSushi/toml"
)

// Environments of wrangler.toml with a meaning of their own. Every other one is the same service
// as production, with a store of its own.
const (
	Production = "production" // the service at its canonical host
	Apex       = "apex"       // the worker that redirects the bare domain
)

// The names that the worker's code knows its bindings by, beside those of package cloudflare.
const (
	assetsBinding = "ASSETS"
	mailBinding   = "EMAIL"
	limitBinding  = "RL"
	selfBinding   = "SELF"
	canonicalHost = "CANONICAL_HOST" // a variable of the apex
	receiptKey    = "RECEIPT_KEY"    // a secret
)

// The period of the rate limit, in seconds, of which the content's limits.writes_per_minute speaks.
const limitPeriod = 60

// runWorkerFirst are the paths that the worker answers and no asset does.
var runWorkerFirst = []string{"/api", "/api/*", "/v1", "/v1/*", health.Live, health.Ready}

// databaseID is the form of the id of a database.
var databaseID = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// section is what wrangler.toml says at its top or of an environment. A key that is not here is
// refused: what it asks for would not be done.
type section struct {
	Name               string         `toml:"name"`
	Account            string         `toml:"account_id"`
	Main               string         `toml:"main"`
	CompatibilityDate  string         `toml:"compatibility_date"`
	CompatibilityFlags []string       `toml:"compatibility_flags"`
	WorkersDev         *bool          `toml:"workers_dev"`
	PreviewURLs        *bool          `toml:"preview_urls"`
	NoBundle           *bool          `toml:"no_bundle"`
	FindModules        *bool          `toml:"find_additional_modules"`
	Rules              []rule         `toml:"rules"`
	Build              map[string]any `toml:"build"` // for wrangler: it builds what deploy is given
	Observability      map[string]any `toml:"observability"`
	Routes             []route        `toml:"routes"`
	Triggers           *struct {
		Crons []string `toml:"crons"`
	} `toml:"triggers"`
	Vars      map[string]string `toml:"vars"`
	Assets    *assetsSection    `toml:"assets"`
	Databases []databaseSection `toml:"d1_databases"`
	Mail      []struct {
		Name         string   `toml:"name"`
		Destination  string   `toml:"destination_address"`
		Destinations []string `toml:"allowed_destination_addresses"`
		Senders      []string `toml:"allowed_sender_addresses"`
	} `toml:"send_email"`
	Limits []struct {
		Name      string `toml:"name"`
		Namespace string `toml:"namespace_id"`
		Simple    Simple `toml:"simple"`
	} `toml:"ratelimits"`
	Services []struct {
		Binding string `toml:"binding"`
		Service string `toml:"service"`
	} `toml:"services"`
	Datasets []struct {
		Binding string `toml:"binding"`
		Dataset string `toml:"dataset"`
	} `toml:"analytics_engine_datasets"`
}

type (
	rule struct {
		Type        string   `toml:"type"`
		Globs       []string `toml:"globs"`
		Fallthrough bool     `toml:"fallthrough"`
	}
	route struct {
		Pattern string `toml:"pattern"`
		Domain  bool   `toml:"custom_domain"`
	}
	assetsSection struct {
		Directory      string   `toml:"directory"`
		Binding        string   `toml:"binding"`
		HTML           string   `toml:"html_handling"`
		NotFound       string   `toml:"not_found_handling"`
		RunWorkerFirst []string `toml:"run_worker_first"`
	}
	databaseSection struct {
		Binding    string `toml:"binding"`
		Name       string `toml:"database_name"`
		ID         string `toml:"database_id"`
		Migrations string `toml:"migrations_dir"` // for wrangler: deploy has the migrations
	}
)

// File is a wrangler.toml.
type File struct {
	path    string
	text    []byte
	top     section
	env     map[string]section
	unknown []string // keys that deploy does not know
}

// ReadFile reads a wrangler.toml.
func ReadFile(path string) (*File, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("there is no %s (call this in the folder of wrangler.toml, or name the file with --wrangler)", path)
	} else if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// Parse reads the text of a wrangler.toml. The path is for errors, and for what is written back.
func Parse(path string, text []byte) (*File, error) {
	var config struct {
		section
		Env map[string]section `toml:"env"`
	}
	metadata, err := toml.Decode(string(text), &config)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	f := &File{path: path, text: text, top: config.section, env: config.Env}
	for _, key := range metadata.Undecoded() {
		if slices.Contains(key, "observability") || slices.Contains(key, "build") {
			continue // taken as a whole
		}
		f.unknown = append(f.unknown, key.String())
	}
	return f, nil
}

// Environments are the names of the file's environments, sorted.
func (f *File) Environments() []string { return slices.Sorted(maps.Keys(f.env)) }

// environment is a section of the file with what it inherits, as wrangler does: bindings and
// variables are those of the environment alone.
func (f *File) environment(name string) (section, error) {
	s, known := f.env[name]
	if !known {
		return s, fmt.Errorf("%s has no environment %q (it has %s)", filepath.Base(f.path), name,
			cmp.Or(strings.Join(f.Environments(), ", "), "none"))
	}
	top := &f.top
	s.Account = cmp.Or(s.Account, top.Account)
	s.Main = cmp.Or(s.Main, top.Main)
	s.CompatibilityDate = cmp.Or(s.CompatibilityDate, top.CompatibilityDate)
	s.WorkersDev = cmp.Or(s.WorkersDev, top.WorkersDev)
	s.PreviewURLs = cmp.Or(s.PreviewURLs, top.PreviewURLs)
	s.NoBundle = cmp.Or(s.NoBundle, top.NoBundle)
	s.FindModules = cmp.Or(s.FindModules, top.FindModules)
	s.Triggers = cmp.Or(s.Triggers, top.Triggers)
	s.Assets = cmp.Or(s.Assets, top.Assets)
	if s.CompatibilityFlags == nil {
		s.CompatibilityFlags = top.CompatibilityFlags
	}
	if s.Rules == nil {
		s.Rules = top.Rules
	}
	if s.Routes == nil {
		s.Routes = top.Routes
	}
	if s.Observability == nil {
		s.Observability = top.Observability
	}
	return s, nil
}

// account is the account that the environment names, or else the variable of the environment.
func (s *section) account() (string, error) { return cloudflare.ConfiguredAccount(s.Account) }

func (s *section) hosts() (hosts []string) {
	for _, route := range s.Routes {
		hosts = append(hosts, route.Pattern)
	}
	return hosts
}

func (s *section) crons() []string {
	if s.Triggers == nil {
		return nil
	}
	return s.Triggers.Crons
}

// Facts are what the content says of the service and wrangler.toml says too.
type Facts struct {
	CanonicalHost   string
	ApexHost        string // "" where there is none
	PreviewHosts    []string
	RelayTo         string
	RelayFrom       string
	WritesPerMinute int64
	ReceiptKey      string // the public half that receipts are signed for, "" where none is published
}

// Check compares the file with the content and with what the worker expects. It returns all faults.
func (f *File) Check(facts *Facts) error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("%s: "+format, append([]any{filepath.Base(f.path)}, args...)...))
	}
	equal := func(where, what string, got, want any) {
		if !reflect.DeepEqual(got, want) {
			fault("%s: %s is %s, want %s", where, what, inJSON(got), inJSON(want))
		}
	}
	for _, key := range f.unknown {
		fault("%s is nothing that anteroom deploy knows (remove it, or deploy with wrangler)", key)
	}
	const top = "the top"
	if bindings := f.top.bindings(""); len(bindings)+len(f.top.Routes)+len(f.top.crons()) > 0 || f.top.Assets != nil {
		fault("%s binds or routes something (only environments may: the default one is not deployed)", top)
	}
	taken := map[string]string{f.top.Name: top}
	for _, name := range f.Environments() {
		e, _ := f.environment(name)
		own := func(what, value string) {
			if other := taken[value]; other != "" {
				fault("%s: %s %q is that of %s", name, what, value, other)
			}
			if value == "" {
				fault("%s has no %s", name, what)
			}
			taken[value] = name
		}
		own("name", e.Name)
		for _, route := range e.Routes {
			equal(name, "custom_domain of "+route.Pattern, route.Domain, true)
		}
		if e.CompatibilityDate == "" {
			fault("%s has no compatibility_date", name)
		}
		for what, given := range map[string]*bool{"workers_dev": e.WorkersDev, "preview_urls": e.PreviewURLs} {
			if given == nil {
				fault("%s does not say %s (true or false)", name, what)
			}
		}
		equal(name, "no_bundle", e.NoBundle != nil && *e.NoBundle, true)
		f.checkLogs(name, e, equal)
		if name == Apex {
			equal(name, "routes", e.hosts(), []string{facts.ApexHost})
			equal(name, "workers_dev", e.WorkersDev != nil && *e.WorkersDev, false)
			equal(name, "vars", e.Vars, map[string]string{canonicalHost: facts.CanonicalHost})
			equal(name, "main", filepath.Base(e.Main), apexModule)
			equal(name, "find_additional_modules", e.FindModules != nil && !*e.FindModules, true)
			e.Vars = nil
			if len(e.bindings(""))+len(e.crons()) > 0 || e.Assets != nil {
				fault("%s binds something, or has assets or crons (it only redirects)", name)
			}
			continue
		}
		equal(name, "main", filepath.Base(e.Main), mainModule)
		equal(name, "find_additional_modules", e.FindModules == nil || *e.FindModules, true)
		equal(name, "rules", e.Rules, []rule{{Type: "ESModule", Globs: []string{"**/*.mjs"}}})
		if len(e.Vars) > 0 {
			fault("%s has vars, of which the worker knows none", name)
		}
		f.checkService(name, e, facts, fault, equal, own)
	}
	if _, has := f.env[Apex]; !has && facts.ApexHost != "" {
		fault("there is no environment %s, and the content has the apex host %s", Apex, facts.ApexHost)
	}
	return errors.Join(faults...)
}

// inJSON writes a value of the file for the operator.
func inJSON(value any) string {
	text, _ := json.Marshal(value) // it is made of texts, numbers and lists of them
	return string(text)
}

// checkLogs holds the logs to what the service promises: e-mail addresses travel in queries.
func (f *File) checkLogs(name string, e section, equal func(where, what string, got, want any)) {
	logs, _ := e.Observability["logs"].(map[string]any)
	traces, _ := e.Observability["traces"].(map[string]any)
	equal(name, "observability.redact_query_string", e.Observability["redact_query_string"], true)
	equal(name, "observability.logs.invocation_logs", logs["invocation_logs"], false)
	equal(name, "observability.traces.enabled", traces["enabled"], false)
}

// checkService checks an environment that is the service itself.
func (f *File) checkService(name string, e section, facts *Facts, fault func(string, ...any), equal func(where, what string, got, want any), own func(what, value string)) {
	if name == Production {
		equal(name, "routes", e.hosts(), []string{facts.CanonicalHost})
		equal(name, "workers_dev", e.WorkersDev != nil && *e.WorkersDev, false)
	} else {
		for _, host := range e.hosts() {
			if !slices.Contains(facts.PreviewHosts, host) {
				fault("%s is at %s, which preview_hosts of the content does not name", name, host)
			}
		}
	}
	if e.Assets == nil || len(e.Databases) != 1 || len(e.Mail) != 1 || len(e.Limits) != 1 || len(e.Services) != 1 || len(e.Datasets) > 1 || len(e.crons()) != 1 {
		fault("%s lacks a binding, its assets or its cron, or has one twice", name)
		return
	}
	equal(name, "assets.binding", e.Assets.Binding, assetsBinding)
	equal(name, "assets.html_handling", e.Assets.HTML, "none")
	equal(name, "assets.not_found_handling", e.Assets.NotFound, "404-page")
	equal(name, "assets.run_worker_first", e.Assets.RunWorkerFirst, runWorkerFirst)
	db := e.Databases[0]
	equal(name, "the binding of d1_databases", db.Binding, cloudflare.DatabaseBinding)
	own("database_id", db.ID)
	if db.Name == "" {
		fault("%s has no database_name", name)
	}
	if !databaseID.MatchString(db.ID) {
		fault("%s has the database_id %q, which is no id of a database (%s… stands for one that is to be made)", name, db.ID, cloudflare.PlaceholderID)
	}
	mail := e.Mail[0]
	equal(name, "the name of send_email", mail.Name, mailBinding)
	equal(name, "send_email.destination_address", mail.Destination, facts.RelayTo)
	equal(name, "send_email.allowed_sender_addresses", mail.Senders, []string{facts.RelayFrom})
	limit := e.Limits[0]
	equal(name, "the name of ratelimits", limit.Name, limitBinding)
	own("namespace_id", limit.Namespace)
	equal(name, "the limit of ratelimits", limit.Simple.Limit, facts.WritesPerMinute)
	equal(name, "the period of ratelimits", limit.Simple.Period, int64(limitPeriod))
	equal(name, "the binding of services", e.Services[0].Binding, selfBinding)
	equal(name, "services.service", e.Services[0].Service, e.Name)
	for _, d := range e.Datasets {
		equal(name, "the binding of analytics_engine_datasets", d.Binding, cloudflare.DatasetBinding)
		own("dataset", cmp.Or(d.Dataset, d.Binding)) // as wrangler names it
	}
}
