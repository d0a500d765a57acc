package deploy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"time"

	"anteroom/edge/worker/cloudflare"

	"github.com/cloudflare/cloudflare-go/v6/d1"
	"github.com/cloudflare/cloudflare-go/v6/dns"
	"github.com/cloudflare/cloudflare-go/v6/option"
	"github.com/cloudflare/cloudflare-go/v6/workers"
	"github.com/cloudflare/cloudflare-go/v6/zones"
)

// Permissions of an API token, as Cloudflare's dashboard calls them.
const (
	permissionScripts = "Account, Workers Scripts, Edit"
	permissionD1      = "Account, D1, Edit"
	permissionZone    = "Zone, Zone, Read"
	permissionDNS     = "Zone, DNS, Read"
)

// Permissions are what an API token needs to deploy.
const Permissions = permissionScripts + "; " + permissionD1 + "; " + permissionZone + "; " + permissionDNS

// again is what to do where it is not known whether a step was done.
const again = "run the command again, which looks first"

// Codes of the API's errors.
const (
	codeNoWorker       = 10007
	codeNoService      = 10090 // the same, as other calls say it
	codeSecretsChanged = 10220 // since a version that is to be deployed again
)

// api makes the calls of a deployment.
type api struct{ *cloudflare.Client }

// send makes a call once, with options that say where its answer goes.
type send func(opts ...option.RequestOption) error

// named makes a call by a method of the API's client that takes the name, or the id, of what the
// call is about. more are options of this call.
func named[P, R any](ctx context.Context, method func(context.Context, string, P, ...option.RequestOption) (R, error), name string, p P, more ...option.RequestOption) send {
	return func(opts ...option.RequestOption) error {
		_, err := method(ctx, name, p, append(opts, more...)...)
		return err
	}
}

// unnamed is named for a method that takes no name.
func unnamed[P, R any](ctx context.Context, method func(context.Context, P, ...option.RequestOption) (R, error), p P, more ...option.RequestOption) send {
	return func(opts ...option.RequestOption) error {
		_, err := method(ctx, p, append(opts, more...)...)
		return err
	}
}

// call makes a call, and reads the result of its answer.
func (a api) call(ctx context.Context, p cloudflare.Purpose, result any, send send) error {
	body, err := a.Call(ctx, p, func() (response *http.Response, body []byte, err error) {
		err = send(option.WithResponseInto(&response), option.WithResponseBodyInto(&body))
		return response, body, err
	})
	if err != nil {
		return err
	}
	if err := cloudflare.Open(body, result); err != nil {
		return a.Misread(p, err)
	}
	return nil
}

// set gives a parameter of the API's client its value. The type of the parameter has no name here.
func set[T any](field *T, present *bool, value T) { *field, *present = value, true }

// isMissing reports whether a call failed because there is no such worker. A mere 404 may be of
// something on the way: who takes it for that makes the worker anew, in the place of the live one.
func isMissing(err error) bool {
	var failed *cloudflare.Failure
	return errors.As(err, &failed) && failed.Has(codeNoWorker, codeNoService)
}

// isUnsure reports whether it is not known what a call did, and may be asked.
func isUnsure(ctx context.Context, err error) bool {
	var failed *cloudflare.Failure
	return err != nil && ctx.Err() == nil && !(errors.As(err, &failed) && failed.Undone)
}

// asJSON is the body of a call. The types of the API's client would leave out members.
func asJSON(body any) option.RequestOption {
	text, _ := json.Marshal(body) // it is made of texts, numbers, lists and maps of them
	return option.WithRequestBody("application/json", text)
}

// Deployment is a deployment of a worker, as the API has it.
type Deployment struct {
	ID        string    `json:"id"`
	Source    string    `json:"source"`
	Author    string    `json:"author_email"`
	CreatedOn time.Time `json:"created_on"`
	Versions  []struct {
		ID         string  `json:"version_id"`
		Percentage float64 `json:"percentage"`
	} `json:"versions"`
	Annotations Annotations `json:"annotations"`
}

// Annotations are what a deployment or a version says of itself.
type Annotations struct {
	Message     string `json:"workers/message"`
	Tag         string `json:"workers/tag"`
	TriggeredBy string `json:"workers/triggered_by"`
}

// Version is a version of a worker, as the API has it.
type Version struct {
	ID          string      `json:"id"`
	Number      int         `json:"number"`
	Annotations Annotations `json:"annotations"`
	Metadata    struct {
		CreatedOn time.Time `json:"created_on"`
		Author    string    `json:"author_email"`
	} `json:"metadata"`
	Resources struct {
		Bindings []struct {
			Name       string `json:"name"`
			Type       string `json:"type"`
			ID         string `json:"id"` // of a database, as older answers have it
			DatabaseID string `json:"database_id"`
		} `json:"bindings"`
	} `json:"resources"` // where one version was asked for
}

// secretTypes are the types of bindings that are secrets.
var secretTypes = []string{"secret_text", "secret_key"}

// secrets are the names of a version's secrets.
func (v *Version) secrets() (names []string) {
	for _, b := range v.Resources.Bindings {
		if slices.Contains(secretTypes, b.Type) {
			names = append(names, b.Name)
		}
	}
	return names
}

// database is the id of the database that a version keeps its records in, "" where it has none.
func (v *Version) database() string {
	for _, b := range v.Resources.Bindings {
		if b.Type == "d1" && b.Name == cloudflare.DatabaseBinding {
			return cmp.Or(b.DatabaseID, b.ID)
		}
	}
	return ""
}

// deployments are the deployments of a worker, the latest first. exists is false where there is no
// such worker.
func (a api) deployments(ctx context.Context, worker string) (list []Deployment, exists bool, err error) {
	var p workers.ScriptDeploymentListParams
	set(&p.AccountID.Value, &p.AccountID.Present, a.Account)
	var result struct {
		Deployments []Deployment `json:"deployments"`
	}
	service := workers.NewScriptDeploymentService(a.Options()...)
	err = a.call(ctx, cloudflare.Purpose{What: "read the deployments of " + worker, Permission: permissionScripts}, &result, named(ctx, service.List, worker, p))
	if isMissing(err) {
		return nil, false, nil
	}
	slices.SortStableFunc(result.Deployments, func(a, b Deployment) int { return b.CreatedOn.Compare(a.CreatedOn) })
	return result.Deployments, err == nil, err
}

// version reads one version of a worker.
func (a api) version(ctx context.Context, worker, id string) (version Version, err error) {
	var p workers.ScriptVersionGetParams
	set(&p.AccountID.Value, &p.AccountID.Present, a.Account)
	service := workers.NewScriptVersionService(a.Options()...)
	err = a.call(ctx, cloudflare.Purpose{What: "read version " + id + " of " + worker, Permission: permissionScripts}, &version, func(opts ...option.RequestOption) error {
		_, err := service.Get(ctx, worker, id, p, opts...)
		return err
	})
	return version, err
}

// setObservability sets what is logged of a worker.
func (a api) setObservability(ctx context.Context, worker string, value map[string]any) error {
	var p workers.ScriptSettingEditParams
	set(&p.AccountID.Value, &p.AccountID.Present, a.Account)
	service := workers.NewScriptSettingService(a.Options()...)
	var result struct{}
	return a.call(ctx, cloudflare.Purpose{What: "set what is logged of " + worker, Permission: permissionScripts}, &result, named(ctx, service.Edit, worker, p, asJSON(map[string]any{"observability": value})))
}

// subdomain is where a worker answers beside its own domains.
type subdomain struct {
	Enabled  bool `json:"enabled"`          // at workers.dev
	Previews bool `json:"previews_enabled"` // at an address for each version
}

func (a api) subdomain(ctx context.Context, worker string) (result subdomain, err error) {
	var p workers.ScriptSubdomainGetParams
	set(&p.AccountID.Value, &p.AccountID.Present, a.Account)
	service := workers.NewScriptSubdomainService(a.Options()...)
	err = a.call(ctx, cloudflare.Purpose{What: "read whether " + worker + " is at workers.dev", Permission: permissionScripts}, &result, named(ctx, service.Get, worker, p))
	return result, err
}

func (a api) setSubdomain(ctx context.Context, worker string, value subdomain) error {
	var p workers.ScriptSubdomainNewParams
	set(&p.AccountID.Value, &p.AccountID.Present, a.Account)
	service := workers.NewScriptSubdomainService(a.Options()...)
	var result struct{}
	return a.call(ctx, cloudflare.Purpose{What: "set whether " + worker + " is at workers.dev", Permission: permissionScripts}, &result, named(ctx, service.New, worker, p, asJSON(value)))
}

// accountSubdomain is the account's host name at workers.dev.
func (a api) accountSubdomain(ctx context.Context) (string, error) {
	var p workers.SubdomainGetParams
	set(&p.AccountID.Value, &p.AccountID.Present, a.Account)
	service := workers.NewSubdomainService(a.Options()...)
	var result struct {
		Subdomain string `json:"subdomain"`
	}
	err := a.call(ctx, cloudflare.Purpose{
		What: "read the account's name at workers.dev", Permission: permissionScripts,
		Missing: "open Workers once in Cloudflare's dashboard, which gives the account a name",
	}, &result, unnamed(ctx, service.Get, p))
	return result.Subdomain + ".workers.dev", err
}

type schedule struct {
	Cron string `json:"cron"`
}

func (a api) crons(ctx context.Context, worker string) (crons []string, err error) {
	var p workers.ScriptScheduleGetParams
	set(&p.AccountID.Value, &p.AccountID.Present, a.Account)
	service := workers.NewScriptScheduleService(a.Options()...)
	var result struct {
		Schedules []schedule `json:"schedules"`
	}
	err = a.call(ctx, cloudflare.Purpose{What: "read the crons of " + worker, Permission: permissionScripts}, &result, named(ctx, service.Get, worker, p))
	for _, s := range result.Schedules {
		crons = append(crons, s.Cron)
	}
	slices.Sort(crons)
	return crons, err
}

func (a api) setCrons(ctx context.Context, worker string, crons []string) error {
	var p workers.ScriptScheduleUpdateParams
	set(&p.AccountID.Value, &p.AccountID.Present, a.Account)
	service := workers.NewScriptScheduleService(a.Options()...)
	body := []schedule{}
	for _, cron := range crons {
		body = append(body, schedule{cron})
	}
	var result struct{}
	return a.call(ctx, cloudflare.Purpose{What: "set the crons of " + worker, Permission: permissionScripts}, &result, named(ctx, service.Update, worker, p, asJSON(body)))
}

// domain is a host name that leads to a worker.
type domain struct {
	ID       string `json:"id,omitempty"`
	Hostname string `json:"hostname"`
	Service  string `json:"service"`
	ZoneID   string `json:"zone_id"`
}

// domains are all host names of the account that lead to workers.
func (a api) domains(ctx context.Context) (list []domain, err error) {
	var p workers.DomainListParams
	set(&p.AccountID.Value, &p.AccountID.Present, a.Account)
	service := workers.NewDomainService(a.Options()...)
	err = a.call(ctx, cloudflare.Purpose{What: "list the domains of workers", Permission: permissionScripts}, &list, unnamed(ctx, service.List, p))
	return list, err
}

// setDomain leads a host name to a worker. Only with override it takes it from another worker, or
// from the DNS records that are there.
func (a api) setDomain(ctx context.Context, d domain, override bool) error {
	var p workers.DomainUpdateParams
	set(&p.AccountID.Value, &p.AccountID.Present, a.Account)
	service := workers.NewDomainService(a.Options()...)
	var result struct{}
	body := asJSON(struct {
		domain
		Environment    string `json:"environment"`
		OverrideOrigin bool   `json:"override_existing_origin"`
		OverrideDNS    bool   `json:"override_existing_dns_record"`
	}{d, "production", override, override})
	return a.call(ctx, cloudflare.Purpose{What: "lead " + d.Hostname + " to " + d.Service, Permission: permissionScripts}, &result, unnamed(ctx, service.Update, p, body))
}

// Zone is a domain that the account has at Cloudflare.
type Zone struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Status  string `json:"status"`
	Account struct {
		ID string `json:"id"`
	} `json:"account"`
}

// zone finds the zone of a name, nil where there is none.
func (a api) zone(ctx context.Context, name string) (*Zone, error) {
	var p zones.ZoneListParams
	set(&p.Name.Value, &p.Name.Present, name)
	service := zones.NewZoneService(a.Options()...)
	var list []Zone
	err := a.call(ctx, cloudflare.Purpose{What: "look for the zone " + name, Permission: permissionZone}, &list, unnamed(ctx, service.List, p))
	var found *Zone
	for i := range list {
		if z := &list[i]; z.Name == name && (found == nil || z.Account.ID == a.Account) {
			found = z // two accounts may have it, of which one waits for its name servers
		}
	}
	return found, err
}

type record struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Content string `json:"content"`
}

// records are the DNS records of a host name that a domain of a worker takes the place of.
func (a api) records(ctx context.Context, zone, host string) (list []record, err error) {
	var p dns.RecordListParams
	set(&p.ZoneID.Value, &p.ZoneID.Present, zone)
	var name dns.RecordListParamsName
	set(&name.Exact.Value, &name.Exact.Present, host)
	set(&p.Name.Value, &p.Name.Present, name)
	service := dns.NewRecordService(a.Options()...)
	var all []record
	err = a.call(ctx, cloudflare.Purpose{What: "look for DNS records of " + host, Permission: permissionDNS}, &all, unnamed(ctx, service.List, p))
	for _, r := range all {
		if r.Name == host && slices.Contains([]string{"A", "AAAA", "CNAME"}, r.Type) {
			list = append(list, r)
		}
	}
	return list, err
}

// database finds the id of a database, "" where there is none of that name.
func (a api) database(ctx context.Context, name string) (id string, err error) {
	var p d1.DatabaseListParams
	set(&p.AccountID.Value, &p.AccountID.Present, a.Account)
	set(&p.Name.Value, &p.Name.Present, name)
	service := d1.NewDatabaseService(a.Options()...)
	var list []struct {
		ID   string `json:"uuid"`
		Name string `json:"name"`
	}
	err = a.call(ctx, cloudflare.Purpose{What: "look for the D1 database " + name, Permission: permissionD1}, &list, unnamed(ctx, service.List, p))
	for _, d := range list {
		if d.Name == name { // the API searches for parts of names
			return d.ID, err
		}
	}
	return "", err
}

// newDatabase makes a database.
func (a api) newDatabase(ctx context.Context, name string) (id string, err error) {
	var p d1.DatabaseNewParams
	set(&p.AccountID.Value, &p.AccountID.Present, a.Account)
	set(&p.Name.Value, &p.Name.Present, name)
	service := d1.NewDatabaseService(a.Options()...)
	var result struct {
		ID string `json:"uuid"`
	}
	purpose := cloudflare.Purpose{What: "make the D1 database " + name, Writes: true, Unsure: again, Permission: permissionD1}
	err = a.call(ctx, purpose, &result, unnamed(ctx, service.New, p))
	if err == nil && !databaseID.MatchString(result.ID) {
		err = a.Misread(purpose, cloudflare.ErrNoAnswer)
	}
	return result.ID, err
}

// sql runs statements, which D1 does as one transaction, and gives the rows of the last.
func (a api) sql(ctx context.Context, p cloudflare.Purpose, database, text string) (rows [][]any, err error) {
	p.Permission = permissionD1
	p.Missing = fmt.Sprintf("the account %s has no database %s: put the right id into wrangler.toml, or %s1 to have one made", a.Account, database, cloudflare.PlaceholderID+"00000000000")
	var params d1.DatabaseRawParams
	set(&params.AccountID.Value, &params.AccountID.Present, a.Account)
	service := d1.NewDatabaseService(a.Options()...)
	var results []struct {
		Success bool `json:"success"`
		Results struct {
			Rows [][]any `json:"rows"`
		} `json:"results"`
	}
	err = a.call(ctx, p, &results, named(ctx, service.Raw, database, params, asJSON(map[string]string{"sql": text})))
	if err == nil && len(results) == 0 {
		err = a.Misread(p, cloudflare.ErrNoAnswer)
	}
	for _, result := range results {
		if !result.Success && err == nil {
			err = a.Misread(p, errors.New("the answer says that a statement failed, and not why"))
		}
		rows = result.Results.Rows
	}
	return rows, err
}

// form is a multipart body.
type form struct {
	bytes.Buffer
	*multipart.Writer
}

func newForm() *form {
	f := &form{}
	f.Writer = multipart.NewWriter(&f.Buffer)
	return f
}

// part adds a part. Its name is that of a file, too, unless file is "".
func (f *form) part(name, file, media string, text []byte) {
	disposition := `form-data; name="` + name + `"`
	if file != "" {
		disposition += `; filename="` + file + `"`
	}
	// Writing to memory does not fail, and no name here has a character that would be quoted.
	w, _ := f.CreatePart(textproto.MIMEHeader{"Content-Disposition": {disposition}, "Content-Type": {media}})
	w.Write(text)
}

// body ends the form and makes it the body of a call.
func (f *form) body() option.RequestOption {
	f.Close()
	return option.WithRequestBody(f.FormDataContentType(), f.Bytes())
}

// upload is the form of a worker: its metadata and its modules, as wrangler sends it.
func upload(metadata Metadata, modules []Module) option.RequestOption {
	f := newForm()
	text, _ := json.Marshal(metadata) // texts, numbers and lists of them
	f.part("metadata", "", "application/json", text)
	for _, m := range modules {
		f.part(m.Name, m.Name, m.MediaType, m.Bytes)
	}
	return f.body()
}

// putWorker makes a worker, or replaces it, and deploys that at once.
func (a api) putWorker(ctx context.Context, worker string, metadata Metadata, modules []Module) error {
	var p workers.ScriptUpdateParams
	set(&p.AccountID.Value, &p.AccountID.Present, a.Account)
	service := workers.NewScriptService(a.Options()...)
	var result struct{}
	body := upload(metadata, modules)
	return a.call(ctx, cloudflare.Purpose{What: "make the worker " + worker, Permission: permissionScripts}, &result, named(ctx, service.Update, worker, p, body))
}

// newVersion uploads a version of a worker, and deploys nothing.
func (a api) newVersion(ctx context.Context, worker string, metadata Metadata, modules []Module, secrets ...string) (id string, err error) {
	var p workers.ScriptVersionNewParams
	set(&p.AccountID.Value, &p.AccountID.Present, a.Account)
	set(&p.BindingsInherit.Value, &p.BindingsInherit.Present, workers.ScriptVersionNewParamsBindingsInheritStrict)
	service := workers.NewScriptVersionService(a.Options()...)
	var result struct {
		ID string `json:"id"`
	}
	body := upload(metadata, modules)
	// A version that was uploaded twice is one more that is not deployed.
	purpose := cloudflare.Purpose{What: "upload a version of " + worker, Permission: permissionScripts, Secrets: secrets}
	err = a.call(ctx, purpose, &result, named(ctx, service.New, worker, p, body))
	if err == nil && result.ID == "" {
		err = a.Misread(purpose, cloudflare.ErrNoAnswer)
	}
	return result.ID, err
}

// deploy lets a version of a worker answer all requests. Without force the API refuses one whose
// secrets are not those of the latest.
func (a api) deploy(ctx context.Context, worker, version, message string, force bool) error {
	var p workers.ScriptDeploymentNewParams
	if force {
		set(&p.Force.Value, &p.Force.Present, true)
	}
	set(&p.AccountID.Value, &p.AccountID.Present, a.Account)
	service := workers.NewScriptDeploymentService(a.Options()...)
	type share struct {
		Version    string `json:"version_id"`
		Percentage int    `json:"percentage"`
	}
	body := asJSON(map[string]any{
		"strategy": "percentage", "versions": []share{{version, 100}},
		"annotations": map[string]string{"workers/message": message},
	})
	var result struct{}
	return a.call(ctx, cloudflare.Purpose{What: "deploy version " + version + " of " + worker, Writes: true, Unsure: again, Permission: permissionScripts}, &result, named(ctx, service.New, worker, p, body))
}

// assetSession says that a worker is to have these assets. It gives a token and, in parts to be
// sent together, the hashes of those that Cloudflare has not got.
func (a api) assetSession(ctx context.Context, worker string, assets []Asset) (jwt string, buckets [][]string, err error) {
	type entry struct {
		Hash string `json:"hash"`
		Size int    `json:"size"`
	}
	manifest := map[string]entry{}
	for _, asset := range assets {
		manifest[asset.Path] = entry{asset.Hash, asset.Size}
	}
	var p workers.ScriptAssetUploadNewParams
	set(&p.AccountID.Value, &p.AccountID.Present, a.Account)
	service := workers.NewScriptAssetUploadService(a.Options()...)
	var result struct {
		JWT     string     `json:"jwt"`
		Buckets [][]string `json:"buckets"`
	}
	err = a.call(ctx, cloudflare.Purpose{What: "begin to upload the assets of " + worker, Permission: permissionScripts}, &result, named(ctx, service.New, worker, p, asJSON(map[string]any{"manifest": manifest})))
	return result.JWT, result.Buckets, err
}

// sendAssets uploads assets in one call. The token that it gives is "" until all are there.
func (a api) sendAssets(ctx context.Context, jwt string, assets []Asset) (completed string, err error) {
	f := newForm()
	for _, asset := range assets {
		f.part(asset.Hash, asset.Hash, asset.MediaType, []byte(base64.StdEncoding.EncodeToString(asset.document.Content())))
	}
	var p workers.AssetUploadNewParams
	set(&p.AccountID.Value, &p.AccountID.Present, a.Account)
	set(&p.Base64.Value, &p.Base64.Present, workers.AssetUploadNewParamsBase64True)
	service := workers.NewAssetUploadService(a.Options()...)
	var result struct {
		JWT string `json:"jwt"`
	}
	body := f.body()
	err = a.call(ctx, cloudflare.Purpose{What: "upload assets", Permission: permissionScripts, Secrets: []string{jwt}}, &result, unnamed(ctx, service.New, p, option.WithAPIToken(jwt), body))
	return result.JWT, err
}
