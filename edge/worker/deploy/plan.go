// Package deploy puts a service on Cloudflare: its database, its documents, its worker with its
// secret, and the hosts that lead there. A deployment is planned as a whole, compared with what is
// there, and only then done, step by step. Each step that is done already is left out, so a
// deployment that was interrupted goes on when it is run again.
//
// No error and no plan holds the receipt key.
package deploy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"anteroom/edge/assets"
	"anteroom/edge/store/migrations"
)

// The first module of each worker.
const (
	mainModule = "worker.mjs"
	apexModule = "apex.mjs"
)

// moduleTypes are the media types of modules, by the ends of their names, as the rules of
// wrangler.toml and wrangler's own give them.
var moduleTypes = map[string]string{
	".mjs":  "application/javascript+module",
	".wasm": "application/wasm",
	".txt":  "text/plain",
}

// Source is what is deployed.
type Source struct {
	File        *File
	Environment string // of the file
	Facts       Facts
	Content     string            // the short version of the content
	AsOf        string            // the date of its newest board
	Bundle      map[string][]byte // the worker's modules, by their names
	Documents   []Document
	Headers     string // the text of _headers
	Redirects   string // the text of _redirects
	Key         string // the secret receipt key as its file has it, "" where none is given
	KeyPublic   string // its public half
	Allowances  []Allowance

	// Unlisted reports whether no manifest needs to list a document. It is nil where all are listed.
	Unlisted func(path string) bool
}

// Document is a published file.
type Document = assets.File

// Allowance is what the operator lets happen, and why.
type Allowance struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// AllowDNS is the name of the allowance to replace DNS records, and the domain of another worker.
const AllowDNS = "dns"

// AllowKey is the name of the allowance to deploy without the secret of a key that is new, and to
// go back to another published key: what the live one has signed would verify no more.
const AllowKey = "key"

// AllowDatabase is the name of the allowance to let a version answer that keeps its records in
// another database than the live one: what is recorded there would be seen no more.
const AllowDatabase = "database"

// allowDocument is the name of the allowance to let documents vanish. What is not known of a host
// that does not answer is its documents too.
const allowDocument = "document"

// Plan is what a deployment sends, in full. It holds no secret.
type Plan struct {
	Environment string      `json:"environment"`
	Content     string      `json:"content"`
	Database    *Database   `json:"database"`   // nil for the apex
	Migrations  []string    `json:"migrations"` // all of this program
	Missing     []string    `json:"missing"`    // those that the database lacks, as far as that is known
	Workers     []*Worker   `json:"workers"`
	Allowances  []Allowance `json:"allowances"`

	account string // that is named, "" where none is
	source  *Source
}

// Database is the store of the service.
type Database struct {
	Name string `json:"name"`
	ID   string `json:"id"` // a placeholder where it is to be found or made
}

// Worker is one worker with all that belongs to it.
type Worker struct {
	Name     string   `json:"name"`
	Hosts    []string `json:"hosts"` // its custom domains
	Modules  []Module `json:"modules"`
	Metadata Metadata `json:"metadata"`
	Assets   []Asset  `json:"assets"`
	Settings Settings `json:"settings"`
	Crons    []string `json:"crons"`

	service bool // whether this is the service itself, and not the apex
}

// Module is a file of a worker.
type Module struct {
	Name      string `json:"name"`
	MediaType string `json:"media_type"`
	Size      int    `json:"size"`
	SHA256    string `json:"sha256"`
	Bytes     []byte `json:"-"`
}

// Asset is a document as Cloudflare keeps it.
type Asset struct {
	Path      string `json:"path"`
	MediaType string `json:"media_type"`
	Size      int    `json:"size"`
	Hash      string `json:"hash"`
	New       *bool  `json:"new"` // whether it is not live as it is; nil where that is not known

	document *Document
	sum      string // SHA-256, in hexadecimal
}

// Settings are those of a worker that are no part of a version: a rollback does not restore them.
type Settings struct {
	Observability map[string]any `json:"observability"`
	WorkersDev    bool           `json:"workers_dev"`
	PreviewURLs   bool           `json:"preview_urls"`
}

// Metadata is the part of an upload that says how the modules are run, as Cloudflare's API has it.
type Metadata struct {
	MainModule         string            `json:"main_module"`
	Bindings           []Binding         `json:"bindings"`
	CompatibilityDate  string            `json:"compatibility_date"`
	CompatibilityFlags []string          `json:"compatibility_flags"`
	Assets             *AssetsMetadata   `json:"assets,omitempty"`
	Annotations        map[string]string `json:"annotations,omitempty"`
}

// AssetsMetadata says how assets are served.
type AssetsMetadata struct {
	JWT    string       `json:"jwt,omitempty"` // of a completed upload
	Config AssetsConfig `json:"config"`
}

// AssetsConfig says how assets are served.
type AssetsConfig struct {
	HTML           string   `json:"html_handling"`
	NotFound       string   `json:"not_found_handling"`
	RunWorkerFirst []string `json:"run_worker_first"`
	Redirects      string   `json:"_redirects,omitempty"`
	Headers        string   `json:"_headers,omitempty"`
}

// Binding is what a worker has in its environment under a name.
type Binding struct {
	Name         string   `json:"name"`
	Type         string   `json:"type"`
	ID           string   `json:"id,omitempty"` // of a database
	Destination  string   `json:"destination_address,omitempty"`
	Destinations []string `json:"allowed_destination_addresses,omitempty"`
	Senders      []string `json:"allowed_sender_addresses,omitempty"`
	Namespace    string   `json:"namespace_id,omitempty"`
	Simple       *Simple  `json:"simple,omitempty"`
	Service      string   `json:"service,omitempty"`
	Dataset      string   `json:"dataset,omitempty"`
	Text         string   `json:"text,omitempty"`       // of a variable or a secret
	Version      string   `json:"version_id,omitempty"` // that it is inherited of
}

// Simple is a rate limit: so many calls in a period of seconds.
type Simple struct {
	Limit  int64 `json:"limit" toml:"limit"`
	Period int64 `json:"period" toml:"period"`
}

// Status is how far a step is.
type Status string

// The states of a step.
const (
	Would   Status = "would do"
	Already Status = "already so"
	Done    Status = "done"
	Failed  Status = "failed"
)

// Step is a part of a deployment: what it brings about, and how far it is.
type Step struct {
	Name   string `json:"step"`
	Status Status `json:"status"`
	Text   string `json:"text"`
}

// NewPlan makes the plan of a deployment. It asks nobody. Its error lists all that is wrong with
// the file, the content and the key, and how they do not agree.
func NewPlan(s *Source) (*Plan, error) {
	e, err := s.File.environment(s.Environment)
	if err != nil {
		return nil, err
	}
	faults := []error{s.File.Check(&s.Facts)}
	p := &Plan{Environment: s.Environment, Content: s.Content, Migrations: []string{}, Missing: []string{}, Allowances: s.Allowances, source: s}
	if p.account, err = e.account(); err != nil {
		faults = append(faults, err)
	}
	if s.Key != "" && s.KeyPublic != s.Facts.ReceiptKey {
		faults = append(faults, fmt.Errorf("the receipt key is that of %s, and the content publishes %s as the current one "+
			"(give its secret half, or publish this one with anteroom key rotate)", s.KeyPublic, cmp.Or(s.Facts.ReceiptKey, "none")))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	if s.Environment == Apex {
		w, err := s.apex(e)
		if err != nil {
			return nil, err
		}
		p.Workers = []*Worker{w}
		return p, nil
	}
	p.Database = &Database{Name: e.Databases[0].Name, ID: e.Databases[0].ID}
	if p.Migrations, err = migrations.Missing(nil); err != nil {
		return nil, err
	}
	p.Missing = p.Migrations
	w, err := s.service(e)
	if err != nil {
		return nil, err
	}
	p.Workers = []*Worker{w}
	if s.Environment == Production && s.Facts.ApexHost != "" {
		e, err := s.File.environment(Apex)
		if err != nil {
			return nil, err
		}
		w, err := s.apex(e)
		if err != nil {
			return nil, err
		}
		p.Workers = append(p.Workers, w)
	}
	return p, nil
}

// service plans the worker of the service.
func (s *Source) service(e section) (*Worker, error) {
	w := e.worker()
	w.service = true
	for _, name := range slices.Sorted(maps.Keys(s.Bundle)) {
		if err := w.addModule(name, s.Bundle[name]); err != nil {
			return nil, err
		}
	}
	if s.Bundle[mainModule] == nil {
		return nil, fmt.Errorf("the bundle has no %s (anteroom build makes a bundle)", mainModule)
	}
	w.Metadata.MainModule = mainModule
	if n := len(s.Documents); n == 0 || n > mostAssets {
		return nil, fmt.Errorf("there are %d documents, and Cloudflare takes 1 to %d", n, mostAssets)
	}
	for i := range s.Documents {
		asset := newAsset(&s.Documents[i])
		if asset.Size > largestAsset {
			return nil, fmt.Errorf("%s has %d bytes, and Cloudflare takes at most %d", asset.Path, asset.Size, largestAsset)
		}
		w.Assets = append(w.Assets, asset)
	}
	w.Metadata.Assets = &AssetsMetadata{Config: AssetsConfig{
		HTML: e.Assets.HTML, NotFound: e.Assets.NotFound, RunWorkerFirst: e.Assets.RunWorkerFirst,
		Headers: s.Headers, Redirects: s.Redirects,
	}}
	return w, nil
}

// apex plans the worker of the apex.
func (s *Source) apex(e section) (*Worker, error) {
	w := e.worker()
	module, has := s.Bundle[apexModule]
	if !has {
		return nil, fmt.Errorf("the bundle has no %s (anteroom build makes a bundle)", apexModule)
	}
	w.Metadata.MainModule = apexModule
	return w, w.addModule(apexModule, module)
}

func (w *Worker) addModule(name string, text []byte) error {
	media, known := moduleTypes[path.Ext(name)]
	if !known {
		return fmt.Errorf("the bundle has %s, which is no module (anteroom build makes a bundle)", name)
	}
	w.Modules = append(w.Modules, Module{Name: name, MediaType: media, Size: len(text), SHA256: hexSum(text), Bytes: text})
	return nil
}

// worker begins the plan of a worker with what wrangler.toml says of it.
func (s *section) worker() *Worker {
	return &Worker{
		Name: s.Name, Hosts: s.hosts(), Crons: s.crons(), Modules: []Module{}, Assets: []Asset{},
		Metadata: Metadata{
			Bindings: s.bindings(s.assets()), CompatibilityDate: s.CompatibilityDate, CompatibilityFlags: s.CompatibilityFlags,
		},
		Settings: Settings{Observability: s.Observability, WorkersDev: *s.WorkersDev, PreviewURLs: *s.PreviewURLs},
	}
}

// assets is the name of the binding to the assets, "" where there is none.
func (s *section) assets() string {
	if s.Assets == nil {
		return ""
	}
	return s.Assets.Binding
}

// bindings are what an environment binds, sorted by name. assets is the name of the binding to the
// assets, "" where there is none.
func (s *section) bindings(assets string) []Binding {
	list := []Binding{}
	for name, value := range s.Vars {
		list = append(list, Binding{Name: name, Type: "plain_text", Text: value})
	}
	if assets != "" {
		list = append(list, Binding{Name: assets, Type: "assets"})
	}
	for _, d := range s.Databases {
		list = append(list, Binding{Name: d.Binding, Type: "d1", ID: d.ID})
	}
	for _, m := range s.Mail {
		list = append(list, Binding{Name: m.Name, Type: "send_email", Destination: m.Destination, Destinations: m.Destinations, Senders: m.Senders})
	}
	for _, l := range s.Limits {
		list = append(list, Binding{Name: l.Name, Type: "ratelimit", Namespace: l.Namespace, Simple: &l.Simple})
	}
	for _, b := range s.Services {
		list = append(list, Binding{Name: b.Binding, Type: "service", Service: b.Service})
	}
	for _, d := range s.Datasets {
		list = append(list, Binding{Name: d.Binding, Type: "analytics_engine", Dataset: cmp.Or(d.Dataset, d.Binding)})
	}
	slices.SortFunc(list, func(a, b Binding) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// A version has a tag by which a deployment knows its own: a digest of all that it is made of, and
// one of the public half of the receipt key that it has.
const (
	tagDigits    = 32
	tagSeparator = "."
	unknownKey   = "-"
)

// tag is the tag of a version with these modules, bindings and assets, and with a key.
func (w *Worker) tag(key string) string {
	assets := map[string]string{}
	for _, a := range w.Assets {
		assets[a.Path] = a.Hash
	}
	text, _ := json.Marshal([]any{w.Metadata, w.Modules, assets}) // texts and numbers, which do not fail
	return hexSum(text)[:tagDigits] + tagSeparator + key
}

// keyTag is what a tag says of a version that has the secret half of a key.
func keyTag(public string) string {
	if public == "" {
		return unknownKey
	}
	return hexSum([]byte(public))[:tagDigits]
}

func hexSum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
