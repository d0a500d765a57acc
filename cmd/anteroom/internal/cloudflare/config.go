// Package cloudflare is the operator's access to a service on Cloudflare. It deploys with wrangler,
// and reads the records in D1. It reads names from wrangler.toml and the API token from the
// environment, as wrangler does.
//
// No error contains the token, a receipt key or a record.
package cloudflare

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
	"strconv"
	"strings"

	"anteroom/edge/assets"
	"anteroom/edge/endpoint/health"
	"anteroom/edge/native/disk"
	"anteroom/edge/snapshot"
	"anteroom/generator/output"

	"github.com/BurntSushi/toml"
)

// Special environments of wrangler.toml. Every other one is the same service as production, with
// its own store.
const (
	Production = "production" // the service at its canonical host
	Apex       = "apex"       // the worker that redirects the bare domain
)

// Values that the worker and wrangler.toml share.
const (
	databaseBinding = "DB"
	datasetBinding  = "OBSERVED"
	placeholderID   = "00000000-0000-0000-0000-" // begins the id of a database that is not created yet
	leastQueries    = 50                         // of an invocation: the Free plan's
)

var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

type Config struct {
	Path string

	top environment
	env map[string]environment
	all map[string]any // the whole file
}

// environment is the top of wrangler.toml or one environment, as far as commands use it.
type environment struct {
	Name       string `toml:"name"`
	Account    string `toml:"account_id"`
	WorkersDev *bool  `toml:"workers_dev"`
	Routes     []struct {
		Pattern string `toml:"pattern"`
		Domain  bool   `toml:"custom_domain"`
	} `toml:"routes"`
	Databases []struct {
		Binding string `toml:"binding"`
		Name    string `toml:"database_name"`
		ID      string `toml:"database_id"`
	} `toml:"d1_databases"`
	Datasets []struct {
		Binding string `toml:"binding"`
		Name    string `toml:"dataset"`
	} `toml:"analytics_engine_datasets"`
}

func ReadConfig(path string) (*Config, error) {
	text, err := assets.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("no file %s (run this in the folder of wrangler.toml)", path)
	}
	c := &Config{Path: path}
	if err == nil {
		err = c.parse(text)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return c, nil
}

func (c *Config) parse(text []byte) error {
	var file struct {
		environment
		Env map[string]environment `toml:"env"`
	}
	_, err := toml.Decode(string(text), &file)
	c.top, c.env, c.all = file.environment, file.Env, nil
	if err == nil {
		err = toml.Unmarshal(text, &c.all)
	}
	return err
}

func (c *Config) Environments() []string { return slices.Sorted(maps.Keys(c.env)) }

func (c *Config) environment(name string) (environment, error) {
	e, known := c.env[name]
	if !known {
		return e, fmt.Errorf("%s has no environment %q (it has %s)", filepath.Base(c.Path), name,
			cmp.Or(strings.Join(c.Environments(), ", "), "none"))
	}
	e.Account = cmp.Or(e.Account, c.top.Account)
	e.WorkersDev = cmp.Or(e.WorkersDev, c.top.WorkersDev)
	if e.Routes == nil {
		e.Routes = c.top.Routes
	}
	return e, nil
}

func (e *environment) domains() (hosts []string) {
	for _, r := range e.Routes {
		if r.Domain {
			hosts = append(hosts, r.Pattern)
		}
	}
	return hosts
}

func (e *environment) database() (id, name string) {
	for _, d := range e.Databases {
		if d.Binding == databaseBinding {
			id, name = d.ID, d.Name
		}
	}
	return id, name
}

// Host returns the first custom domain of an environment or, if preview_hosts names it, its host at
// workers.dev; "" without either.
func (c *Config) Host(name string, s *snapshot.Snapshot) string {
	e, err := c.environment(name)
	if hosts := e.domains(); err == nil && len(hosts) > 0 {
		return hosts[0]
	}
	for _, host := range s.PreviewHosts {
		if e.WorkersDev != nil && *e.WorkersDev && strings.HasPrefix(host, e.Name+".") {
			return host
		}
	}
	return ""
}

// at returns the value at a path of keys, or nil. A list of tables on the path must have one table.
func at(value any, path ...string) any {
	for _, key := range path {
		if list := reflect.ValueOf(value); list.Kind() == reflect.Slice { // inline tables have another type
			if value = nil; list.Len() == 1 {
				value = list.Index(0).Interface()
			}
		}
		table, _ := value.(map[string]any)
		value = table[key]
	}
	return value
}

// Check compares the file with the generated snapshot. The error lists all faults.
func (c *Config) Check(s *snapshot.Snapshot) error {
	var faults []error
	fault := func(format string, args ...any) {
		faults = append(faults, fmt.Errorf("%s: "+format, append([]any{filepath.Base(c.Path)}, args...)...))
	}
	used := map[string]string{}
	for _, name := range c.Environments() {
		e, _ := c.environment(name)
		of := func(path string) any { return at(c.all, append([]string{"env", name}, strings.Split(path, ".")...)...) }
		same := func(what string, got, want any) {
			g, _ := json.Marshal(got) // texts, numbers and lists of them
			w, _ := json.Marshal(want)
			if string(g) != string(w) {
				fault("%s: %s is %s, want %s", name, what, g, w)
			}
		}
		own := func(path string) {
			value, _ := of(path).(string)
			if other := used[value]; value == "" {
				fault("%s: %s is missing", name, path)
			} else if other != "" {
				fault("%s: %s %q is already used by %s", name, path, value, other)
			}
			used[value] = name
		}
		own("name")
		log := cmp.Or[any](of("observability"), at(c.all, "observability"))
		if at(log, "redact_query_string") != true || at(log, "logs", "invocation_logs") != false ||
			at(log, "traces", "enabled") == true {
			fault("%s: observability may log e-mail addresses, which are in queries "+
				"(set redact_query_string = true, logs.invocation_logs = false and traces.enabled = false)", name)
		}
		switch name {
		case Apex:
			same("the domain", e.domains(), []string{s.ApexHost})
			same("vars", of("vars"), map[string]string{"CANONICAL_HOST": s.CanonicalHost})
			continue
		case Production:
			same("the domain", e.domains(), []string{s.CanonicalHost})
		default:
			for _, host := range e.domains() {
				if !slices.Contains(s.PreviewHosts, host) {
					fault("%s is at %s, which is missing in preview_hosts of the content", name, host)
				}
			}
		}
		own("d1_databases.database_id")
		if id, database := e.database(); !uuid.MatchString(id) || database == "" {
			fault("%s: d1_databases needs the binding %s, a database_name, and as database_id an id or %s…", name,
				databaseBinding, placeholderID)
		}
		own("ratelimits.namespace_id")
		if queries := of("vars.D1_QUERIES"); queries != nil {
			if n, err := strconv.Atoi(fmt.Sprint(queries)); err != nil || n < leastQueries {
				fault("%s: vars.D1_QUERIES is %q, want at least %d (1000 on the paid plan)", name, queries, leastQueries)
			}
		}
		for path, want := range map[string]any{
			"send_email.destination_address":      s.RelayTo,
			"send_email.allowed_sender_addresses": []string{s.RelayFrom},
			"ratelimits.simple.limit":             s.WritesPerMinute,
			"ratelimits.simple.period":            60,
			"services.service":                    e.Name,
			"assets.html_handling":                "none",
			"assets.not_found_handling":           "none",
			"assets.run_worker_first": append([]string{
				"/api", "/api/*", "/v1", "/v1/*", health.Live, health.Ready,
			}, output.WorkerPatterns...),
		} {
			same(path, of(path), want)
		}
	}
	if _, has := c.env[Apex]; !has && s.ApexHost != "" {
		fault("no environment %s for the apex host %s", Apex, s.ApexHost)
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(faults...)
}

func (c *Config) setDatabaseID(placeholder, id string) error {
	text, err := assets.ReadFile(c.Path)
	if err == nil {
		line := regexp.MustCompile(`(?m)^([^#\n]*\bdatabase_id\s*=\s*["'])` + regexp.QuoteMeta(placeholder) + `(["'])`)
		if n := len(line.FindAllIndex(text, -1)); n != 1 {
			err = fmt.Errorf("found the database_id %s %d times in %s, want once", placeholder, n, c.Path)
		} else {
			text = line.ReplaceAll(text, []byte("${1}"+id+"${2}"))
			err = errors.Join(disk.Replace(c.Path, text), c.parse(text))
		}
	}
	if err != nil {
		return fmt.Errorf("write the id of the database: %w (write %s there instead of %s)", err, id, placeholder)
	}
	return nil
}
