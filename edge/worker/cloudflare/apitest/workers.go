package apitest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// reach is how many versions back a deployment may go.
const reach = 100

// worker is a script. Its settings are of no version.
type worker struct {
	name        string
	created     time.Time
	versions    []*Version    // the newest last
	deployments []*Deployment // the newest last

	observability *Observability
	logpush       bool
	tags          []string
	schedules     []schedule
	enabled       bool // on workers.dev
	previews      bool // there, of each version
}

// Version is a version of a worker.
type Version struct {
	ID           string
	Number       int
	Created      time.Time
	Source       string // api, wrangler or dash
	Annotations  map[string]string
	Main         string // name of the main module
	Modules      map[string]Module
	Bindings     []Binding
	Date         string
	Flags        []string
	Assets       map[string]Asset // by path
	AssetsConfig AssetsConfig
}

// Deployment is what was made live at a time.
type Deployment struct {
	ID          string
	Created     time.Time
	Source      string
	Annotations map[string]string
	Versions    []Share
}

// Share is the part of the requests that a version of a deployment answers.
type Share struct {
	VersionID  string  `json:"version_id"`
	Percentage float64 `json:"percentage"`
}

type schedule struct {
	cron    string
	created time.Time
}

// Deployed is the version of a worker that is live, nil where none is.
func (s *Server) Deployed(name string) *Version {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if w := s.workers[name]; w != nil {
		return w.live()
	}
	return nil
}

// Deployments are those of a worker, the newest last.
func (s *Server) Deployments(name string) []Deployment {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	var list []Deployment
	if w := s.workers[name]; w != nil {
		for _, d := range w.deployments {
			list = append(list, *d)
		}
	}
	return list
}

// Schedules are the crons of a worker.
func (s *Server) Schedules(name string) (crons []string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if w := s.workers[name]; w != nil {
		for _, schedule := range w.schedules {
			crons = append(crons, schedule.cron)
		}
	}
	return crons
}

// Interfere makes a version of a worker, like its latest, and deploys it, as somebody in the
// dashboard does.
func (s *Server) Interfere(t testing.TB, name string) *Version {
	t.Helper()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	w := s.workers[name]
	if w == nil || len(w.versions) == 0 {
		t.Fatalf("there is no worker %s", name)
	}
	v := *w.latest()
	v.ID, v.Created, v.Source, v.Annotations = newUUID(), s.now(), "dash", map[string]string{"workers/triggered_by": "upload"}
	w.add(&v)
	s.deploy(w, &v, "dash", "upload")
	return &v
}

// Split lets two versions of a worker share its requests, as a deployment does that is under way.
func (s *Server) Split(t testing.TB, name, first, second string) {
	t.Helper()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	w := s.workers[name]
	if w == nil || w.version(first) == nil || w.version(second) == nil {
		t.Fatalf("there are no such versions of %s", name)
	}
	d := s.deploy(w, w.version(first), "dash", "deployment")
	d.Versions = []Share{{first, 60}, {second, 40}}
}

// Put makes a version of a worker and deploys it, without its being uploaded. The identifier, the
// number and the time are the server's. The worker may be new.
func (s *Server) Put(t testing.TB, name string, v Version) *Version {
	t.Helper()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	w := s.workers[name]
	if w == nil {
		w = s.newWorker(name)
	}
	v.ID, v.Created, v.Source = newUUID(), s.now(), "api"
	w.add(&v)
	s.deploy(w, &v, v.Source, "upload")
	return &v
}

// AddDomain leads a host name in a zone to a worker, as PUT workers/domains does.
func (s *Server) AddDomain(t testing.TB, z *Zone, host, worker string) {
	t.Helper()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.lead(z, host, worker)
}

// SetObservability changes what is logged of a worker, as somebody in the dashboard does.
func (s *Server) SetObservability(t testing.TB, name string, o *Observability) {
	t.Helper()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.workers[name] == nil {
		t.Fatalf("there is no worker %s", name)
	}
	s.workers[name].observability = o
}

// newWorker makes a worker. Whether one that the API makes is on workers.dev at first, with its
// previews, is unknown: a caller that minds has to say so.
func (s *Server) newWorker(name string) *worker {
	w := &worker{name: name, created: s.now(), enabled: true, previews: true}
	s.workers[name] = w
	return w
}

func (w *worker) latest() *Version {
	if len(w.versions) == 0 {
		return nil
	}
	return w.versions[len(w.versions)-1]
}

func (w *worker) version(id string) *Version {
	i := slices.IndexFunc(w.versions, func(v *Version) bool { return v.ID == id })
	if i < 0 {
		return nil
	}
	return w.versions[i]
}

// live is the deployed version, of several the one with the greatest share.
func (w *worker) live() *Version {
	if len(w.deployments) == 0 {
		return nil
	}
	shares := w.deployments[len(w.deployments)-1].Versions
	return w.version(slices.MaxFunc(shares, func(a, b Share) int { return cmp.Compare(a.Percentage, b.Percentage) }).VersionID)
}

func (w *worker) add(v *Version) {
	v.Number = len(w.versions) + 1
	w.versions = append(w.versions, v)
}

// deploy makes a version live.
func (s *Server) deploy(w *worker, v *Version, source, by string) *Deployment {
	d := &Deployment{
		ID: newUUID(), Created: s.now(), Source: source, Annotations: map[string]string{"workers/triggered_by": by},
		Versions: []Share{{v.ID, 100}},
	}
	w.deployments = append(w.deployments, d)
	return d
}

// secrets are the secrets of a version, by name.
func (v *Version) secrets() map[string]string {
	secrets := map[string]string{}
	for _, b := range v.Bindings {
		if b.Type == "secret_text" {
			secrets[b.Name] = b.Text
		}
	}
	return secrets
}

func (s *Server) workerOf(r *request) (*worker, *Answer) {
	w := s.workers[r.PathValue("worker")]
	if w == nil {
		a := refusal(http.StatusNotFound, 10007, "This Worker does not exist on your account.")
		return nil, &a
	}
	return w, nil
}

func (s *Server) getAccountSubdomain(*request) Answer {
	if s.subdomain == "" {
		return refusal(http.StatusNotFound, 10007, "You do not have a workers.dev subdomain.")
	}
	return success(object{"subdomain": s.subdomain})
}

func (w *worker) answer() object {
	v := w.latest()
	answer := object{
		"id": w.name, "created_on": stamp(w.created), "modified_on": stamp(w.created), "usage_model": "standard", "logpush": w.logpush,
		"tags": w.tags, "observability": w.observability, "tail_consumers": nil, "has_modules": true, "has_assets": false,
	}
	if v != nil {
		answer["modified_on"], answer["etag"], answer["handlers"] = stamp(v.Created), v.etag(), handlers(v)
		answer["compatibility_date"], answer["compatibility_flags"] = v.Date, v.Flags
		answer["has_assets"], answer["last_deployed_from"] = v.Assets != nil, v.Source
	}
	return answer
}

func (s *Server) listWorkers(r *request) Answer {
	list := []any{}
	for _, name := range slices.Sorted(maps.Keys(s.workers)) {
		list = append(list, s.workers[name].answer())
	}
	return success(list)
}

func (s *Server) getService(r *request) Answer {
	w := s.workers[r.PathValue("worker")]
	if w == nil {
		return refusal(http.StatusNotFound, 10090, "workers.api.error.service_not_found")
	}
	return success(object{"id": w.name, "default_environment": object{"environment": "production", "script": w.answer()}})
}

var workerName = regexp.MustCompile(`^[a-z0-9_][a-z0-9_-]{0,62}$`)

// putWorker uploads a version and deploys it, with settings of the worker. The worker may be new.
func (s *Server) putWorker(r *request) Answer {
	if name, is := queried(r, "excludeScript", "bindings_inherit"); is {
		return malformed("unknown parameter %q", name)
	}
	name := r.PathValue("worker")
	if !workerName.MatchString(name) {
		return refusal(http.StatusBadRequest, 10016, "Invalid Worker name: "+name)
	}
	var previous *Version
	w := s.workers[name]
	if w != nil {
		previous = w.latest()
	}
	v, meta, refused := s.readVersion(r, previous)
	if refused != nil {
		return *refused
	}
	if w == nil {
		w = s.newWorker(name)
	}
	if meta.Observability != nil {
		w.observability = meta.Observability
	}
	if meta.Logpush != nil {
		w.logpush = *meta.Logpush
	}
	if meta.Tags != nil {
		w.tags = meta.Tags
	}
	v.Annotations["workers/triggered_by"] = "upload"
	w.add(v)
	d := s.deploy(w, v, v.Source, "upload")
	if message := v.Annotations["workers/message"]; message != "" {
		d.Annotations["workers/message"] = message
	}
	answer := w.answer()
	answer["startup_time_ms"], answer["deployment_id"] = 5, strings.ReplaceAll(v.ID, "-", "") // of the version indeed
	return success(answer)
}

func (s *Server) createVersion(r *request) Answer {
	if name, is := queried(r, "bindings_inherit"); is {
		return malformed("unknown parameter %q", name)
	}
	w, refused := s.workerOf(r)
	if refused != nil {
		return *refused
	}
	v, _, refused := s.readVersion(r, w.latest())
	if refused != nil {
		return *refused
	}
	v.Annotations["workers/triggered_by"] = "version_upload"
	w.add(v)
	answer := v.answer()
	answer["startup_time_ms"] = 5
	return success(answer)
}

// etag is made of all modules.
func (v *Version) etag() string {
	return fmt.Sprintf("%x", objectID("modules", fmt.Sprint(slices.Sorted(maps.Keys(v.Modules)), v.Modules)))[:64]
}

func handlers(v *Version) []string { // what the main module exports is not looked at
	return []string{"fetch"}
}

// summary is a version as it stands in a list.
func (v *Version) summary() object {
	return object{
		"id": v.ID, "number": v.Number, "annotations": v.Annotations,
		"metadata": object{
			"created_on": stamp(v.Created), "modified_on": stamp(v.Created), "source": v.Source, "author_id": "5f1a7ad8e1c0e3b5c7b6", "author_email": author,
			"hasPreview": false,
		},
	}
}

// author is the address of who calls.
const author = "operator@anteroom.example"

func (v *Version) answer() object {
	bindings := []any{}
	for _, b := range v.Bindings {
		bindings = append(bindings, b.answer())
	}
	answer := v.summary()
	answer["resources"] = object{
		"bindings":       bindings,
		"script":         object{"etag": v.etag(), "handlers": handlers(v), "last_deployed_from": v.Source},
		"script_runtime": object{"compatibility_date": v.Date, "compatibility_flags": v.Flags, "usage_model": "standard"},
	}
	return answer
}

func (s *Server) listVersions(r *request) Answer {
	w, refused := s.workerOf(r)
	if refused != nil {
		return *refused
	}
	if name, is := queried(r, "deployable", "page", "per_page"); is {
		return malformed("unknown parameter %q", name)
	}
	list := []any{}
	for _, v := range slices.Backward(w.versions) {
		list = append(list, v.summary())
	}
	if r.URL.Query().Get("deployable") == "true" {
		return success(object{"items": list[:min(len(list), reach)]})
	}
	page, size := number(r.URL.Query(), "page", 1), number(r.URL.Query(), "per_page", 10)
	if page < 1 || size < 1 || size > reach {
		return refusal(http.StatusBadRequest, 10000, "there is no such page")
	}
	from := min((page-1)*size, len(list))
	items := list[from:min(from+size, len(list))]
	return answered(http.StatusOK, object{"result": object{"items": items}, "result_info": object{
		"page": page, "per_page": size, "count": len(items), "total_count": len(list), "total_pages": (len(list) + size - 1) / size,
	}})
}

func (s *Server) getVersion(r *request) Answer {
	w, refused := s.workerOf(r)
	if refused != nil {
		return *refused
	}
	v := w.version(r.PathValue("version"))
	if v == nil {
		return noVersion(r.PathValue("version"))
	}
	return success(v.answer())
}

func noVersion(id string) Answer {
	return refusal(http.StatusNotFound, 100146, "Version "+id+" was not found")
}

func (d *Deployment) answer() object {
	return object{
		"id": d.ID, "source": d.Source, "strategy": "percentage", "author_email": author, "created_on": stamp(d.Created),
		"annotations": d.Annotations, "versions": d.Versions,
	}
}

// deploymentsListed is how many deployments the API lists: the older are not told.
const deploymentsListed = 10

func (s *Server) listDeployments(r *request) Answer {
	w, refused := s.workerOf(r)
	if refused != nil {
		return *refused
	}
	if name, is := queried(r); is {
		return malformed("unknown parameter %q", name)
	}
	list := []any{}
	for _, d := range slices.Backward(w.deployments) {
		list = append(list, d.answer())
	}
	return success(object{"deployments": list[:min(len(list), deploymentsListed)]})
}

func (s *Server) createDeployment(r *request) Answer {
	w, refused := s.workerOf(r)
	if refused != nil {
		return *refused
	}
	if name, is := queried(r, "force"); is {
		return malformed("unknown parameter %q", name)
	}
	var call struct {
		Strategy    string            `json:"strategy"`
		Versions    []Share           `json:"versions"`
		Annotations map[string]string `json:"annotations"`
		CodeUpdate  json.RawMessage   `json:"code_update_strategy"`
	}
	if err := r.read(&call); err != nil {
		return malformed("%v", err)
	}
	if call.Strategy != "percentage" || len(call.Versions) < 1 || len(call.Versions) > 2 {
		return malformed("a deployment of %d versions by %q", len(call.Versions), call.Strategy)
	}
	total := 0.0
	for _, share := range call.Versions {
		total += share.Percentage
		v := w.version(share.VersionID)
		switch {
		case v == nil:
			return noVersion(share.VersionID)
		case v.Number <= len(w.versions)-reach: // the code is unknown
			return refusal(http.StatusBadRequest, 10217, "Version "+v.ID+" is too old to be deployed")
		case w.hasOtherSecrets(v) && r.URL.Query().Get("force") != "true":
			return refusal(http.StatusBadRequest, 10220, "Secrets have changed since version "+v.ID+"; use force=true to deploy it")
		}
	}
	if total != 100 {
		return malformed("the percentages are %v in all", total)
	}
	d := s.deploy(w, w.version(call.Versions[0].VersionID), sourceOf(r), "deployment")
	d.Versions = call.Versions
	for name, text := range call.Annotations {
		if name != "workers/message" {
			return malformed("annotation %q", name)
		}
		d.Annotations[name] = text[:min(len(text), annotationMax[name])]
	}
	return success(d.answer())
}

// hasOtherSecrets reports whether a version that is not the latest lacks or changes a secret.
// Whether the platform compares with the live version or with the latest is unknown.
func (w *worker) hasOtherSecrets(v *Version) bool {
	return v != w.latest() && !(maps.Equal(v.secrets(), w.latest().secrets()) && maps.Equal(v.secrets(), w.live().secrets()))
}

func (s *Server) listSecrets(r *request) Answer {
	w, refused := s.workerOf(r)
	if refused != nil {
		return *refused
	}
	list := []any{}
	if v := w.latest(); v != nil {
		for _, name := range slices.Sorted(maps.Keys(v.secrets())) {
			list = append(list, object{"name": name, "type": "secret_text"})
		}
	}
	return success(list)
}

// putSecret makes a version like the latest one, with the secret, and deploys it.
func (s *Server) putSecret(r *request) Answer {
	w, refused := s.workerOf(r)
	if refused != nil {
		return *refused
	}
	var call struct {
		Name string `json:"name"`
		Text string `json:"text"`
		Type string `json:"type"`
	}
	err := r.read(&call)
	latest := w.latest()
	switch {
	case err != nil:
		return malformed("%v", err)
	case !bindingName.MatchString(call.Name) || call.Type != "secret_text" || call.Text == "":
		return malformed("a secret of the name %q and the type %q", call.Name, call.Type)
	case latest == nil || w.live() != latest:
		return refusal(http.StatusBadRequest, 10215, "Secret edit failed. You attempted to modify a secret, but the latest version of your Worker isn't currently deployed.")
	case slices.ContainsFunc(latest.Bindings, func(b Binding) bool { return b.Name == call.Name && b.Type != "secret_text" }):
		return refusal(http.StatusBadRequest, 10053, "Binding name '"+call.Name+"' already in use. Please use a different name and try again.")
	}
	v := *latest
	v.ID, v.Created, v.Source, v.Annotations = newUUID(), s.now(), sourceOf(r), map[string]string{"workers/triggered_by": "secret"}
	v.Bindings = slices.DeleteFunc(slices.Clone(latest.Bindings), func(b Binding) bool { return b.Name == call.Name })
	v.Bindings = append(v.Bindings, Binding{Name: call.Name, Type: "secret_text", Text: call.Text})
	w.add(&v)
	s.deploy(w, &v, v.Source, "secret")
	return success(object{"name": call.Name, "type": "secret_text"})
}

var (
	cron     = regexp.MustCompile(`^\S+( \S+){4}$`)
	maxCrons = 5 // of an account on the Free plan
)

func (w *worker) crons() object {
	list := []any{}
	for _, schedule := range w.schedules {
		list = append(list, object{"cron": schedule.cron, "created_on": stamp(schedule.created), "modified_on": stamp(schedule.created)})
	}
	return object{"schedules": list}
}

func (s *Server) getSchedules(r *request) Answer {
	w, refused := s.workerOf(r)
	if refused != nil {
		return *refused
	}
	return success(w.crons())
}

// putSchedules replaces all schedules.
func (s *Server) putSchedules(r *request) Answer {
	w, refused := s.workerOf(r)
	if refused != nil {
		return *refused
	}
	var call []struct {
		Cron string `json:"cron"`
	}
	if err := r.read(&call); err != nil {
		return malformed("%v", err)
	}
	count := len(call)
	for _, other := range s.workers {
		if other != w {
			count += len(other.schedules)
		}
	}
	if count > maxCrons {
		return refusal(http.StatusBadRequest, 10072, "You have exceeded the limit of cron triggers for this account")
	}
	var schedules []schedule
	for _, one := range call {
		if !cron.MatchString(one.Cron) || slices.ContainsFunc(schedules, func(o schedule) bool { return o.cron == one.Cron }) {
			return refusal(http.StatusBadRequest, 10100, "invalid cron string: "+one.Cron)
		}
		schedules = append(schedules, schedule{one.Cron, s.now()})
	}
	w.schedules = schedules
	return success(w.crons())
}

func (w *worker) onSubdomain() object {
	return object{"enabled": w.enabled, "previews_enabled": w.previews}
}

func (s *Server) getSubdomain(r *request) Answer {
	w, refused := s.workerOf(r)
	if refused != nil {
		return *refused
	}
	return success(w.onSubdomain())
}

func (s *Server) postSubdomain(r *request) Answer {
	w, refused := s.workerOf(r)
	if refused != nil {
		return *refused
	}
	var call struct {
		Enabled  *bool `json:"enabled"`
		Previews *bool `json:"previews_enabled"`
	}
	if err := r.read(&call); err != nil || call.Enabled == nil {
		return malformed("enabled: %v", err)
	}
	w.enabled = *call.Enabled
	if call.Previews != nil {
		w.previews = *call.Previews
	}
	return success(w.onSubdomain())
}

// getSettings answers the settings of the latest version and of the worker.
func (s *Server) getSettings(r *request) Answer {
	w, refused := s.workerOf(r)
	if refused != nil {
		return *refused
	}
	settings := w.settings()
	if v := w.latest(); v != nil {
		bindings := []any{}
		for _, b := range v.Bindings {
			bindings = append(bindings, b.answer())
		}
		settings["bindings"], settings["compatibility_date"], settings["compatibility_flags"] = bindings, v.Date, v.Flags
		settings["annotations"], settings["usage_model"] = v.Annotations, "standard"
	}
	return success(settings)
}

func (w *worker) settings() object {
	return object{"logpush": w.logpush, "observability": w.observability, "tags": w.tags, "tail_consumers": nil}
}

func (s *Server) getScriptSettings(r *request) Answer {
	w, refused := s.workerOf(r)
	if refused != nil {
		return *refused
	}
	return success(w.settings())
}

// patchScriptSettings changes the settings that are no part of a version. Whether the members of
// observability that are left out stay is unknown: here they go.
func (s *Server) patchScriptSettings(r *request) Answer {
	w, refused := s.workerOf(r)
	if refused != nil {
		return *refused
	}
	var call struct {
		Logpush       *bool          `json:"logpush"`
		Observability *Observability `json:"observability"`
		Tags          *[]string      `json:"tags"`
		TailConsumers *[]object      `json:"tail_consumers"`
	}
	if err := r.read(&call); err != nil {
		return malformed("%v", err)
	}
	if call.Observability != nil {
		if err := call.Observability.check(); err != nil {
			return malformed("%v", err)
		}
		w.observability = call.Observability
	}
	if call.Logpush != nil {
		w.logpush = *call.Logpush
	}
	if call.Tags != nil {
		w.tags = *call.Tags
	}
	return success(w.settings())
}
