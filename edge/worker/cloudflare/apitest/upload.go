package apitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Module is a module of a version.
type Module struct {
	Type string // as Miniflare calls it: esm, wasm, text or data
	Data []byte
}

// moduleTypes are the content types of modules.
var moduleTypes = map[string]string{
	"application/javascript+module": "esm", "text/javascript+module": "esm", "application/wasm": "wasm",
	"text/plain": "text", "application/octet-stream": "data",
}

// metadata is the part of an upload that says what the modules are. The members of worker are no
// part of a version: POST versions takes them and does not apply them.
type metadata struct {
	MainModule    string            `json:"main_module"`
	Bindings      []json.RawMessage `json:"bindings"`
	Date          string            `json:"compatibility_date"`
	Flags         []string          `json:"compatibility_flags"`
	KeepBindings  []string          `json:"keep_bindings"`
	Annotations   map[string]string `json:"annotations"`
	Assets        *assetsMetadata   `json:"assets"`
	KeepAssets    bool              `json:"keep_assets"`
	UsageModel    string            `json:"usage_model"`
	Limits        json.RawMessage   `json:"limits"`
	Placement     json.RawMessage   `json:"placement"`
	Observability *Observability    `json:"observability"`
	Logpush       *bool             `json:"logpush"`
	Tags          []string          `json:"tags"`
	TailConsumers []json.RawMessage `json:"tail_consumers"`
	CodeUpdate    json.RawMessage   `json:"code_update_strategy"` // when running instances take the new code
}

type assetsMetadata struct {
	JWT    string       `json:"jwt"`
	Config AssetsConfig `json:"config"`
}

// AssetsConfig is how the assets of a version are served.
type AssetsConfig struct {
	HTMLHandling     string          `json:"html_handling,omitempty"`
	NotFoundHandling string          `json:"not_found_handling,omitempty"`
	RunWorkerFirst   json.RawMessage `json:"run_worker_first,omitempty"` // a Boolean, or a list of patterns
	Headers          string          `json:"_headers,omitempty"`
	Redirects        string          `json:"_redirects,omitempty"`
}

// Observability is what is logged of a worker. It is of the worker, not of a version.
type Observability struct {
	Enabled            *bool    `json:"enabled,omitempty"`
	HeadSamplingRate   *float64 `json:"head_sampling_rate,omitempty"`
	RedactQueryStrings *bool    `json:"redact_query_string,omitempty"`
	Logs               *struct {
		Enabled          *bool    `json:"enabled,omitempty"`
		InvocationLogs   *bool    `json:"invocation_logs,omitempty"`
		HeadSamplingRate *float64 `json:"head_sampling_rate,omitempty"`
		Persist          *bool    `json:"persist,omitempty"`
		Destinations     []string `json:"destinations,omitempty"`
	} `json:"logs,omitempty"`
	Traces *struct {
		Enabled          *bool    `json:"enabled,omitempty"`
		HeadSamplingRate *float64 `json:"head_sampling_rate,omitempty"`
		Persist          *bool    `json:"persist,omitempty"`
		Destinations     []string `json:"destinations,omitempty"`
	} `json:"traces,omitempty"`
}

func (o *Observability) check() error {
	switch {
	case o.Enabled == nil:
		return errors.New("observability has no enabled")
	case o.Logs != nil && (o.Logs.Enabled == nil || o.Logs.InvocationLogs == nil):
		return errors.New("observability.logs has no enabled, or no invocation_logs")
	}
	return nil
}

// Binding is a binding of a version.
type Binding struct {
	Name        string          `json:"name"`
	Type        string          `json:"type"`
	ID          string          `json:"id,omitempty"`
	DatabaseID  string          `json:"database_id,omitempty"`
	Text        string          `json:"text,omitempty"`
	JSON        json.RawMessage `json:"json,omitempty"`
	NamespaceID string          `json:"namespace_id,omitempty"`
	Simple      *RateLimit      `json:"simple,omitempty"`
	Service     string          `json:"service,omitempty"`
	Environment string          `json:"environment,omitempty"`
	Entrypoint  string          `json:"entrypoint,omitempty"`
	Dataset     string          `json:"dataset,omitempty"`
	To          string          `json:"destination_address,omitempty"`
	AllowedTo   []string        `json:"allowed_destination_addresses,omitempty"`
	AllowedFrom []string        `json:"allowed_sender_addresses,omitempty"`
	OldName     string          `json:"old_name,omitempty"`
	VersionID   string          `json:"version_id,omitempty"`
}

// RateLimit is the limit of a ratelimit binding.
type RateLimit struct {
	Limit  int64 `json:"limit"`
	Period int64 `json:"period"` // seconds
}

// bindingMembers are the members of each type of binding beside name and type: those that it must
// have, and others. The platform has more types.
var bindingMembers = map[string][2][]string{
	"assets":           {},
	"d1":               {nil, []string{"id", "database_id"}}, // one of them
	"send_email":       {nil, []string{"destination_address", "allowed_destination_addresses", "allowed_sender_addresses"}},
	"ratelimit":        {[]string{"namespace_id", "simple"}, nil},
	"service":          {[]string{"service"}, []string{"environment", "entrypoint"}},
	"analytics_engine": {[]string{"dataset"}, nil},
	"plain_text":       {[]string{"text"}, nil},
	"json":             {[]string{"json"}, nil},
	"secret_text":      {[]string{"text"}, nil},
	"inherit":          {nil, []string{"old_name", "version_id"}},
}

// answer is a binding as the API tells it.
func (b Binding) answer() Binding {
	if b.Type == "secret_text" {
		b.Text = ""
	}
	if b.Type == "d1" {
		b.ID = b.DatabaseID
	}
	return b
}

// invalid is the answer to a script that cannot run.
func invalid(format string, args ...any) *Answer {
	a := refusal(http.StatusBadRequest, 10021, fmt.Sprintf(format, args...))
	return &a
}

var (
	namespaceID   = regexp.MustCompile(`^[1-9][0-9]*$`)
	bindingName   = regexp.MustCompile(`^[A-Za-z_$][0-9A-Za-z_$]*$`)
	imported      = regexp.MustCompile(`(?m)^\s*(?:import|export)\b(?:[^'";]*\bfrom)?\s*['"]([^'"]+)['"]`)
	annotationMax = map[string]int{"workers/message": 1000, "workers/tag": 100, "workers/alias": 100}
)

// readVersion makes a version of an upload. previous is the worker's latest version, nil where it
// has none. The answer is that to a call that is refused.
func (s *Server) readVersion(r *request, previous *Version) (*Version, *metadata, *Answer) {
	parts, err := r.parts()
	if err != nil {
		a := malformed("%v", err)
		return nil, nil, &a
	}
	v := &Version{ID: newUUID(), Created: s.now(), Source: sourceOf(r), Modules: map[string]Module{}, Annotations: map[string]string{}}
	var meta *metadata
	for _, p := range parts {
		if p.name == "metadata" {
			if p.media != "application/json" && p.header != "" { // wrangler's has none
				a := malformed("the metadata are of the type %q", p.header)
				return nil, nil, &a
			}
			meta = &metadata{}
			if err := decode(p.data, meta); err != nil {
				a := malformed("metadata: %v", err)
				return nil, nil, &a
			}
			continue
		}
		kind := moduleTypes[p.media]
		if kind == "" || p.filename == "" {
			return nil, nil, invalid("part %q has the content type %q and the filename %q", p.name, p.header, p.filename)
		}
		if _, twice := v.Modules[p.filename]; twice {
			return nil, nil, invalid("there are two modules %q", p.filename)
		}
		v.Modules[p.filename] = Module{kind, p.data}
	}
	if meta == nil {
		a := malformed("there is no part named metadata")
		return nil, nil, &a
	}
	for _, check := range []func() *Answer{
		func() *Answer { return v.takeModules(meta) },
		func() *Answer { return s.takeBindings(r, v, meta, previous) },
		func() *Answer { return s.takeAssets(r, v, meta, previous) },
	} {
		if refused := check(); refused != nil {
			return nil, nil, refused
		}
	}
	if meta.Observability != nil {
		if err := meta.Observability.check(); err != nil {
			a := malformed("%v", err)
			return nil, nil, &a
		}
	}
	for name, text := range meta.Annotations {
		longest, known := annotationMax[name]
		if !known || len(text) > longest && name != "workers/message" {
			a := malformed("annotation %q has %d bytes", name, len(text))
			return nil, nil, &a
		}
		v.Annotations[name] = text[:min(len(text), longest)] // a message is cut off
	}
	return v, meta, nil
}

// takeModules checks the modules of a version.
func (v *Version) takeModules(meta *metadata) *Answer {
	v.Main, v.Date, v.Flags = meta.MainModule, meta.Date, meta.Flags
	date, err := time.Parse(time.DateOnly, v.Date)
	switch {
	case v.Modules[v.Main].Type != "esm":
		return invalid("main_module %q is no module of JavaScript among the parts", v.Main)
	case err != nil && v.Date != "": // without a date the platform takes its first
		return invalid("No such compatibility date: %q", v.Date)
	case date.After(time.Now()):
		return invalid("Can't set compatibility date in the future: %q", v.Date)
	}
	for _, name := range slices.Sorted(maps.Keys(v.Modules)) {
		switch m := v.Modules[name]; m.Type {
		case "wasm":
			if !bytes.HasPrefix(m.Data, []byte("\x00asm")) {
				return invalid("CompileError: WebAssembly.Module(): %s is no WebAssembly", name)
			}
		case "esm":
			for _, match := range imported.FindAllSubmatch(m.Data, -1) {
				wanted := string(match[1])
				if local, is := strings.CutPrefix(wanted, "./"); is {
					wanted = local
				}
				if _, there := v.Modules[wanted]; !there && !strings.HasPrefix(wanted, "cloudflare:") && !strings.HasPrefix(wanted, "node:") {
					return invalid("Uncaught Error: No such module %q.\n  imported from %q", wanted, name)
				}
			}
		}
	}
	return nil
}

// takeBindings checks the bindings of a version, and adds those that it keeps of the one before.
func (s *Server) takeBindings(r *request, v *Version, meta *metadata, previous *Version) *Answer {
	var before []Binding
	if previous != nil {
		before = previous.Bindings
	}
	for _, text := range meta.Bindings {
		var b Binding
		var members map[string]json.RawMessage
		if err := errors.Join(decode(text, &b), json.Unmarshal(text, &members)); err != nil {
			a := malformed("binding: %v", err)
			return &a
		}
		allowed, known := bindingMembers[b.Type]
		if !known {
			return invalid("binding %s is of the type %q", b.Name, b.Type)
		}
		for _, required := range allowed[0] {
			if _, has := members[required]; !has {
				return invalid("binding %s of type %s must have a valid `%s` specified", b.Name, b.Type, required)
			}
		}
		for member := range members {
			if member != "name" && member != "type" && !slices.Contains(allowed[0], member) && !slices.Contains(allowed[1], member) {
				return invalid("binding %s of type %s has no %s", b.Name, b.Type, member)
			}
		}
		if !bindingName.MatchString(b.Name) || slices.ContainsFunc(v.Bindings, func(o Binding) bool { return o.Name == b.Name }) {
			return invalid("there are two bindings %q, or that is no name", b.Name)
		}
		if refused := s.checkBinding(r, &b, meta, before); refused != nil {
			return refused
		}
		v.Bindings = append(v.Bindings, b)
	}
	// A secret that is not kept is lost.
	for _, b := range before {
		if slices.Contains(meta.KeepBindings, b.Type) && !slices.ContainsFunc(v.Bindings, func(o Binding) bool { return o.Name == b.Name }) {
			v.Bindings = append(v.Bindings, b)
		}
	}
	return nil
}

// checkBinding checks a binding. One that is inherited becomes that of before.
func (s *Server) checkBinding(r *request, b *Binding, meta *metadata, before []Binding) *Answer {
	switch b.Type {
	case "assets":
		if meta.Assets == nil && !meta.KeepAssets {
			return invalid("binding %s of type assets needs assets", b.Name)
		}
	case "d1":
		if b.DatabaseID == "" {
			b.DatabaseID, b.ID = b.ID, ""
		}
		if !slices.ContainsFunc(s.databases, func(d *Database) bool { return d.ID == b.DatabaseID }) {
			return invalid("binding %s of type d1 must have a valid `id` specified", b.Name)
		}
	case "send_email":
		if b.To != "" && b.AllowedTo != nil {
			return invalid("binding %s has both destination_address and allowed_destination_addresses", b.Name)
		}
	case "ratelimit":
		if !namespaceID.MatchString(b.NamespaceID) || b.Simple.Limit < 1 || b.Simple.Period != 10 && b.Simple.Period != 60 {
			return invalid("binding %s of type ratelimit has a wrong namespace_id, limit or period", b.Name)
		}
	case "service":
		// Whether a first upload may bind to itself is unknown.
		if s.workers[b.Service] == nil {
			a := refusal(http.StatusBadRequest, 10143, fmt.Sprintf("Service binding '%s' references Worker '%s' which was not found.", b.Name, b.Service))
			return &a
		}
	case "analytics_engine":
		if !s.analytics {
			a := refusal(http.StatusForbidden, 10089, "You need to enable Analytics Engine. Head to the Cloudflare Dashboard to enable: https://dash.cloudflare.com/"+s.Account+"/workers/analytics-engine")
			return &a
		}
	case "inherit":
		old := b.Name
		if b.OldName != "" {
			old = b.OldName
		}
		if b.VersionID != "" && b.VersionID != "latest" {
			w := s.workers[r.PathValue("worker")]
			if w == nil || w.version(b.VersionID) == nil {
				a := noVersion(b.VersionID)
				return &a
			}
			before = w.version(b.VersionID).Bindings
		}
		i := slices.IndexFunc(before, func(o Binding) bool { return o.Name == old })
		if i < 0 { // without the query bindings_inherit=strict the platform drops it silently
			a := refusal(http.StatusBadRequest, 10057, fmt.Sprintf("inherit binding '%s' is invalid, previous version has no such binding", b.Name))
			return &a
		}
		name := b.Name
		*b = before[i]
		b.Name = name
	}
	return nil
}

var (
	htmlHandlings     = []string{"", "auto-trailing-slash", "force-trailing-slash", "drop-trailing-slash", "none"}
	notFoundHandlings = []string{"", "none", "404-page", "single-page-application"}
)

// The limits of a _headers file.
const (
	maxHeaderRules = 100
	maxHeaderLine  = 2000
)

// beginsRule reports whether a trimmed line of _headers is the pattern that a rule begins with.
func beginsRule(line string) bool {
	return strings.HasPrefix(line, "/") || strings.HasPrefix(line, "https://")
}

// takeAssets checks the assets of a version.
func (s *Server) takeAssets(r *request, v *Version, meta *metadata, previous *Version) *Answer {
	if meta.KeepAssets && previous != nil && meta.Assets == nil {
		v.Assets, v.AssetsConfig = previous.Assets, previous.AssetsConfig
		return nil
	}
	if meta.Assets == nil {
		return nil
	}
	config := meta.Assets.Config
	upload := s.sessionOf(meta.Assets.JWT)
	if upload == nil || !upload.complete || upload.worker != r.PathValue("worker") {
		// The platform's code is unknown, and whether it minds the worker.
		a := refusal(http.StatusBadRequest, 10129, "The asset upload's completion token is invalid or has expired")
		return &a
	}
	if !slices.Contains(htmlHandlings, config.HTMLHandling) || !slices.Contains(notFoundHandlings, config.NotFoundHandling) {
		return invalid("assets.config has html_handling %q, not_found_handling %q", config.HTMLHandling, config.NotFoundHandling)
	}
	var patterns []string
	var always bool
	if config.RunWorkerFirst != nil && json.Unmarshal(config.RunWorkerFirst, &always) != nil {
		if err := json.Unmarshal(config.RunWorkerFirst, &patterns); err != nil {
			return invalid("assets.config has run_worker_first %s", config.RunWorkerFirst)
		}
		positive := slices.ContainsFunc(patterns, func(p string) bool { return strings.HasPrefix(p, "/") })
		wrong := slices.ContainsFunc(patterns, func(p string) bool { return !strings.HasPrefix(strings.TrimPrefix(p, "!"), "/") })
		if !positive || wrong || len(patterns) > maxHeaderRules {
			return invalid("assets.config has run_worker_first %s", config.RunWorkerFirst)
		}
	}
	rules := 0
	for line := range strings.Lines(config.Headers) {
		if len(line) > maxHeaderLine {
			return invalid("_headers has a line of %d characters", len(line))
		}
		if beginsRule(strings.TrimSpace(line)) {
			rules++
		}
	}
	if rules > maxHeaderRules { // the platform ignores the others, says its documentation
		return invalid("_headers has %d rules", rules)
	}
	v.AssetsConfig, v.Assets = config, map[string]Asset{}
	for path, entry := range upload.manifest {
		v.Assets[path] = s.files[entry.Hash]
	}
	return nil
}

// sourceOf is where a call comes from, as the API names it.
func sourceOf(r *request) string {
	if strings.HasPrefix(r.Header.Get("User-Agent"), "wrangler") {
		return "wrangler"
	}
	return "api"
}
